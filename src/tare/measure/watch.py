"""Watches the machine and the workers while turns are taken, and judges how quiet it was."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tare.measure import locks
from tare.measure.lockstep import RunFailed
from tare.measure.run import Run
from tare.plan.specification import threads
from tare.telemetry import gpu_state, noise, noise_verdict
from tare.telemetry.noise import Counters, WorkerWindow
from tare.worker.cgroups import Throttling

# In less than this an answer to the controller is a share to speak of.
_LEAST_IDLE_S = 0.1


class Watch:
    """One window: from just before the first turn of some runs to just after their last.

    The host is read last at its beginning and first at its end, so that what the workers do besides their turns is
    outside.
    """

    def __init__(self, runs: Sequence[Run], *, gpu: bool = False) -> None:
        self._runs = list(runs)
        self._gpu = gpu
        self._before: dict[Run, Counters] = {}
        self._groups: dict[Run, Throttling] = {}
        for run in self._runs:
            try:
                self._before[run] = run.usage()
                self._groups[run] = run.throttling()
            except RunFailed as failure:
                run.fail(failure)
        cpus = set(os.sched_getaffinity(0))
        for run in self._runs:
            cpus.update(run.resources.get("cpus", ()))
        self._cpus = cpus
        self._gpus_before = gpu_state.read() if gpu else []
        self._host_before = noise.read_host(cpus)

    @property
    def runs(self) -> list[Run]:
        """The runs that can take turns."""
        return [run for run in self._runs if run.alive]

    def end(self) -> None:
        """Read again, and give each run its figures and its verdict."""
        host_after = noise.read_host(self._cpus)
        # should one fail after this, what it used in the window is known all the same
        known_s = {run: run.cpu_s_from_outside() for run in self._before}
        gpus: dict[str, Any] = {}
        if self._gpu:
            pids = [run.pid for run in self._before]
            known = {pid for pid in pids if pid is not None}
            gpus = gpu_state.figures(
                self._gpus_before, gpu_state.read(), locks.campaign(), known, hidden=pids.count(None)
            )
        windows = {run: self._window(run, known_s[run], host_after.t) for run in self._before}
        host = noise.host_figures(self._host_before, host_after, windows.values())
        own = {run: noise.worker_figures(window, len(self._cpus)) for run, window in windows.items()}
        for run, figures in own.items():
            idle_pct = self._idle_pct(run)
            figures |= {} if idle_pct is None else {"idle_cpu_pct": idle_pct}
        for run, figures in own.items():
            others = [other.get("waiting_cpu_pct", 0.0) for who, other in own.items() if who is not run]
            beside: dict[str, Any] = {"others_waiting_cpu_pct": max(others)} if others else {}
            run.noise = {**host, **gpus, **figures, **beside}
            run.noise_verdict = noise_verdict.verdict(run.noise)

    def _window(self, run: Run, known_s: float | None, ended_t: float) -> WorkerWindow:
        after, unaccounted_s, last_cpu_s = None, 0.0, run.last_cpu_s
        if not run.alive:
            unaccounted_s = run.unaccounted_s * len(self._cpus)
        else:
            after = self._usage(run)
            if after is None:
                last_cpu_s = known_s
                if known_s is None and run.turns:
                    last = run.turns[-1]
                    unaccounted_s = max(0.0, ended_t - last.started_t - last.timed_s) * len(self._cpus)
        return WorkerWindow(
            self._before[run], after, run.turns, threads(run.task.study), last_cpu_s, unaccounted_s,
            (self._groups[run], run.throttling()),
        )  # fmt: skip

    def _usage(self, run: Run) -> Counters | None:
        """What a run has used so far; None where it fails at that."""
        try:
            return run.usage()
        except RunFailed as failure:
            run.fail(failure)
            return None

    def _idle_pct(self, run: Run) -> float | None:
        """Percent of the CPUs that a worker used between its warm-up and its first turn, while others were warming up.

        None where that was too short to tell, as it is for the last one of a block.
        """
        before = self._before.get(run)
        if before is None or run.waits_since is None:
            return None
        since_t, cpu_s = run.waits_since
        waited_s = before.t - since_t
        if waited_s < _LEAST_IDLE_S:
            return None
        return round(100 * (before.cpu_s - cpu_s) / waited_s / len(self._cpus), 2)
