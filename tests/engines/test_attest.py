"""Real engines that are not what the label says, or that bear another one's marks: each is found out, in a sentence."""

import copy
import json
import shutil
import subprocess
from dataclasses import replace

import pytest

from tare.measure.attest import attested, contradiction
from tare.platforms import apptainer, bubblewrap, docker, podman
from tare.platforms.hostview import host_view
from tare.worker import evidence
from tare.worker.launch import inherited_variables
from tests.engines.conftest import ENGINES, WORKER, make_launch, usable, wait_until

pytestmark = pytest.mark.engine

# As the real worker does: what `launch.py` saw of the engine's variables is part of the evidence.
EVIDENCE = WORKER.replace(
    "evidence.collect()",
    "evidence.collect(__import__('json').loads(sys.argv[sys.argv.index('--inherited') + 1]))",
)
ID = "0123456789abcdef" * 4


@pytest.fixture(scope="module")
def outside():
    return evidence.collect(inherited_variables())


@pytest.fixture
def observe(tmp_path):
    """Starts a worker on an engine, and gives back what the controller learns of it."""

    def observe(engine, launch=None):
        platform = usable(engine)
        platform.prepare()
        launch = launch or make_launch(tmp_path, EVIDENCE)
        handle = platform.start(launch)
        try:
            assert handle.lines.receive(60)[0] == "hello", launch.log.read_text(encoding="utf-8")
            handle.lines.send("evidence", {})
            inside = handle.lines.receive(30)[1]
            return {**inside, "host_view": host_view(launch.token, inside)}
        finally:
            handle.close()

    return observe


@pytest.fixture
def decoys(tmp_path):
    """Files that engines leave in their containers: marker name -> an empty file to show there."""
    (tmp_path / "decoy").write_text("", encoding="utf-8")
    return tmp_path / "decoy"


def inserted(monkeypatch, module, before, *options):
    """Give an engine's command line further options, in front of one that it has."""
    original = module.arguments

    def arguments(*args, **kwargs):
        argv = list(original(*args, **kwargs))
        place = argv.index(before)
        return [*argv[:place], *options, *argv[place:]]

    monkeypatch.setattr(module, "arguments", arguments)


# -- what each of them is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_is_told_by_either_view_alone(engine, observe, outside):
    inside = observe(engine)
    assert inside["host_view"]["pid"] > 1
    assert attested(inside, outside) == engine
    assert attested({**inside, "host_view": {}}, outside) == engine, "without the host's view"
    if engine != "bare":
        blind = {**copy.deepcopy(inside), "mounts": {}, "cgroup": ["0::/"], "init": "python", "inherited": {}}
        assert attested(blind, outside) == engine, "by the host's view"


@pytest.mark.parametrize("real", ENGINES)
def test_no_other_label_than_the_right_one_passes(real, observe, outside):
    inside = observe(real)
    for label in ENGINES:
        wrong = contradiction(label, inside, outside)
        if label == real:
            assert wrong == ""
        else:
            assert wrong.startswith(f"the run labelled '{label}' was ")
            assert f" {real} (" in wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_recorded(engine, observe):
    inside = observe(engine)
    assert json.loads(json.dumps(inside)) == inside
    assert {"Seccomp", "CapEff", "CapBnd", "NoNewPrivs"} <= set(inside["status"])
    assert inside["shm_bytes"] > 0
    assert len(inside["uid_map"]) % 3 == 0
    assert inside["mounts"]["/"]["type"]
    shown = {"docker": "containerd-shim", "podman": "conmon", "apptainer": "starter", "bubblewrap": "bwrap"}
    names = [found["name"] for found in inside["host_view"]["ancestors"]]
    assert (shown[engine] in names) if engine in shown else not names
    for found in inside["host_view"]["ancestors"]:
        assert len(found.get("arguments", "")) <= 300


