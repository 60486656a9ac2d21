"""What a process has used of the machine, and what was kept from it: counters to be read twice and subtracted."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import Any

from tare.worker import cgroups


def cpu_wait_s(proc: Path = Path("/proc/self")) -> float | None:
    """Seconds that the threads were ready to run and had no CPU, summed; None where the kernel keeps no such account.

    Args:
        proc: the process's folder in /proc.
    """
    waited_ns, seen = 0, False
    try:
        tasks = os.listdir(proc / "task")
    except OSError:
        return None
    for task in tasks:
        try:
            waited_ns += int((proc / "task" / task / "schedstat").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            continue  # the thread ended meanwhile, or there is no account
        seen = True
    return waited_ns / 1e9 if seen else None


def reading() -> dict[str, Any]:
    """Counters of this process since its start, as plain JSON values."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "t": time.monotonic(),
        "cpu_s": time.process_time(),
        "cpu_wait_s": cpu_wait_s(),
        "involuntary_switches": used.ru_nivcsw,
        "voluntary_switches": used.ru_nvcsw,
        "major_faults": used.ru_majflt,
        "throttling": cgroups.throttling(),
    }
