"""A platform whose workers live in this process, and a clock that advances only when they work.

    clock = Clock()
    fast, slow = Behaviour(), Behaviour(step_s=0.02, faults={("turn", 3): die(137)})
    platforms = {"bare": SimulatedPlatform("bare", clock, fast), "docker": SimulatedPlatform("docker", clock, slow)}
    measure_block(task(tmp_path, ["bare", "docker"]), platforms, clock=clock)

Nothing sleeps and no framework is imported: a worker that hangs only lets the clock advance by what was waited.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tare.measure.run import Task
from tare.plan.matrix import cells
from tare.plan.study import Study, parse
from tare.platforms import Availability, EngineError, Launch
from tare.platforms.lines import ChannelClosed, ChannelTimeout, Lines
from tare.worker import evidence
from tare.worker.launch import inherited_variables


class Clock:
    """Seconds that pass only when somebody says so."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class SimulatedLines(Lines):
    """The real channel's parsing without its thread: what is not there when it is asked for never comes."""

    def __init__(self, clock: Clock, on_message: Callable[[str, dict[str, Any]], None] | None = None) -> None:
        import queue

        self._lines = queue.Queue()
        self._broken = None
        self._clock, self._on_message = clock, on_message
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.timeouts_s: list[float] = []
        self.gone = False
        self.input_ended = False

    def put(self, *lines: bytes | dict[str, Any]) -> None:
        """The worker says this."""
        for line in lines:
            self._lines.put(line if isinstance(line, bytes) else json.dumps(line).encode())

    def end(self) -> None:
        """The worker closes its end."""
        self.gone = True
        self._lines.put(ChannelClosed("the worker closed its channel"))

    def send(self, name: str, content: dict[str, Any]) -> None:
        if self.gone:
            raise ChannelClosed("the worker closed its channel")
        self.sent.append((name, json.loads(json.dumps(content))))
        if self._on_message is not None:
            self._on_message(name, content)

    def receive(self, timeout_s: float) -> tuple[str, dict[str, Any]]:
        self.timeouts_s.append(timeout_s)
        if self._broken is None and self._lines.empty():
            self._clock.advance(timeout_s)
            raise ChannelTimeout("no answer")
        return super().receive(0.0)

    def end_input(self) -> None:
        self.input_ended = True

    def wait_closed(self, timeout_s: float) -> bool:
        return self.gone


Fault = Callable[["SimulatedWorker"], None]


def hang(worker: SimulatedWorker) -> None:
    """Give no answer."""


def die(status: int) -> Fault:
    """End without a word."""
    return lambda worker: worker.end(status)


def says(*lines: bytes | dict[str, Any]) -> Fault:
    """Say something else than what was due."""
    return lambda worker: worker.lines.put(*lines)


def signalled(number: signal.Signals) -> Fault:
    """The controller gets a signal while it waits for this answer."""
    return lambda worker: signal.raise_signal(number)


def raises(error: BaseException) -> Fault:
    """Something breaks in the controller."""

    def fault(worker: SimulatedWorker) -> None:
        raise error

    return fault


@dataclass
class Behaviour:
    """How a worker does its work.

    Attributes:
        step_s: what a step takes.
        build_s: what it takes to import the framework and build the network.
        faults: (message, how manieth of its name, from 1) -> what happens instead of an answer.
        evidence: what the worker sees otherwise than the engine's container would show.
        refuses: the engine's own words when it is to start a worker.
        unremovable: the engine's own words when it is to remove what is left.
        injects: whether its steps are made longer where that is asked for.
        waiting_cpu: how much of a CPU it uses while it waits for its turn.
        used: counters that grow by this much from one reading of its usage to the next.
    """

    step_s: float = 0.01
    build_s: float = 1.0
    faults: dict[tuple[str, int], Fault] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    refuses: str = ""
    unremovable: str = ""
    injects: bool = True
    waiting_cpu: float = 0.0
    used: dict[str, Any] = field(default_factory=dict)


MARKERS = {"docker": "/.dockerenv", "podman": "/run/.containerenv"}
CONTAINER_ID = "5e" * 32
# Where engines keep the files that they bind into their containers, and how they name control groups.
_FOLDERS = {
    "docker": f"/var/lib/docker/containers/{CONTAINER_ID}",
    "podman": f"/run/containers/storage/overlay-containers/{CONTAINER_ID}/userdata",
}
_GROUPS = {"docker": f"0::/docker/{CONTAINER_ID}", "podman": f"0::/libpod_parent/libpod-{CONTAINER_ID}"}