# -- a cell that was run elsewhere ------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [engine for engine in ENGINES if engine != "bare"])
def test_a_container_that_was_silently_not_used(label, observe, outside):
    """As with a wrapper on the PATH that runs its arguments on the host."""
    assert contradiction(label, observe("bare"), outside) == (
        f"the run labelled '{label}' was bare (namespaces, root and control groups are the controller's own); "
        f"see what stands in for {label} here"
    )


@pytest.mark.parametrize("real", [engine for engine in ENGINES if engine != "bare"])
def test_bare_that_was_in_a_container(real, observe, outside):
    wrong = contradiction("bare", observe(real), outside)
    assert wrong.startswith(f"the run labelled 'bare' was in {real} (")
    assert wrong.endswith("; see what Tare's program is wrapped in here")


def test_podman_that_calls_itself_docker(observe, outside):
    wrong = contradiction("docker", observe("podman"), outside)
    assert wrong.startswith("the run labelled 'docker' was in podman (it has the files of container ")
    assert "conmon started it" in wrong


def test_podman_behind_dockers_own_socket(observe, outside, tmp_path, monkeypatch):
    """Podman's service speaks docker's language: the docker that a user believes to have may be it."""
    usable("podman")
    usable("docker")
    socket = tmp_path / "docker.sock"
    service = subprocess.Popen(
        ["podman", "system", "service", "--time=120", f"unix://{socket}"], stderr=subprocess.DEVNULL
    )
    try:
        wait_until(socket.exists)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
        inside = observe("docker")
    finally:
        service.terminate()
        service.wait()
    assert attested(inside, outside) == "podman"
    assert "'docker' was in podman (" in contradiction("docker", inside, outside)


def test_bare_in_namespaces_that_no_engine_made(observe, outside, tmp_path):
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "--user", "--mount", "true"], check=False).returncode:
        pytest.skip("unshare can't make namespaces here")
    launch = make_launch(tmp_path, EVIDENCE)
    wrapped = replace(launch, program=(unshare, "--user", "--map-root-user", "--mount", *launch.program))
    inside = observe("bare", wrapped)
    assert attested(inside, outside) == "unknown container"
    assert contradiction("bare", inside, outside) == (
        "the run labelled 'bare' was in a container of no known engine (not the controller's are: mnt namespace, "
        "user namespace); see what Tare's program is wrapped in here"
    )


# -- one engine with the marks of another -----------------------------------------------------------------------------


def test_bubblewrap_with_the_marker_files_and_variables_of_docker_and_podman(
    observe, outside, monkeypatch, decoys
):
    inserted(
        monkeypatch, bubblewrap, "--chdir",
        "--tmpfs", "/run", "--ro-bind", str(decoys), "/run/.containerenv", "--setenv", "container", "docker",
        "--setenv", "APPTAINER_CONTAINER", "/x.sif", "--hostname", ID[:12],
    )  # fmt: skip
    inside = observe("bubblewrap")
    assert "/run/.containerenv" in inside["marker_files"]
    assert inside["inherited"]["markers"] == {"container": "docker", "APPTAINER_CONTAINER": "/x.sif"}
    assert inside["host_name"] == ID[:12]
    assert contradiction("bubblewrap", inside, outside) == ""
    for label in ("docker", "podman", "apptainer"):
        wrong = contradiction(label, inside, outside)
        assert wrong.startswith(f"the run labelled '{label}' was in bubblewrap (its first process is bwrap")


def test_bubblewrap_that_shows_files_from_folders_named_as_those_of_engines(
    observe, outside, monkeypatch, tmp_path
):
    """An engine's files count in a root of the engine's own only, and this is the host's."""
    for folder in (f"containers/{ID}", f"overlay-containers/{ID}/userdata"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "hosts").write_text("", encoding="utf-8")
    for folder, label in ((f"containers/{ID}", "docker"), (f"overlay-containers/{ID}/userdata", "podman")):
        with monkeypatch.context() as patch:
            inserted(
                patch, bubblewrap, "--chdir", "--ro-bind", str(tmp_path / folder / "hosts"), "/etc/hosts"
            )
            inside = observe("bubblewrap")
        assert contradiction("bubblewrap", inside, outside) == ""
        assert contradiction(label, inside, outside).startswith(
            f"the run labelled '{label}' was in bubblewrap ("
        )


