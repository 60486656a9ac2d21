"""What every engine must do alike, on the real ones: the contract of `tare.platforms.base.Platform`."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tare.measure import locks
from tare.platforms import EngineError
from tare.platforms.hostsoftware import find
from tare.platforms.lines import ChannelClosed
from tests.engines.conftest import (
    DEAF_WORKER,
    ENGINES,
    containers,
    leftovers,
    make_launch,
    processes,
    usable,
    wait_until,
)

pytestmark = pytest.mark.engine

CONTAINERS = pytest.mark.parametrize("engine", [name for name in ENGINES if name != "bare"], indirect=True)


def test_probe_says_that_it_is_usable_and_starts_nothing(engine):
    found = usable(engine).probe()
    assert found.usable
    assert (found.reason, found.remedy) == ("", "")
    assert found.version or engine == "bare"
    assert containers(engine, "none") == []


def test_preparing_twice_is_preparing_once(platform):
    platform.prepare()


def test_describe_gives_what_bears_on_speed_as_plain_values(platform, engine):
    described = platform.describe()
    assert json.loads(json.dumps(described)) == described
    assert described["engine"] == engine
    assert described.get("version") or engine == "bare"
    if engine in ("docker", "podman"):
        assert all(
            described[key] for key in ("runtime", "storage_driver", "cgroup_version", "network", "image")
        )


# -- a worker at work -------------------------------------------------------------------------------------------------


def test_the_channel_carries_lines_both_ways(start):
    worker = start()
    assert worker.ask("echo", n=1) == {"n": 1}
    long = "é" * 200_000
    assert worker.ask("echo", text=long) == {"text": long}
    assert [worker.ask("echo", n=n)["n"] for n in range(100)] == list(range(100))
    assert worker.handle.wait(0.0) is None, "it runs"


def test_a_worker_that_is_told_to_exit(start):
    worker = start()
    worker.handle.lines.send("exit", {"status": 3})
    with pytest.raises(ChannelClosed):
        worker.handle.lines.receive(20)
    assert worker.handle.wait(20) == 3
    assert worker.handle.wait(0.0) == 3


def test_variables_are_exactly_those_of_the_launch(platform, start, monkeypatch):
    for name in ("OMP_NUM_THREADS", "APPTAINERENV_LEAK", "SINGULARITYENV_LEAK", "http_proxy", "LEAK"):
        monkeypatch.setenv(name, "7")
    worker = start()
    assert worker.hello["variables"] == worker.launch.variables
    assert worker.hello["folder"] == worker.hello["temporary"] == str(worker.launch.run_dir)


def test_what_is_printed_is_in_the_log_and_not_in_the_channel(start):
    worker = start()
    assert worker.ask("print", text="to standard output") == {}
    wait_until(lambda: worker.launch.log.read_text(encoding="utf-8").count("\n") == 2)
    log = worker.launch.log.read_text(encoding="utf-8").splitlines()
    assert sorted(log) == ["to standard error", "to standard output"]


def test_the_runs_folder_is_writable_and_what_is_written_belongs_to_the_caller(start):
    worker = start()
    path = worker.launch.run_dir / "output"
    assert worker.ask("write", path=str(path)) == {"error": None}
    assert path.read_text(encoding="utf-8") == "written by the worker"
    assert (path.stat().st_uid, path.stat().st_gid) == (os.getuid(), os.getgid())


@CONTAINERS
def test_host_files_can_not_be_written(start, tmp_path):
    data = tmp_path / "digits.npz"
    data.write_bytes(b"data")
    worker = start(read_only=(*find().paths, data))
    for path in (data, *(folder / "tare-was-here" for folder in worker.launch.read_only if folder.is_dir())):
        answer = worker.ask("write", path=str(path))
        try:
            assert answer["error"] in ("Read-only file system", "Permission denied"), path
        finally:
            if path != data:
                path.unlink(missing_ok=True)
    assert data.read_bytes() == b"data"


# -- the end of a worker ----------------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_has_status_137(start):
    worker = start()
    os.kill(worker.python(), 9)
    with pytest.raises(ChannelClosed):
        worker.handle.lines.receive(20)
    assert worker.handle.wait(20) == 137


def test_kill_ends_a_worker_that_hears_nothing(start, engine):
    worker = start(DEAF_WORKER)
    worker.handle.kill()
    worker.handle.kill()
    with pytest.raises(ChannelClosed):
        worker.handle.lines.receive(20)
    wait_until(lambda: worker.processes() == [])


@pytest.mark.parametrize("first", ["nothing", "kill", "exit", "killed"])
def test_close_leaves_nothing(start, engine, first):
    before = {thread for thread in threading.enumerate() if thread.name == "tare-lines"}
    descriptors = set(os.listdir("/proc/self/fd"))
    worker = start()
    if first == "kill":
        worker.handle.kill()
    elif first == "exit":
        worker.handle.lines.send("exit", {"status": 0})
    elif first == "killed":
        os.kill(worker.python(), 9)
    worker.handle.close()
    assert leftovers(engine, worker.launch.token) == []
    worker.handle.close()
    after = {thread for thread in threading.enumerate() if thread.name == "tare-lines"}
    assert after <= before
    if engine != "docker":  # its client keeps connections for the next call
        assert set(os.listdir("/proc/self/fd")) <= descriptors


def test_a_worker_that_is_closed_while_it_starts_leaves_nothing(platform, engine, tmp_path):
    launch = make_launch(tmp_path, DEAF_WORKER)
    platform.start(launch).close()
    # an engine's own helpers may need a moment to notice
    wait_until(lambda: leftovers(engine, launch.token) == [])


def test_closing_the_input_ends_the_worker_within_five_seconds(start):
    worker = start()
    worker.handle.lines.end_input()
    assert wait_until(lambda: worker.processes() == []) < 5
    assert worker.handle.wait(20) in (0, 1, 3)


# -- what can't be started --------------------------------------------------------------------------------------------


def test_a_program_that_is_not_there_is_told_and_leaves_nothing(platform, engine, tmp_path):
    launch = make_launch(tmp_path, program=("/nowhere/python", "-c", "pass"))
    assert_refused(platform, engine, launch)


@pytest.mark.parametrize("engine", ["docker", "podman", "apptainer"], indirect=True)
def test_a_mount_that_is_not_there_is_told_and_leaves_nothing(platform, engine, tmp_path):
    launch = make_launch(tmp_path, read_only=(*find().paths, tmp_path / "no-such-file"))
    assert_refused(platform, engine, launch)


def attempt(platform, launch):
    """The handle of a worker, and the engine's refusal where it gives none."""
    try:
        return platform.start(launch), ""
    except EngineError as error:
        return None, str(error)


