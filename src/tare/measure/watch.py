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
        gpus: dict[str, Any] = {}
        if self._gpu:
            hidden = sum(not run.seen_from_outside for run in self._before)
            gpus = gpu_state.figures(self._gpus_before, gpu_state.read(), locks.campaign(), hidden)
        windows = {run: self._window(run) for run in self._before}
        host = noise.host_figures(self._host_before, host_after, windows.values())
        own = {run: noise.worker_figures(window, len(self._cpus)) for run, window in windows.items()}
        for run, figures in own.items():
            others = [other.get("waiting_cpu_pct", 0.0) for who, other in own.items() if who is not run]
            beside: dict[str, Any] = {"others_waiting_cpu_pct": max(others)} if others else {}
            run.noise = {**host, **gpus, **figures, **beside}
            run.noise_verdict = noise_verdict.verdict(run.noise)

    def _window(self, run: Run) -> WorkerWindow:
        after = None
        if run.alive:
            try:
                after = run.usage()
            except RunFailed as failure:
                run.fail(failure)
        unaccounted_s = 0.0 if after is not None else run.unaccounted_s * len(self._cpus)
        return WorkerWindow(
            self._before[run], after, run.turns, threads(run.task.study), run.last_cpu_s, unaccounted_s,
            (self._groups[run], run.throttling()),
        )  # fmt: skip
