"""The machine that a run was made on, and its load. Linux, read from /proc and /sys; what is not there is left out."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import psutil


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _cpu_model() -> str:
    for line in (_text("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return platform.machine()


def _operating_system() -> str:
    for line in (_text("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return platform.system()


def describe() -> dict[str, Any]:
    """Processor, memory, system and the kernel settings that bear on speed. Nothing here names the user."""
    flags = next(
        (x for x in (_text("/proc/cpuinfo") or "").splitlines() if x.startswith(("flags", "Features"))), ""
    )
    return {
        "cpu": _cpu_model(),
        "logical_cpus": os.cpu_count(),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "physical_cores": psutil.cpu_count(logical=False),
        "memory_bytes": psutil.virtual_memory().total,
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "operating_system": _operating_system(),
        "virtual_machine": "hypervisor" in flags.split(),
        "frequency_governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "transparent_hugepages": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "swap_bytes": psutil.swap_memory().total,
    }


def load() -> dict[str, float]:
    """Load average and the CPU seconds since boot by kind, over all CPUs; take two readings and subtract."""
    times = psutil.cpu_times()
    return {
        "load_1min": os.getloadavg()[0],
        "busy_s": times.user + times.system + getattr(times, "nice", 0.0),
        "steal_s": getattr(times, "steal", 0.0),
        "iowait_s": getattr(times, "iowait", 0.0),
    }
