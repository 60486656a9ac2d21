"""What becomes of a run when the docker daemon refuses, hangs or goes away."""

import os
import socket
import struct
from types import SimpleNamespace

import docker.errors
import pytest
import requests

from tare.platforms import EngineError, Launch
from tare.platforms.docker import ContainerHandle, Docker, container_settings
from tare.platforms.lines import ChannelClosed

GONE = requests.exceptions.ConnectionError("Connection aborted.")
NOT_FOUND = docker.errors.NotFound("No such container")
NOT_RUNNING = docker.errors.APIError("409 Client Error: Conflict", explanation="Container is not running")
IN_PROGRESS = docker.errors.APIError("409", explanation="removal of container x is already in progress")


class Container:
    """A container of a daemon that answers as it is told to: a value, or an error that is raised."""

    name, id = "tare-0123abcd-1", "c0ffee"

    def __init__(self, **answers):
        self.answers = {"kill": None, "remove": None, "start": None, "wait": {"StatusCode": 0}} | answers
        self.calls = []

    def _answer(self, call, **arguments):
        self.calls.append((call, arguments))
        if isinstance(self.answers[call], BaseException):
            raise self.answers[call]
        return self.answers[call]

    def kill(self):
        return self._answer("kill")

    def start(self):
        return self._answer("start")

    def remove(self, **arguments):
        return self._answer("remove", **arguments)

    def wait(self, **arguments):
        return self._answer("wait", **arguments)


class Daemon:
    """A client with one container, and the daemon's end of its stream."""

    def __init__(self, container=None, create=None):
        self.container = container or Container()
        ours, self.theirs = socket.socketpair()
        self.stream = ours.makefile("rb", buffering=0)
        self.stream._sock = ours
        self.settings = None
        self.api = SimpleNamespace(attach_socket=lambda name, params: self.stream)
        self.containers = SimpleNamespace(create=self._create)
        self._refusal = create

    def _create(self, **settings):
        self.settings = settings
        if self._refusal is not None:
            raise self._refusal
        return self.container

    def say(self, kind, data):
        self.theirs.sendall(struct.pack(">BxxxL", kind, len(data)) + data)


@pytest.fixture
def launch(tmp_path):
    return Launch("0123abcd-1", ("python",), {}, tmp_path, (), tmp_path / "logs" / "run.log")


@pytest.fixture
def started(launch):
    """Starts a run on a daemon; its stream is closed at the end."""
    daemons = []

    def start(container=None):
        daemon = Daemon(container)
        daemons.append(daemon)
        return daemon, ContainerHandle(daemon, launch, container_settings(launch, "tare/host:1", "0:0"))

    yield start
    for daemon in daemons:
        daemon.theirs.close()


def test_output_goes_to_the_channel_and_errors_to_the_log(started, launch):
    daemon, handle = started()
    daemon.say(2, b"a warning\n")
    daemon.say(1, b'{"a": ')
    daemon.say(1, b"{}}\n")
    daemon.say(2, b"another\n")
    assert handle.lines.receive(5) == ("a", {})
    handle.lines.send("turn", {})
    assert daemon.theirs.recv(100) == b'{"turn": {}}\n'
    daemon.theirs.close()
    with pytest.raises(ChannelClosed):
        handle.lines.receive(5)
    assert launch.log.read_text(encoding="utf-8") == "a warning\nanother\n"


def test_a_full_disk_loses_the_log_not_the_run(started, launch):
    daemon, handle = started()
    handle._log.close()
    handle._log = open("/dev/full", "wb", buffering=0)  # noqa: PTH123, SIM115
    daemon.say(2, b"a warning\n")
    daemon.say(1, b'{"a": {}}\n')
    assert handle.lines.receive(5) == ("a", {})


def test_closing_leaves_no_descriptor_and_may_be_done_twice(launch):
    before = set(os.listdir("/proc/self/fd"))
    daemon = Daemon()
    handle = ContainerHandle(daemon, launch, container_settings(launch, "tare/host:1", "0:0"))
    for _ in range(2):
        handle.close()
    assert daemon.container.calls[-1] == ("remove", {"force": True, "v": True})
    daemon.theirs.close()
    assert set(os.listdir("/proc/self/fd")) <= before


