"""What on this machine would disturb a measurement, found out beforehand, each with what helps. For `tare doctor`."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tare.telemetry import gpu_state, host, noise, noise_verdict, procfs
from tare.worker import cgroups

SAMPLE_S = 1.0
# A process that uses less than this of one CPU is not named.
_NAMED_PCT = 3.0
_MOST_NAMED = 3


@dataclass(frozen=True)
class Finding:
    """Something that disturbs, in a sentence, and what helps."""

    what: str
    remedy: str


@dataclass(frozen=True)
class Busy:
    """A process and how much of one CPU it used, in percent."""

    name: str
    pid: int
    pct: float


def _processes() -> dict[tuple[int, float], tuple[str, float]]:
    """CPU seconds of every process but this one: (id, time of its start) -> (name, seconds)."""
    found = {}
    for process in psutil.process_iter(["pid", "name", "create_time", "cpu_times"]):
        info = process.info
        if info["pid"] != os.getpid() and info["cpu_times"] is not None:
            used = info["cpu_times"].user + info["cpu_times"].system
            found[info["pid"], info["create_time"]] = (info["name"] or "?", used)
    return found


def busiest(sample_s: float) -> list[Busy]:
    """The processes that use most of a CPU over a short while, busiest first; it sleeps that long."""
    before, begun = _processes(), time.monotonic()
    time.sleep(sample_s)
    after, elapsed_s = _processes(), time.monotonic() - begun
    used = [
        Busy(name, key[0], 100 * (seconds - before[key][1]) / elapsed_s)
        for key, (name, seconds) in after.items()
        if key in before
    ]
    return sorted((one for one in used if one.pct >= _NAMED_PCT), key=lambda one: -one.pct)


def look(
    sample_s: float = SAMPLE_S, *, proc: Path = procfs.PROC, sys: Path = procfs.SYS, gpus: bool = True
) -> list[Finding]:
    """Watch the machine for a moment and tell what disturbs; empty where it is quiet.

    Args:
        sample_s: how long to watch.
        proc: what stands for /proc.
        sys: what stands for /sys.
        gpus: whether to ask NVML as well.
    """
    cpus = os.sched_getaffinity(0)
    groups = sys / "fs/cgroup"
    before = noise.read_host(cpus, proc, sys, groups)
    busy = busiest(sample_s)
    after = noise.read_host(cpus, proc, sys, groups)
    figures = noise.host_figures(before, after, [])
    return [
        *_others(figures.get("other_cpu_pct"), figures.get("load_1min_before"), busy, len(cpus)),
        *_steal(figures.get("steal_pct")),
        *_now(figures),
        *_limits(cpus),
        *_own_rank(),
        *_frequency(cpus, sys),
        *_memory(sys),
        *([Finding(_VIRTUAL, _OF_VIRTUAL)] if host.describe()["virtual_machine"] else []),
        *(_gpus() if gpus else []),
    ]


_VIRTUAL = "This is a virtual machine: what its neighbours do is not seen from inside, save for steal time"
_OF_VIRTUAL = (
    "Nothing is needed for comparisons within a block. For narrower intervals take a machine of your own, "
    "or more repetitions."
)


_GOES_ON = (
    (
        "controller_throttled_pct",
        "A CPU quota stopped Tare in {value:.0f} % of the periods just now",
        "Lift the quota of the control group that this shell is in.",
    ),
    (
        "host_swapped_bytes",
        "Memory is short: pages are being swapped at this moment",
        "End what needs the memory.",
    ),
    (
        "heat_events",
        "CPUs are being slowed down for heat ({value} times just now)",
        "See to the cooling, and let the machine cool down first.",
    ),
)


def _others(pct: float | None, load_1min: float | None, busy: list[Busy], cpus: int) -> list[Finding]:
    if pct is not None and pct > noise_verdict.MOST["other_cpu_pct"]:
        named = ", ".join(
            f"{one.name} (process {one.pid}, {one.pct:.0f} % of a CPU)" for one in busy[:_MOST_NAMED]
        )
        what = f"Other processes use {pct:.0f} % of the CPUs" + (f": {named}" if named else "")
        return [Finding(what, "End or pause them while a study is measured, or measure when they are done.")]
    if load_1min is not None and load_1min > cpus:
        what = f"The load average is {load_1min:.1f} on {cpus} CPUs, though little runs at this moment"
        return [Finding(what, "Wait for a minute and look again: something was busy just now.")]
    return []


def _steal(pct: float | None) -> list[Finding]:
    if pct is None or pct <= noise_verdict.MOST["steal_pct"]:
        return []
    return [
        Finding(
            f"The hypervisor takes {pct:.0f} % of the CPUs away (steal)",
            "Measure at another time, or on a machine whose CPUs are not shared.",
        )
    ]


def _limits(cpus: Collection[int]) -> list[Finding]:
    found = []
    quota = cgroups.cpu_quota()
    if quota is not None and quota < len(cpus):
        found.append(
            Finding(
                f"A CPU quota lets Tare use {quota:g} of {len(cpus)} CPUs: training is stopped again and again",
                "Lift the quota of the control group that this shell is in, or bind Tare to fewer CPUs instead "
                "(`taskset`), from a shell outside of that group: an engine's daemon has no part in the quota.",
            )
        )
    present = os.cpu_count() or len(cpus)
    if len(cpus) < present:
        found.append(
            Finding(
                f"Tare may use {len(cpus)} of {present} CPUs, and gives every environment these",
                "Nothing where that is meant (a batch job, `taskset`); else start it from a shell without the limit.",
            )
        )
    limit_bytes = cgroups.memory_limit_bytes()
    if limit_bytes is not None:
        found.append(
            Finding(
                f"A control group lets Tare use {limit_bytes / 2**20:,.0f} MiB of memory; containers of an engine's "
                "daemon are outside of it, and not comparable with bare",
                "Start Tare from a shell outside of that group, or lift the limit.",
            )
        )
    return found


def _now(figures: Mapping[str, Any]) -> list[Finding]:
    """What goes on at this moment by the limits that runs are judged by."""
    found = []
    for figure, what, remedy in _GOES_ON:
        value = figures.get(figure)
        if value is not None and value > noise_verdict.MOST[figure]:
            found.append(Finding(what.format(value=value), remedy))
    return found


def _own_rank() -> list[Finding]:
    """What Tare has of its shell, and an engine's daemon does not hand on to its containers."""
    found = []
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    if nice:
        found.append(
            Finding(
                f"Tare runs with niceness {nice}; containers of an engine's daemon don't, and are not comparable with "
                "bare",
                "Start it without `nice`, from a shell that has none.",
            )
        )
    policy = os.sched_getscheduler(0)
    if policy != os.SCHED_OTHER:
        found.append(
            Finding(
                f"Tare runs under another scheduling policy than the usual one (number {policy}); containers of an "
                "engine's daemon don't, and are not comparable with bare",
                "Start it without `chrt`.",
            )
        )
    return found


