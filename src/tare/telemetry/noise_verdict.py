"""Was a run quiet? One table of limits, each with the reason for it; docs/measurement.md has the same table.

A noisy run counts like any other: the verdict says what to think of it, and nothing is left out for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

QUIET, NOISY = "quiet", "noisy: "
SEPARATOR = "; "


@dataclass(frozen=True)
class Limit:
    """A figure above this makes a run noisy.

    Attributes:
        figure: its key in a record's `noise`.
        most: the highest value of a quiet run.
        words: what is said of a noisy one; `{value}` is its one number, so that runs can be counted by their reasons.
        why: the reason for the limit.
    """

    figure: str
    most: float
    words: str
    why: str


# Involuntary context switches and the time that threads waited for a CPU are recorded and not judged: where a framework
# has more threads than there are CPUs, as TensorFlow always has, they take each other off, 2,000 times a second on a
# machine that does nothing else, and torch's wait for up to a quarter of their time there. What others do to a run is
# in their CPU time.
LIMITS = (
    Limit(
        "other_cpu_pct",
        5.0,
        "other processes used {value} % of the CPUs",
        "services, the kernel and the engines' daemons used up to 0.7 % on an idle virtual machine with 2 CPUs",
    ),
    Limit(
        "steal_pct",
        3.0,
        "the hypervisor took {value} % of the CPUs (steal)",
        "up to 1.4 % in the quick study on an ordinary virtual machine",
    ),
    Limit(
        "throttled_pct",
        1.0,
        "a CPU quota stopped it in {value} % of the periods",
        "a stop lasts up to a whole period (100 ms), which is many steps",
    ),
    Limit(
        "controller_throttled_pct",
        1.0,
        "a CPU quota on Tare itself stopped it in {value} % of the periods",
        "the same, for the control group that bare runs in",
    ),
    Limit(
        "host_swapped_bytes",
        1 << 20,
        "{value} MiB were swapped",
        "a few pages are moved at leisure; a MiB tells that memory is short",
    ),
    Limit(
        "major_faults",
        10,
        "{value} of its pages had to be read from a disk",
        "after warm-up everything is in memory; a disk read takes milliseconds",
    ),
    Limit(
        "heat_events",
        0,
        "CPUs were slowed down for heat {value} times",
        "each time changes the speed for all that follows",
    ),
    Limit(
        "waiting_cpu_pct",
        2.0,
        "it was not idle while it waited for its turn: {value} % of the CPUs",
        "nothing where threads stop spinning within a settling step; one spinning thread on 2 CPUs is 40 %",
    ),
    Limit(
        "others_waiting_cpu_pct",
        2.0,
        "another worker of the block was not idle while it waited for its turn: {value} % of the CPUs",
        "the same, seen from the runs that it disturbed",
    ),
    Limit(
        "idle_cpu_pct",
        2.0,
        "it was not idle between its warm-up and its first turn: {value} % of the CPUs",
        "nothing where threads have fallen asleep; one spinning thread on 2 CPUs is 50 %",
    ),
    Limit(
        "gpu_foreign_processes",
        0,
        "other processes were on the GPUs ({value})",
        "whatever they do takes memory bandwidth and clock",
    ),
    Limit(
        "gpu_throttled_ms",
        0,
        "the GPUs' clocks were lowered for power or heat for {value} ms",
        "NVML counts the time itself",
    ),
    Limit(
        "gpu_slowdowns",
        0,
        "GPUs were being slowed down for power or heat ({value})",
        "seen at either end, for GPUs that do not count the time",
    ),
)

# figure -> the highest value of a quiet run
MOST = {limit.figure: limit.most for limit in LIMITS}


def reasons(figures: Mapping[str, Any]) -> list[str]:
    """What made a run noisy, in words; a figure that isn't known is no reason."""
    return [
        limit.words.format(value=_number(limit.figure, figures[limit.figure]))
        for limit in LIMITS
        if figures.get(limit.figure) is not None and figures[limit.figure] > limit.most
    ]


def verdict(figures: Mapping[str, Any]) -> str:
    """`quiet`, or `noisy: ` and the reasons; empty where it is not known whether others used the CPUs.

    That is where the measuring was too short for the kernel's ticks, and where a worker that failed may have used all
    that is not accounted for.

    Args:
        figures: those of `tare.telemetry.noise` and `tare.telemetry.gpu_state`.
    """
    found = reasons(figures)
    if found:
        return NOISY + SEPARATOR.join(found)
    others_pct = figures.get("other_cpu_at_most_pct", figures.get("other_cpu_pct"))
    return QUIET if others_pct is not None and others_pct <= MOST["other_cpu_pct"] else ""


def _number(figure: str, value: float) -> str:
    if figure.endswith("_bytes"):
        value /= 1 << 20
    return f"{value:.0f}" if value >= 10 or float(value).is_integer() else f"{value:.1f}"