def test_closing_ends_the_channel_though_the_daemon_hangs(started):
    _, handle = started(Container(remove=requests.exceptions.ReadTimeout("timed out")))
    with pytest.raises(EngineError, match="docker can't remove tare-0123abcd-1: timed out"):
        handle.close()
    assert handle.lines.wait_closed(5)


@pytest.mark.parametrize("gone", [NOT_FOUND, IN_PROGRESS])
def test_a_container_that_is_gone_or_going_is_removed(started, gone):
    started(Container(remove=gone))[1].close()


@pytest.mark.parametrize("fault", [GONE, OSError("broken pipe"), docker.errors.APIError("500")])
def test_a_container_that_can_not_be_removed_is_an_engine_error(started, fault):
    with pytest.raises(EngineError, match="docker can't remove"):
        started(Container(remove=fault))[1].close()


def test_killing_one_that_has_ended_is_no_error(started):
    started(Container(kill=NOT_RUNNING))[1].kill()
    started(Container(kill=NOT_FOUND))[1].kill()


def test_killing_when_the_daemon_is_gone_is_an_engine_error(started):
    with pytest.raises(EngineError, match=r"docker can't kill .*Connection aborted"):
        started(Container(kill=GONE))[1].kill()


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, 2.0])
def test_waiting_never_asks_the_sdk_for_no_time_at_all(started, timeout_s):
    daemon, handle = started(Container(wait={"StatusCode": 137}))
    assert handle.wait(timeout_s) == 137
    ((_, arguments),) = [call for call in daemon.container.calls if call[0] == "wait"]
    assert arguments["timeout"] > 0, "requests takes 0 for an error"
    assert handle.wait(timeout_s) == 137
    assert len(daemon.container.calls) == 2, "it is asked once"


@pytest.mark.parametrize("fault", [GONE, requests.exceptions.ReadTimeout(), NOT_FOUND])
def test_waiting_without_an_answer_is_no_status(started, fault):
    assert started(Container(wait=fault))[1].wait(1.0) is None


@pytest.mark.parametrize("removal", [None, GONE])
def test_a_container_that_does_not_start_is_removed(launch, removal):
    refused = docker.errors.APIError("400", explanation="bind source path does not exist: /nowhere")
    daemon = Daemon(Container(start=refused, remove=removal))
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(docker.errors.APIError, match="400"):
        ContainerHandle(daemon, launch, container_settings(launch, "tare/host:1", "0:0"))
    assert daemon.container.calls[-1][0] == "remove"
    assert set(os.listdir("/proc/self/fd")) <= before
    daemon.theirs.close()


def test_a_container_that_can_not_be_made_leaves_no_descriptor(launch):
    daemon = Daemon(create=GONE)
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(requests.exceptions.ConnectionError):
        ContainerHandle(daemon, launch, container_settings(launch, "tare/host:1", "0:0"))
    assert set(os.listdir("/proc/self/fd")) <= before
    daemon.theirs.close()


def test_a_daemon_on_another_machine_is_refused(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://build.example:2375")
    found = Docker().probe()
    assert not found.usable
    assert "DOCKER_HOST is no socket of this machine (tcp://build.example:2375)" in found.reason


def test_no_daemon_is_said_in_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    found = Docker().probe()
    assert (found.usable, found.reason) == (False, "no docker daemon answers")
    assert "start its daemon" in found.remedy
    for use in (Docker().prepare, Docker().describe, lambda: Docker().sweep("0123abcd")):
        with pytest.raises(EngineError, match="docker does not answer"):
            use()


def test_a_socket_that_may_not_be_opened_is_said_in_a_sentence(monkeypatch):
    def connect(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(socket.socket, "connect", connect)
    found = Docker().probe()
    assert "may not be opened by this user" in found.reason
    assert "group docker" in found.remedy


def containers(*labelled):
    made = []
    for token in labelled:
        container = Container()
        container.labels = {"tare.run": token} if token else {}
        made.append(container)
    return made


def test_a_sweep_removes_the_campaigns_containers_only():
    mine, others, none = containers("0123abcd-1", "ffffffff-1", "")
    platform = Docker()
    platform.__dict__["_docker"] = SimpleNamespace(
        containers=SimpleNamespace(list=lambda **asked: [mine, others, none])
    )
    assert platform.sweep("0123abcd") == ["docker container tare-0123abcd-1"]
    assert (len(mine.calls), others.calls, none.calls) == (1, [], [])