def assert_refused(platform, engine, launch):
    handle, refusal = attempt(platform, launch)
    if handle is not None:
        with pytest.raises(ChannelClosed):
            handle.lines.receive(30)
        assert handle.wait(20) not in (None, 0)
        handle.close()
        refusal = launch.log.read_text(encoding="utf-8").strip()
    assert refusal, "the engine's own words"
    assert leftovers(engine, launch.token) == []


@pytest.mark.parametrize(
    "name", ["a folder with spaces", "é", "dots..and-dashes_", "a:b", "a,b", 'a"b', "a=b"]
)
def test_folders_with_odd_names_work_or_are_refused_in_a_sentence(platform, engine, tmp_path, name):
    launch = make_launch(tmp_path, run_dir=tmp_path / name)
    handle, refusal = attempt(platform, launch)
    if handle is None:
        assert refusal.startswith(f"{engine} can't mount {str(tmp_path / name)!r}, since")
        assert set(name) & set(':,"')
    else:
        said, hello = handle.lines.receive(60)
        handle.close()
        assert (said, hello["folder"]) == ("hello", str(tmp_path / name))
    assert leftovers(engine, launch.token) == []


def test_an_environment_that_is_reached_through_a_link(platform, engine, tmp_path, monkeypatch):
    """As where /home is a link: Python knows its own folder by the name that it was called by."""
    link = tmp_path / "my home"
    link.symlink_to(sys.prefix)
    python = link / "bin" / Path(sys.executable).name
    monkeypatch.setattr(sys, "prefix", str(link))
    monkeypatch.setattr(sys, "executable", str(python))
    handle = platform.start(make_launch(tmp_path))
    try:
        assert handle.lines.receive(60)[0] == "hello"
    finally:
        handle.close()


# -- what a killed campaign leaves ------------------------------------------------------------------------------------

CONTROLLER = """
import sys
from pathlib import Path
from tare import platforms
from tests.engines import conftest
handles = []
for code in (conftest.WORKER, conftest.DEAF_WORKER):
    launch = conftest.make_launch(Path(sys.argv[2]), code)
    handles.append(platforms.create(sys.argv[1]).start(launch))
    handles[-1].lines.receive(60)
    print(launch.token, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def killed_campaign(platform, engine, tmp_path):
    """The tokens of two workers, one of which hears nothing, whose controller was killed with -9."""
    folder = tmp_path / "killed"
    folder.mkdir()
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    controller = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, engine, str(folder)],
        env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    tokens = [controller.stdout.readline().strip() for _ in range(2)]
    controller.kill()
    controller.communicate()
    assert all(tokens)
    yield tokens
    platform.sweep(locks.campaign())


def test_workers_of_a_killed_controller_end_and_a_sweep_removes_the_rest(
    killed_campaign, platform, engine, start
):
    hearing, deaf = killed_campaign
    others = start(campaign="ffffffff")
    assert wait_until(lambda: processes(hearing) == []) < 5
    removed = platform.sweep(locks.campaign())
    # bubblewrap's workers die with their controller, whatever they hear
    assert removed or engine == "bubblewrap"
    wait_until(lambda: leftovers(engine, hearing) + leftovers(engine, deaf) == [])
    assert platform.sweep(locks.campaign()) == []
    assert others.ask("echo", n=1) == {"n": 1}, "another campaign's worker is left alone"


def test_temporary_folder_of_this_machine_is_as_before(start):
    before = set(os.listdir(tempfile.gettempdir()))
    start().handle.close()
    made = set(os.listdir(tempfile.gettempdir())) - before
    assert not [name for name in made if name.startswith(("tare", "podman", "apptainer", "bundle"))]