def seen_inside(engine: str) -> dict[str, Any]:
    """What a worker sees in a container of the engine, on this machine."""
    seen = evidence.collect(inherited_variables()) | {"marker_files": []}
    if engine == "bare":
        return seen
    apart = ("mnt",) if engine == "apptainer" else ("mnt", "pid", "ipc")
    seen["namespaces"] = {
        name: f"{value}0" if name in apart else value for name, value in seen["namespaces"].items()
    }
    if engine == "bubblewrap":
        return seen | {"init": "bwrap"}
    root = {"root": "/", "type": "overlay", "source": "overlay", "options": "rw,lowerdir=/layers"}
    seen |= {"root_mount": "/ overlay overlay", "mounts": {"/": root}}
    if engine == "apptainer":  # with the host's userland it leaves no file
        root["options"] = "ro,lowerdir=/var/lib/apptainer/mnt/session/rootfs"
        seen["inherited"] = {"names": [], "markers": {"APPTAINER_CONTAINER": "/cache/host"}}
        return seen
    hosts = {"root": f"{_FOLDERS[engine]}/hosts", "type": "ext4", "source": "/dev/vda", "options": "rw"}
    seen["mounts"] = {"/": root, "/etc/hosts": hosts}
    return seen | {"cgroup": [_GROUPS[engine]], "marker_files": [MARKERS[engine]]}


class SimulatedWorker:
    """A worker and its handle at once."""

    def __init__(self, engine: str, clock: Clock, behaviour: Behaviour, launch: Launch) -> None:
        self.engine, self.clock, self.behaviour, self.launch = engine, clock, behaviour, launch
        self.lines = SimulatedLines(clock, self._on_message)
        self.arguments = [engine, *launch.program]
        self.status: int | None = None
        self.killed = False
        self.closed = 0
        self._counts: Counter[str] = Counter()
        self._steps = 0
        self._longer = 1.0
        self._cpu_s = 0.0
        self._waits_since = 0.0
        if not self._fault("hello"):
            self._say("hello", protocol=1, python="3.11.0", t=clock())

    @property
    def running(self) -> bool:
        return self.status is None

    def end(self, status: int) -> None:
        self.status = status
        self.lines.end()

    def kill(self) -> None:
        if self.running:
            self.killed = True
            self.end(137)

    def wait(self, timeout_s: float) -> int | None:
        if self.running:
            self.clock.advance(timeout_s)
        return self.status

    def close(self) -> None:
        self.closed += 1
        self.kill()
        if self.behaviour.unremovable:
            raise EngineError(self.behaviour.unremovable)

    def _fault(self, name: str) -> bool:
        self._counts[name] += 1
        fault = self.behaviour.faults.get((name, self._counts[name]))
        if fault is not None:
            fault(self)
        return fault is not None

    def _say(self, name: str, /, **content: Any) -> None:
        self.lines.put({name: content})

    def _on_message(self, name: str, content: dict[str, Any]) -> None:
        if not self._fault(name):
            getattr(self, f"_{name}")(content)

    def _step(self, count: int) -> list[float]:
        step_s = self.behaviour.step_s * self._longer
        self.clock.advance(count * step_s)
        self._steps += count
        return [step_s] * count

    def _start(self, content: dict[str, Any]) -> None:
        if self.behaviour.injects:
            self._longer = 1 + (content["injected_pct"] or 0) / 100
        self.clock.advance(self.behaviour.build_s)
        self._say("phase", name="framework_imported", t=self.clock())
        self._say(
            "ready",
            software={"python": "3.11.0", content["framework"]: "1.2.3"},
            resources={"cpus": [0, 1], "framework_threads": content["threads"]},
            evidence={**seen_inside(self.engine), **self.behaviour.evidence},
            test_items=359,
            classes=10,
        )

    def _warmup(self, content: dict[str, Any]) -> None:
        durations_s = self._step(content["steps"])
        self._say(
            "warmed",
            durations_s=durations_s,
            first_step_t=self.clock(),
            t=self.clock(),
            libraries={"libm.so.6": "5e" * 16},
            threads={"all": 2, "working": 2, "cpus": [0, 1]},
            waits_t=self.clock(),
            cpu_s=self._cpu_s,
        )
        self._waits_since = self.clock()

    def _turn(self, content: dict[str, Any]) -> None:
        self._cpu_s += self.behaviour.waiting_cpu * (self.clock() - self._waits_since)
        begun_s, begun_t = self._cpu_s, self.clock()
        settle_s = self._step(content["settle"])
        started_t = self.clock()
        durations_s = self._step(content["steps"])
        self._waits_since = self.clock()
        self._cpu_s += self._waits_since - begun_t
        self._say(
            "turned",
            settle_s=settle_s,
            started_t=started_t,
            durations_s=durations_s,
            cpu_s=[begun_s, self._cpu_s],
        )

    def _usage(self, content: dict[str, Any]) -> None:
        times = self._counts["usage"]
        counters = {"cpu_wait_s": 0.0, "involuntary_switches": 0, "voluntary_switches": 0, "major_faults": 0}
        if self._counts["warmup"]:
            self._cpu_s += self.behaviour.waiting_cpu * (self.clock() - self._waits_since)
        self._waits_since = self.clock()
        self._say(
            "used",
            t=self.clock(),
            cpu_s=self._cpu_s,
            **{name: start + times * self.behaviour.used.get(name, 0) for name, start in counters.items()},
            throttling={},
        )

    def _evaluate(self, content: dict[str, Any]) -> None:
        self._say("evaluated", training_loss=0.2, test_loss=0.3, test_accuracy=0.9, steps_trained=self._steps)

    def _stop(self, content: dict[str, Any]) -> None:
        self._say("stopped", t=self.clock())
        self.end(0)


