"""What disturbed a run: counters of the host and of the workers, read before the first turn and after the last.

Differences of counters cost the turns nothing, so no thread samples anything while something is timed.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from tare.records.schema import Turn
from tare.telemetry import procfs
from tare.worker import cgroups
from tare.worker.cgroups import Throttling

_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class HostReading:
    """The host at one moment; counters since boot, except for the controller's own CPU time (since its start)."""

    t: float
    cpus: tuple[int, ...]
    cpu: procfs.CpuTimes | None
    load_1min: float | None
    paging: dict[str, int]
    heat_events: int | None
    frequencies_mhz: list[float]
    governors: list[str]
    throttling: Throttling
    own_cpu_s: float


def read_host(
    cpus: Collection[int], proc: Path = procfs.PROC, sys: Path = procfs.SYS, groups: Path = _CGROUPS
) -> HostReading:
    """The host as it is now.

    Args:
        cpus: the CPUs that the workers may use; what happens on others is not looked at.
        proc: what stands for /proc; the controller's own folder in it is `self`.
        sys: what stands for /sys.
        groups: where the control groups are mounted.
    """
    own = resource.getrusage(resource.RUSAGE_SELF)
    return HostReading(
        t=time.monotonic(),
        cpus=tuple(sorted(cpus)),
        cpu=procfs.cpu_times(cpus, proc),
        load_1min=procfs.load_1min(proc),
        paging=procfs.paging(proc),
        heat_events=procfs.heat_events(cpus, sys),
        frequencies_mhz=procfs.frequencies_mhz(cpus, proc, sys),
        governors=procfs.governors(cpus, sys),
        throttling=cgroups.throttling(proc / "self", groups),
        own_cpu_s=own.ru_utime + own.ru_stime,
    )


class Counters(Protocol):
    """What a worker tells of itself: `tare.worker.usage.reading()`."""

    @property
    def t(self) -> float:
        """Monotonic clock."""

    @property
    def cpu_s(self) -> float:
        """CPU time since its start."""

    @property
    def cpu_wait_s(self) -> float | None:
        """Time that its threads were ready to run and had no CPU, summed over threads."""

    @property
    def involuntary_switches(self) -> int:
        """How often it was taken off a CPU for something else."""

    @property
    def major_faults(self) -> int:
        """Pages that had to be read from a disk."""

    @property
    def throttling(self) -> Throttling:
        """Of the control groups around it."""


@dataclass(frozen=True)
class WorkerWindow:
    """One worker between two readings.

    Attributes:
        after: None where the worker failed in between.
        turns: its turns in between.
        threads: how many threads its framework has.
        last_cpu_s: CPU time that it had used when it was given up, where it failed and that could be read.
        unaccounted_s: CPU seconds that it may have used besides, at most, where it failed.
        groups: the control groups around it as the host sees them, before and after.
    """

    before: Counters
    after: Counters | None
    turns: Sequence[Turn] = field(default_factory=tuple)
    threads: int = 1
    last_cpu_s: float | None = None
    unaccounted_s: float = 0.0
    groups: tuple[Throttling, Throttling] = field(default_factory=lambda: ({}, {}))

    @property
    def cpu_s(self) -> float:
        """CPU time that it is known to have used."""
        if self.after is not None:
            return self.after.cpu_s - self.before.cpu_s
        if self.last_cpu_s is not None:
            return self.last_cpu_s - self.before.cpu_s
        ends = [turn.cpu_s[1] for turn in self.turns if turn.cpu_s is not None]
        return ends[-1] - self.before.cpu_s if ends else 0.0


def _rounded(value: float, places: int = 2) -> float:
    return round(value, places)


def throttled_pct(before: Throttling, after: Throttling) -> float | None:
    """Percent of the periods in which the group that was throttled most was; None where no group has a quota."""
    shares = [
        100 * (throttled - before[group][1]) / (periods - before[group][0])
        for group, (periods, throttled, _) in after.items()
        if group in before and periods > before[group][0]
    ]
    return _rounded(max(shares)) if shares else None


# The kernel counts CPU time in ticks of 10 ms: in less than this a few of them would be a share to speak of.
_LEAST_WINDOW_S = 0.5


