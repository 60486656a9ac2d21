"""Counters and settings of the host, read from /proc and /sys; what is not there is left out, never guessed.

Each function takes the folder that stands for /proc or /sys, so that tests can give it a tree of their own.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

PROC, SYS = Path("/proc"), Path("/sys")


@dataclass(frozen=True)
class CpuTimes:
    """CPU seconds since boot of some CPUs, summed.

    Attributes:
        busy_s: spent on any process or on interrupts, guests of a hypervisor that runs here included.
        steal_s: in which this virtual machine was ready to run and its hypervisor ran something else.
        iowait_s: idle, while a process of that CPU waited for a disk.
    """

    busy_s: float
    steal_s: float
    iowait_s: float


def _text(path: Path) -> str:
    """The file's text; empty where it can't be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def cpu_times(cpus: Collection[int], proc: Path = PROC) -> CpuTimes | None:
    """What these CPUs did since boot; None where the kernel does not tell of each."""
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    names = {f"cpu{cpu}" for cpu in cpus}
    busy = steal = iowait = 0
    seen = 0
    for line in _text(proc / "stat").splitlines():
        name, *rest = line.split()
        if name in names and len(rest) >= 8:
            # guest time is in user and nice already
            user, nice, system, _idle, waiting, interrupts, soft_interrupts, stolen = map(int, rest[:8])
            busy += user + nice + system + interrupts + soft_interrupts
            steal, iowait, seen = steal + stolen, iowait + waiting, seen + 1
    return CpuTimes(busy * tick_s, steal * tick_s, iowait * tick_s) if seen == len(names) > 0 else None


def load_1min(proc: Path = PROC) -> float | None:
    """Mean number of processes that ran or wanted to, over about the last minute."""
    words = _text(proc / "loadavg").split()
    return float(words[0]) if words else None


def paging(proc: Path = PROC) -> dict[str, int]:
    """Since boot: `swapped_bytes` in and out, and `major_faults` (pages that had to be read from a disk)."""
    values = dict(line.split()[:2] for line in _text(proc / "vmstat").splitlines() if len(line.split()) > 1)
    found = {}
    if "pswpin" in values and "pswpout" in values:
        pages = int(values["pswpin"]) + int(values["pswpout"])
        found["swapped_bytes"] = pages * os.sysconf("SC_PAGE_SIZE")
    if "pgmajfault" in values:
        found["major_faults"] = int(values["pgmajfault"])
    return found


def oom_kills(proc: Path = PROC) -> int | None:
    """How many processes the kernel has killed for want of memory since boot, of this host or of a control group.

    None where it does not count them (before Linux 4.13).
    """
    values = dict(line.split()[:2] for line in _text(proc / "vmstat").splitlines() if len(line.split()) > 1)
    return int(values["oom_kill"]) if "oom_kill" in values else None


def process_cpu_s(pid: int, proc: Path = PROC) -> float | None:
    """CPU time that a process has used since its start; None where it is gone or another user's secret."""
    # the second field is the program's name in brackets, which may hold anything
    words = _text(proc / str(pid) / "stat").rpartition(")")[2].split()
    try:
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    except (IndexError, ValueError):
        return None


def frequencies_mhz(cpus: Collection[int], proc: Path = PROC, sys: Path = SYS) -> list[float]:
    """The current frequency of each of these CPUs, in their order; empty where it isn't told."""
    texts = [
        _text(sys / "devices/system/cpu" / f"cpu{cpu}" / "cpufreq/scaling_cur_freq").strip()
        for cpu in sorted(cpus)
    ]
    if texts and all(text.isdigit() for text in texts):
        return [int(text) / 1000 for text in texts]
    found, cpu = {}, -1
    for line in _text(proc / "cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "processor":
            cpu = int(value)
        elif key.strip() == "cpu MHz":
            found[cpu] = float(value)
    return [found[cpu] for cpu in sorted(cpus)] if cpus and set(cpus) <= set(found) else []


def governors(cpus: Collection[int], sys: Path = SYS) -> list[str]:
    """The frequency governors of these CPUs, each once; empty where the kernel does not set the frequency."""
    texts = {
        _text(sys / "devices/system/cpu" / f"cpu{cpu}" / "cpufreq/scaling_governor").strip() for cpu in cpus
    }
    return sorted(texts - {""})


def heat_events(cpus: Collection[int], sys: Path = SYS) -> int | None:
    """How often these CPUs were slowed down for heat since boot; None where they don't tell."""
    texts = [
        _text(sys / "devices/system/cpu" / f"cpu{cpu}" / "thermal_throttle" / name).strip()
        for cpu in cpus
        for name in ("core_throttle_count", "package_throttle_count")
    ]
    counts = [int(text) for text in texts if text.isdigit()]
    return sum(counts) if counts else None
