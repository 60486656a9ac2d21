"""How quiet the GPUs are, through NVML: clocks, what lowers them, temperature, who else is there.

Written against NVML's documentation and tested with a stand-in for the library; it was never run on a GPU.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pynvml

from tare.platforms.base import RUN_VARIABLE
from tare.telemetry.procfs import PROC

# What is done to a GPU; the other reasons for a clock (idle, set by the user) are settings or no disturbance.
_SLOWED = {
    "power": pynvml.nvmlClocksEventReasonSwPowerCap,
    "hardware": pynvml.nvmlClocksEventReasonHwSlowdown,
    "heat (driver)": pynvml.nvmlClocksEventReasonSwThermalSlowdown,
    "heat (hardware)": pynvml.nvmlClocksEventReasonHwThermalSlowdown,
    "power brake": pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown,
}
_POLICIES = (pynvml.NVML_PERF_POLICY_POWER, pynvml.NVML_PERF_POLICY_THERMAL)


@dataclass(frozen=True)
class GpuReading:
    """One GPU at one moment; None and empty for what it does not tell.

    Attributes:
        slowed_by: what lowers its clocks now.
        slowed_ns: for how long its clocks were lowered for power or heat since the driver was loaded.
        processes: who computes on it, by their ids on the host.
    """

    name: str
    sm_clock_mhz: int | None
    memory_clock_mhz: int | None
    temperature_c: int | None
    slowed_by: tuple[str, ...]
    slowed_ns: int | None
    processes: tuple[int, ...]


def read() -> list[GpuReading]:
    """All GPUs as they are now; empty where there is no driver or no GPU."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        return [
            _read_one(pynvml.nvmlDeviceGetHandleByIndex(index))
            for index in range(pynvml.nvmlDeviceGetCount())
        ]
    except pynvml.NVMLError:
        return []  # one fell off its bus: what the others say belongs to a machine that is no more
    finally:
        pynvml.nvmlShutdown()


def _asked(function: str, *arguments: Any) -> Any:
    """The answer, or None from a GPU or driver that doesn't know of it."""
    try:
        return getattr(pynvml, function)(*arguments)
    except pynvml.NVMLError:
        return None


def _read_one(handle: Any) -> GpuReading:
    name = pynvml.nvmlDeviceGetName(handle)
    reasons = _asked("nvmlDeviceGetCurrentClocksEventReasons", handle)
    if reasons is None:  # drivers before 535 know it by its older name
        reasons = _asked("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
    violations = [_asked("nvmlDeviceGetViolationStatus", handle, policy) for policy in _POLICIES]
    told = [violation.violationTime for violation in violations if violation is not None]
    processes = _asked("nvmlDeviceGetComputeRunningProcesses", handle)
    return GpuReading(
        name=name.decode() if isinstance(name, bytes) else str(name),
        sm_clock_mhz=_asked("nvmlDeviceGetClockInfo", handle, pynvml.NVML_CLOCK_SM),
        memory_clock_mhz=_asked("nvmlDeviceGetClockInfo", handle, pynvml.NVML_CLOCK_MEM),
        temperature_c=_asked("nvmlDeviceGetTemperature", handle, pynvml.NVML_TEMPERATURE_GPU),
        slowed_by=tuple(word for word, bit in _SLOWED.items() if (reasons or 0) & bit),
        slowed_ns=sum(told) if told else None,
        processes=tuple(process.pid for process in processes or ()),
    )


def figures(
    before: Sequence[GpuReading],
    after: Sequence[GpuReading],
    campaign: str,
    known: Collection[int] = (),
    *,
    hidden: int = 0,
    proc: Path = PROC,
) -> dict[str, Any]:
    """What the GPUs did between two readings, for the record; empty where there is none.

    Where a process of ours is seen on some of the GPUs, the others are left out: what happens there is no matter.

    Args:
        campaign: what the token of each of our own workers begins with.
        known: processes of our own, which may be gone by now.
        hidden: how many of our own workers belong to another user, so that their token can't be read. So many of the
            processes that can't be told are taken for them.
        proc: what stands for /proc.
    """
    if not before or len(before) != len(after):
        return {}
    pairs = list(zip(before, after, strict=True))
    pids = {pid for pair in pairs for one in pair for pid in one.processes}
    ours = {pid: pid in known or _is_ours(pid, campaign, proc) for pid in pids}
    used = [pair for pair in pairs if any(ours[pid] for one in pair for pid in one.processes)]
    pairs = used if used and not hidden else pairs
    seen = {pid for pair in pairs for one in pair for pid in one.processes}
    unknown = sum(ours[pid] is None for pid in seen)
    found: dict[str, Any] = {
        "gpus": [
            {
                "name": old.name,
                "sm_clock_mhz": [old.sm_clock_mhz, new.sm_clock_mhz],
                "memory_clock_mhz": [old.memory_clock_mhz, new.memory_clock_mhz],
                "temperature_c": [old.temperature_c, new.temperature_c],
                "slowed_by": sorted({*old.slowed_by, *new.slowed_by}),
            }
            for old, new in pairs
        ],
        "gpu_foreign_processes": sum(ours[pid] is False for pid in seen) + max(0, unknown - hidden),
        "gpu_unknown_processes": unknown,
    }
    counted = [
        (new.slowed_ns - old.slowed_ns) / 1e6
        for old, new in pairs
        if old.slowed_ns is not None and new.slowed_ns is not None
    ]
    if counted:
        found["gpu_throttled_ms"] = round(sum(counted), 1)
    others = [reading for pair in pairs if None in (pair[0].slowed_ns, pair[1].slowed_ns) for reading in pair]
    if others:
        found["gpu_slowdowns"] = sum(bool(reading.slowed_by) for reading in others)
    return found


def _is_ours(pid: int, campaign: str, proc: Path) -> bool | None:
    """Whether a process carries a token of this campaign; None where that can't be seen."""
    try:
        variables = (proc / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    return any(variable.startswith(f"{RUN_VARIABLE}={campaign}-".encode()) for variable in variables)