def host_figures(
    before: HostReading, after: HostReading, workers: Collection[WorkerWindow]
) -> dict[str, Any]:
    """What the host did between two readings, for the record; what isn't known is left out.

    Other processes' CPU time is that of the CPUs less that of the workers and the controller. An engine's daemons are
    others: their work can't be told from what they do for somebody else. What a worker that failed may have used unseen
    makes `other_cpu_pct` the least that others used, and there is `other_cpu_at_most_pct`.
    """
    window_s = after.t - before.t
    available_s = window_s * len(before.cpus)
    found: dict[str, Any] = {"window_s": _rounded(window_s, 3), "load_1min_before": before.load_1min}
    if before.cpu is not None and after.cpu is not None and window_s >= _LEAST_WINDOW_S:
        ours_s = after.own_cpu_s - before.own_cpu_s + sum(w.cpu_s for w in workers)
        others_s = after.cpu.busy_s - before.cpu.busy_s - ours_s
        unaccounted_s = sum(w.unaccounted_s for w in workers)
        if unaccounted_s:
            found["other_cpu_at_most_pct"] = _rounded(100 * max(0.0, others_s) / available_s)
        found |= {
            "other_cpu_pct": _rounded(100 * max(0.0, others_s - unaccounted_s) / available_s),
            "steal_pct": _rounded(100 * (after.cpu.steal_s - before.cpu.steal_s) / available_s),
            "iowait_pct": _rounded(100 * (after.cpu.iowait_s - before.cpu.iowait_s) / available_s),
        }
    for key, value in after.paging.items():
        if key in before.paging:
            found[f"host_{key}"] = value - before.paging[key]
    if before.heat_events is not None and after.heat_events is not None:
        found["heat_events"] = after.heat_events - before.heat_events
    if before.frequencies_mhz and after.frequencies_mhz:
        found["frequency_mhz_before"] = [round(value) for value in before.frequencies_mhz]
        found["frequency_mhz_after"] = [round(value) for value in after.frequencies_mhz]
    if before.governors:
        found["governors"] = before.governors
    throttled = throttled_pct(before.throttling, after.throttling)
    return found if throttled is None else found | {"controller_throttled_pct": throttled}


def waiting(turns: Sequence[Turn], cpus: int, threads: int) -> dict[str, float]:
    """Whether a worker was idle between its turns: `waited_s`, `waiting_cpu_s`, `waiting_cpu_pct`.

    The percentage is of the CPUs, and of what was used beyond one settling step in each wait: threads may spin for a
    moment after a turn, and the next worker's settling step, which isn't timed, is there for that. All but the one that
    waits for the controller's word may.

    Args:
        turns: its turns, in order.
        cpus: how many CPUs it may use.
        threads: how many threads its framework has.
    """
    spinning = max(min(threads, cpus) - 1, 1)
    waited_s = used_s = beyond_s = 0.0
    for one, following in pairwise(turns):
        if one.cpu_s is None or following.cpu_s is None:
            return {}
        waited_s += following.started_t - sum(following.settle_s) - one.started_t - one.timed_s
        used = following.cpu_s[0] - one.cpu_s[1]
        used_s, beyond_s = used_s + used, beyond_s + max(0.0, used - spinning * sum(following.settle_s))
    if waited_s <= 0:
        return {}
    return {
        "waited_s": _rounded(waited_s, 3),
        "waiting_cpu_s": _rounded(used_s, 4),
        "waiting_cpu_pct": _rounded(100 * beyond_s / (waited_s * cpus)),
    }


def worker_figures(window: WorkerWindow, cpus: int) -> dict[str, Any]:
    """What one worker met between the two readings; without those for which it lived too short.

    Args:
        cpus: how many CPUs it may use.
    """
    found: dict[str, Any] = dict(waiting(window.turns, cpus, window.threads))
    before, after = window.before, window.after
    if after is None:
        return found
    switches = after.involuntary_switches - before.involuntary_switches
    found |= {
        "cpu_s": _rounded(window.cpu_s, 3),
        "involuntary_switches": switches,
        "major_faults": after.major_faults - before.major_faults,
    }
    if window.cpu_s > 0:
        found["involuntary_switches_per_cpu_s"] = _rounded(switches / window.cpu_s, 1)
    if before.cpu_wait_s is not None and after.cpu_wait_s is not None:
        waited_s = max(0.0, after.cpu_wait_s - before.cpu_wait_s)
        found["cpu_wait_s"] = _rounded(waited_s, 3)
        if window.cpu_s > 0:
            found["cpu_wait_pct"] = _rounded(100 * waited_s / (waited_s + window.cpu_s))
    # from inside and from outside, which may give different groups the same name
    seen = (throttled_pct(before.throttling, after.throttling), throttled_pct(*window.groups))
    throttled = [pct for pct in seen if pct is not None]
    return found | ({"throttled_pct": max(throttled)} if throttled else {})