class SimulatedPlatform:
    """An engine whose workers behave as they are told to.

    Attributes:
        workers: all that were started.
        swept: the campaigns whose leftovers were asked to be removed.
    """

    def __init__(self, engine: str, clock: Clock, *behaviours: Behaviour) -> None:
        """Give one behaviour for each worker that is started, or one for all."""
        self.engine, self.clock = engine, clock
        self._behaviours = behaviours or (Behaviour(),)
        self.workers: list[SimulatedWorker] = []
        self.swept: list[str] = []

    def probe(self) -> Availability:
        return Availability(usable=True, version="1.0")

    def prepare(self) -> None:
        pass

    def start(self, launch: Launch) -> SimulatedWorker:
        behaviour = self._behaviours[min(len(self.workers), len(self._behaviours) - 1)]
        if behaviour.refuses:
            raise EngineError(behaviour.refuses)
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        launch.log.write_text(f"log of {self.engine}\n", encoding="utf-8")
        (launch.run_dir / "scratch").write_text("made by the worker", encoding="utf-8")
        worker = SimulatedWorker(self.engine, self.clock, behaviour, launch)
        self.workers.append(worker)
        return worker

    def describe(self) -> dict[str, Any]:
        return {"engine": self.engine, "version": "1.0"}

    def sweep(self, campaign: str) -> list[str]:
        self.swept.append(campaign)
        return []


def platforms(clock: Clock, **behaviours: Behaviour) -> dict[str, SimulatedPlatform]:
    """One platform for each engine named."""
    return {engine: SimulatedPlatform(engine, clock, behaviour) for engine, behaviour in behaviours.items()}


def study(environments: Sequence[Any] = ("bare", "docker"), **other: Any) -> Study:
    """A study of one cell, with few rounds."""
    content = {
        "name": "simulated",
        "matrix": {"model": "lenet", "framework": "torch"},
        "environments": list(environments),
        "rounds": {"min": 2, "max": 5},
        "threads": 2,
        "warmup_steps": 4,
        "timeout_s": 30,
    }
    return parse(content | other, "a test")


def task(
    folder: Path,
    environments: Sequence[Any] = ("bare", "docker"),
    *,
    seconds: float = 1000.0,
    repetition: int = 1,
    **other: Any,
) -> Task:
    """One block of `study`, to be written below `folder`."""
    asked = study(environments, **other)
    return Task(
        study=asked,
        cell=cells(asked)[0],
        repetition=repetition,
        environments=tuple(asked.environments),
        seconds=seconds,
        data=folder / "digits.npz",
        study_dir=folder / "results" / asked.name,
    )