def _frequency(cpus: Collection[int], sys: Path) -> list[Finding]:
    found = []
    others = [name for name in procfs.governors(cpus, sys) if name != "performance"]
    if others:
        found.append(
            Finding(
                f"The CPUs' frequency follows the load (governor {', '.join(others)})",
                "As root: `cpupower frequency-set --governor performance`.",
            )
        )
    for name, boosting in (("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1")):
        try:
            value = (sys / "devices/system/cpu" / name).read_text().strip()
        except OSError:
            continue
        if value == boosting:
            other = "1" if boosting == "0" else "0"
            found.append(
                Finding(
                    "Turbo is on: the frequency depends on temperature and on how many CPUs are busy",
                    f"As root, for steadier though slower runs: `echo {other} > {sys / 'devices/system/cpu' / name}`.",
                )
            )
            break
    return found


def _memory(sys: Path) -> list[Finding]:
    found = []
    used_bytes = psutil.swap_memory().used
    # what was once moved out and never asked for again disturbs nobody
    if used_bytes > 0.01 * psutil.virtual_memory().total:
        found.append(
            Finding(
                f"{used_bytes / 2**20:.0f} MiB of swap are in use",
                "End what needs the memory; as root `swapoff -a && swapon -a` brings back what fits.",
            )
        )
    try:
        pages = (sys / "kernel/mm/transparent_hugepage/enabled").read_text()
    except OSError:
        pages = ""
    if "[never]" in pages:
        found.append(
            Finding(
                "Transparent huge pages are off: equal processes differ more, by where their memory lies",
                "As root: `echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`.",
            )
        )
    return found


def _gpus() -> list[Finding]:
    found = []
    for number, gpu in enumerate(gpu_state.read()):
        if gpu.processes:
            found.append(
                Finding(
                    f"GPU {number} ({gpu.name}) is in use by {len(gpu.processes)} processes",
                    "End them while a study is measured; `nvidia-smi` names them.",
                )
            )
        if gpu.slowed_by:
            found.append(
                Finding(
                    f"GPU {number} ({gpu.name}) is slowed down by: {', '.join(gpu.slowed_by)}",
                    "Look after its cooling and its power limit (`nvidia-smi -q -d PERFORMANCE,POWER`).",
                )
            )
    return found
