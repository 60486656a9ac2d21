"""The worker's conversation with its controller.

    controller                               worker
                                             {"hello": {"protocol": 1, "python": "3.13.5", "t": ...}}
    {"start": {"framework": "torch", ...}}   {"phase": {"name": "framework_imported", "t": ...}} and further phases
                                             {"ready": {"parameters": ..., "software": {...}, ...}}
    {"warmup": {"steps": 10}}                {"warmed": {"durations_s": [...], "first_step_t": ...,
                                                         "libraries": {...}, "threads": {...}}}
    {"usage": {}}                            {"used": {"cpu_s": ..., "involuntary_switches": ..., ...}}
    {"turn": {"steps": 4, "settle": 1}}      {"turned": {"settle_s": [...], "durations_s": [...], "started_t": ...,
                                                         "cpu_s": [..., ...]}}
    {"evaluate": {}}                         {"evaluated": {"test_loss": ..., "test_accuracy": ..., ...}}
    {"stop": {}}                             {"stopped": {"steps_trained": ..., ...}}, then it exits with 0

Whatever goes wrong is answered with {"error": {"reason": "one sentence"}}, the traceback goes to the log, and the
worker exits with 1. It exits by itself soon after its channel closes. `t` is the monotonic clock in seconds.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import math
import os
import platform
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from tare.worker import data as data_sets
from tare.worker import evidence, frameworks, libraries, usage
from tare.worker.channel import EXIT_CHANNEL_CLOSED, Channel, ChannelClosed
from tare.worker.injection import Lengthened
from tare.worker.networks import NETWORKS

PROTOCOL = 1


def _finite(value: float) -> float | None:
    """JSON knows no NaN; a loss that ran away is recorded as missing."""
    return float(value) if math.isfinite(value) else None


class Worker:
    """One run, from its start message to its stop message."""

    def __init__(self, channel: Channel, inherited: dict[str, Any]) -> None:
        self._channel = channel
        self._inherited = inherited
        self._trainer: Any = None
        self._steps_trained = 0
        self._framework: Any = None
        self._start: dict[str, Any] = {}
        self._resources: dict[str, Any] = {}

    def start(self, start: dict[str, Any]) -> None:
        """Import the framework, build the network, load the data, and say what was found."""
        self._start = start
        # before the import: OpenMP may bind this thread to one CPU, and an import may take CPUs away altogether
        self._resources = evidence.resources()
        self._framework = frameworks.load(start["framework"])
        self._phase("framework_imported")
        self._framework.configure(start["threads"], start["device"])
        data = data_sets.load(start["data_path"])
        self._phase("data_ready")
        network = NETWORKS[start["network"]]
        self._trainer = self._framework.Trainer(
            network, data, start["batch_size"], start["seed"], start["device"]
        )
        if start.get("injected_pct"):
            self._trainer = Lengthened(self._trainer, start["injected_pct"])
        self._phase("model_built")
        threads = self._framework.thread_count()
        if threads != start["threads"]:
            raise RuntimeError(
                f"{start['framework']} uses {threads} threads although {start['threads']} were asked for"
            )
        self._channel.send(
            "ready",
            {
                "parameters": self._trainer.parameters,
                "items_per_step": start["batch_size"],
                "software": {"python": platform.python_version(), "libc": " ".join(platform.libc_ver()),
                             **self._framework.software()},
                "resources": {
                    **self._resources,
                    "framework_threads": threads,
                    # OpenMP, where it is told to, leaves this thread one CPU: the same one in every environment
                    "cpus_after_import": evidence.cpus_of([os.getpid()]),
                    "data_filesystem": evidence.mount_of(start["data_path"]).get("type"),
                    "data_sha256": hashlib.sha256(Path(start["data_path"]).read_bytes()).hexdigest(),
                },
                "evidence": {
                    **evidence.collect(self._inherited),
                    "data_mount": evidence.mount_of(start["data_path"]),
                },
                "test_items": len(data.test_y),
                "classes": int(max(data.train_y.max(), data.test_y.max())) + 1,
            },
        )  # fmt: skip

    def warmup(self, message: dict[str, Any]) -> None:
        """Untimed steps before the first turn; after them the heap is left in peace."""
        durations = []
        first_step_t = None
        before = evidence.run_time_ns()
        for _ in range(message["steps"]):
            durations.extend(self._steps(1))
            first_step_t = first_step_t or time.monotonic()
        warm_t = time.monotonic()
        threads = evidence.working_threads(before)
        self._check_cpus(threads)
        # Only now has everything been loaded that the steps need. Nothing is timed before the first turn.
        loaded = libraries.loaded()
        if self._start.get("gc_off"):
            # A collection in the middle of a timed step is noise that a short turn can't average out.
            gc.collect()
            gc.freeze()
            gc.disable()
        self._channel.send(
            "warmed",
            {
                "durations_s": durations,
                "first_step_t": first_step_t,
                "t": warm_t,
                "libraries": loaded,
                "threads": threads,
                # from here on it should be idle until its first turn
                "waits_t": time.monotonic(),
                "cpu_s": time.process_time(),
            },
        )

    def _check_cpus(self, threads: dict[str, Any]) -> None:
        """A framework whose threads were left on fewer CPUs than there are is slow for no reason of the platform.

        Args:
            threads: `evidence.working_threads` of the warm-up.
        """
        given, framework = self._resources["cpus"], self._start["framework"]
        wanted = min(self._start["threads"], len(given))
        # OpenMP, where it is told to, binds the main thread to one CPU and its other threads to the others.
        main = evidence.cpus_of([os.getpid()])
        if len(main) < wanted and "OMP_PROC_BIND" not in os.environ:
            raise RuntimeError(f"importing {framework} took CPUs away: of {given} {main} are left")
        used = threads["cpus"]
        if threads["working"] > 1 and len(used) < wanted:
            raise RuntimeError(
                f"the threads of {framework} may use the CPUs {used} only, of {given} that the process was given; "
                "unset what binds them"
            )

    def turn(self, message: dict[str, Any]) -> None:
        """Settling steps, then timed steps, each timed by itself; a step ends when its result is there."""
        # The CPU clock is read around the whole turn, not between its steps: what it has gained by the next turn is
        # what this worker used while it should have been idle.
        begun_s = time.process_time()
        settle_s = self._steps(message["settle"])
        started_t = time.monotonic()
        durations_s = self._steps(message["steps"])
        cpu_s = [begun_s, time.process_time()]
        self._channel.send(
            "turned",
            {"settle_s": settle_s, "durations_s": durations_s, "started_t": started_t, "cpu_s": cpu_s},
        )

    def usage(self, message: dict[str, Any]) -> None:
        """What this process has used so far; asked before the first turn and after the last."""
        self._channel.send("used", usage.reading())

    def _steps(self, count: int) -> list[float]:
        step, clock, durations = self._trainer.step, time.perf_counter, []
        for _ in range(count):
            begun = clock()
            step()
            durations.append(clock() - begun)
        self._steps_trained += count
        return durations

    def evaluate(self, message: dict[str, Any]) -> None:
        """Loss and accuracy on the held-out part, and the loss of the last training step."""
        loss, accuracy = self._trainer.evaluate()
        self._channel.send(
            "evaluated",
            {
                "training_loss": _finite(self._trainer.loss()),
                "test_loss": _finite(loss),
                "test_accuracy": _finite(accuracy),
                "steps_trained": self._steps_trained,
            },
        )

    def _phase(self, name: str) -> None:
        self._channel.send("phase", {"name": name, "t": time.monotonic()})


def converse(channel: Channel, inherited: dict[str, Any]) -> int:
    """Answer messages until told to stop; returns the exit status."""
    worker = Worker(channel, inherited)
    handlers = {
        "start": worker.start,
        "warmup": worker.warmup,
        "usage": worker.usage,
        "turn": worker.turn,
        "evaluate": worker.evaluate,
    }
    try:
        channel.send(
            "hello", {"protocol": PROTOCOL, "python": platform.python_version(), "t": time.monotonic()}
        )
        while True:
            name, message = channel.receive()
            if name == "stop":
                channel.send("stopped", {"t": time.monotonic()})
                return 0
            if name not in handlers:
                raise ValueError(f"unknown message {name!r}")
            handlers[name](message)
    except ChannelClosed:
        return EXIT_CHANNEL_CLOSED
    except Exception as error:
        traceback.print_exc()
        sys.stderr.flush()
        try:
            channel.send("error", {"reason": _reason(error), "type": type(error).__name__})
        except ChannelClosed:
            pass
        return 1


def _reason(error: Exception) -> str:
    """The error in one line; one that is a mere word, such as a KeyError, says what it is."""
    text = (str(error).strip().splitlines() or [""])[0]
    return (text if " " in text else f"{type(error).__name__} {text}".strip())[:500]


def main() -> int:
    """Entry point of `python -m tare.worker`."""
    parser = argparse.ArgumentParser(prog="tare.worker", description="Takes turns of training steps.")
    parser.add_argument("--inherited", default="{}", help="what launch.py saw, as JSON")
    arguments = parser.parse_args()
    return converse(Channel.take_over_standard_streams(), json.loads(arguments.inherited))


if __name__ == "__main__":
    sys.exit(main())