def test_apptainer_with_the_marker_files_and_variables_of_docker(observe, outside, monkeypatch, decoys):
    usable("apptainer")
    inserted(
        monkeypatch, apptainer, "--pwd",
        "--bind", f"{decoys}:/.dockerenv", "--bind", f"{decoys}:/run/.containerenv", "--env", "container=docker",
    )  # fmt: skip
    inside = observe("apptainer")
    assert inside["marker_files"][:2] == ["/.dockerenv", "/run/.containerenv"]
    assert inside["inherited"]["markers"]["container"] == "docker"
    assert contradiction("apptainer", inside, outside) == ""
    for label in ("docker", "podman", "bubblewrap"):
        assert f"'{label}' was in apptainer (" in contradiction(label, inside, outside)


def test_docker_with_the_marks_of_podman_and_apptainer(observe, outside, monkeypatch, decoys):
    original = docker.container_settings

    def settings(*args):
        made = original(*args)
        made["mounts"] += [(str(decoys), True)]
        return {
            **made,
            "hostname": "libpod",
            "environment": {"container": "podman", "APPTAINER_CONTAINER": "/x.sif"},
            "volumes": [f"{decoys}:/run/.containerenv:ro"],
        }

    monkeypatch.setattr(docker, "container_settings", settings)
    inside = observe("docker")
    assert inside["marker_files"] == ["/.dockerenv", "/run/.containerenv"]
    assert inside["inherited"]["markers"] == {"container": "podman", "APPTAINER_CONTAINER": "/x.sif"}
    assert contradiction("docker", inside, outside) == ""
    for label in ("podman", "apptainer", "bubblewrap"):
        assert f"'{label}' was in docker (" in contradiction(label, inside, outside)


def test_podman_with_the_marks_of_docker(observe, outside, monkeypatch, decoys):
    usable("podman")
    inserted(
        monkeypatch, podman, "--interactive",
        f"--volume={decoys}:/.dockerenv:ro", "--env=container=docker", "--hostname=docker",
    )  # fmt: skip
    inside = observe("podman")
    assert inside["marker_files"] == ["/.dockerenv", "/run/.containerenv"]
    assert inside["inherited"]["markers"] == {"container": "docker"}
    assert contradiction("podman", inside, outside) == ""
    for label in ("docker", "apptainer", "bubblewrap"):
        assert f"'{label}' was in podman (" in contradiction(label, inside, outside)


def test_docker_in_the_namespaces_of_the_host_is_docker_still(observe, outside, monkeypatch):
    original = docker.container_settings
    monkeypatch.setattr(
        docker,
        "container_settings",
        lambda *args: {
            **original(*args), "network_mode": "host", "pid_mode": "host", "ipc_mode": "host", "uts_mode": "host",
        },
    )  # fmt: skip
    inside = observe("docker")
    assert inside["namespaces"]["pid"] == outside["namespaces"]["pid"]
    assert contradiction("docker", inside, outside) == ""
    assert "'bare' was in docker (" in contradiction("bare", inside, outside)


def test_bare_in_a_control_group_of_dockers_name_is_not_docker(observe, outside):
    """A name that anybody may give; what is not the controller's own is no bare either."""
    inside = observe("bare")
    inside["host_view"]["cgroup"] = inside["cgroup"] = ["0::/docker/not-a-container"]
    assert attested(inside, outside) == "unknown container"
    assert contradiction("docker", inside, outside) != ""
    assert contradiction("bare", inside, outside) != ""
