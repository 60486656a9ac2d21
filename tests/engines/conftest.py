"""Real engines, with tiny workers: what every engine's tests share."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tare
from tare import platforms
from tare.measure import locks
from tare.platforms import Launch, Platform, WorkerHandle, hostsoftware
from tare.worker import launch as launch_stage

SOURCE = Path(tare.__file__).resolve().parents[1]
ENGINES = tuple(platforms.ENGINES)

# Speaks over the real worker's channel, and does what it is told to on the files and processes around it.
WORKER = """
import os, sys, tempfile
from tare.worker import evidence
from tare.worker.channel import Channel

channel = Channel.take_over_standard_streams()
channel.send("hello", {"variables": dict(os.environ), "folder": os.getcwd(), "temporary": tempfile.gettempdir()})
while True:
    name, content = channel.receive()
    if name == "echo":
        channel.send("echo", content)
    elif name == "print":
        print(content["text"])
        os.write(2, b"to standard error\\n")
        channel.send("printed", {})
    elif name == "write":
        try:
            with open(content["path"], "a") as file:
                file.write("written by the worker")
            channel.send("written", {"error": None})
        except OSError as error:
            channel.send("written", {"error": error.strerror})
    elif name == "evidence":
        channel.send("evidence", evidence.collect())
    elif name == "exit":
        sys.exit(content["status"])
"""

# Hears nothing: neither that its channel closes, nor a signal that it may ignore.
DEAF_WORKER = """
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print('{"hello": {}}', flush=True)
while True:
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _own_host_lock(tmp_path, monkeypatch):
    """No test waits for, or sweeps, what somebody measures on this machine."""
    monkeypatch.setenv("TARE_HOST_LOCK", str(tmp_path / "host.lock"))


def usable(engine: str) -> Platform:
    """The engine's platform, where it can be used; else the test skips, or fails where engines must be there."""
    platform = platforms.create(engine)
    found = platform.probe()
    if not found.usable:
        sentence = f"{engine}: {found.reason}. {found.remedy}"
        if os.environ.get("TARE_REQUIRE_ENGINES") == "1":
            pytest.fail(sentence)
        pytest.skip(sentence)
    return platform


@pytest.fixture(params=ENGINES)
def engine(request) -> str:
    """Each engine's name; the test is left out where it can't be used."""
    return str(request.param)


@pytest.fixture
def platform(engine) -> Platform:
    """Each engine, ready."""
    made = usable(engine)
    made.prepare()
    return made


@dataclass
class Started:
    """A worker with what it was started by."""

    handle: WorkerHandle
    launch: Launch
    hello: dict[str, object]

    def ask(self, name: str, **content: object) -> dict[str, object]:
        """Say this and give back the answer."""
        self.handle.lines.send(name, content)
        return self.handle.lines.receive(30)[1]

    def processes(self) -> list[int]:
        return processes(self.launch.token)

    def python(self) -> int:
        """The worker's own process, as the host sees it."""
        (pid,) = [pid for pid in self.processes() if "python" in program(pid)]
        return pid


def make_launch(folder: Path, code: str = WORKER, *, campaign: str = "", **changes: object) -> Launch:
    """A tiny worker to start, as `tare.measure.run` starts real ones."""
    token = f"{campaign or locks.campaign()}-{secrets.token_hex(4)}"
    run_dir = Path(str(changes.pop("run_dir", folder / f"run-{token}")))
    run_dir.mkdir(mode=0o700)
    variables = {
        "TARE_RUN": token,
        "HOME": str(run_dir),
        "TMPDIR": str(run_dir),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(SOURCE),
        "WITH_SPACES": "a  b = c",
    }
    values: dict[str, object] = {
        "token": token,
        "program": (
            *(sys.executable, "-I", "-S", launch_stage.__file__),
            *(f"{name}={value}" for name, value in variables.items()),
            *("--", sys.executable, "-c", code),
        ),
        "variables": variables,
        "run_dir": run_dir,
        "read_only": hostsoftware.find().paths,
        "log": folder / "logs" / f"{token}.log",
    }
    return Launch(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture
def start(platform, engine, tmp_path) -> Iterator[Callable[..., Started]]:
    """Starts tiny workers; at the end nothing of them must be left."""
    started: list[tuple[WorkerHandle, str]] = []

    def start_one(code: str = WORKER, **changes: object) -> Started:
        launch = make_launch(tmp_path, code, **changes)
        handle = platform.start(launch)
        started.append((handle, launch.token))
        name, hello = handle.lines.receive(60)
        assert name == "hello"
        return Started(handle, launch, hello)

    yield start_one
    for handle, token in started:
        handle.close()
        assert leftovers(engine, token) == []


def leftovers(engine: str, token: str) -> list[str]:
    """Processes and containers that carry this token."""
    return [*(f"process {pid}: {program(pid)}" for pid in processes(token)), *containers(engine, token)]


def processes(token: str) -> list[int]:
    """Processes of this user with this token in their variables; zombies have none."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"TARE_RUN={token}\0".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def containers(engine: str, token: str = "") -> list[str]:
    """The engine's containers with this token, or all that Tare made."""
    label = "tare.run" + (f"={token}" if token else "")
    if engine == "docker":
        import docker

        client = docker.from_env()
        try:
            return [item["Names"][0] for item in client.api.containers(all=True, filters={"label": label})]
        finally:
            client.close()
    if engine == "podman":
        command = ["podman", "ps", "--all", f"--filter=label={label}", "--format=json"]
        listed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout or b"[]")
        return [item["Names"][0] for item in listed or []]
    return []


def program(pid: int) -> str:
    """The name of the program that a process runs; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""


def wait_until(condition: Callable[[], object], timeout_s: float = 10.0) -> float:
    """Wait for something to come true; the seconds that it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < timeout_s, "it did not come to pass in time"
        time.sleep(0.02)
    return time.monotonic() - began
