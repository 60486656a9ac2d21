"""Two runs of one block, and the one number that they give."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from tare.records.schema import Record


@dataclass(frozen=True)
class Pair:
    """A platform's run and its baseline's run in the same block; both ended well."""

    baseline: Record
    platform: Record

    @property
    def lockstep(self) -> bool:
        """Whether both runs were alive at once and took turns."""
        return self.baseline.schedule == self.platform.schedule == "lockstep"


def step_s_by_round(run: Record) -> dict[int, float]:
    """Seconds a step in each round of a run."""
    timed_s: dict[int, float] = defaultdict(float)
    steps: dict[int, int] = defaultdict(int)
    for turn in run.turns:
        timed_s[turn.round] += turn.timed_s
        steps[turn.round] += turn.steps
    return {number: timed_s[number] / steps[number] for number in timed_s}


def measured_together(pair: Pair) -> bool:
    """False for two lockstep runs whose turns lie apart in time, as when only one of them was measured again.

    Their rounds have the same numbers but were not next to each other, so they make no pair. A single turn
    has no extent to judge by.
    """
    if not pair.lockstep or min(len(pair.baseline.turns), len(pair.platform.turns)) < 2:
        return True
    starts = [[turn.started_t for turn in run.turns] for run in (pair.baseline, pair.platform)]
    return min(starts[0]) <= max(starts[1]) and min(starts[1]) <= max(starts[0])


def log_time_ratio(pair: Pair) -> float | None:
    """Log of (platform's time per step / baseline's).

    In lockstep the median over the rounds that both runs have: turns of one round share the machine's state
    of that moment, and the median is not moved by bursts of noise. In sequential the ratio of the two means.

    Returns:
        None where the two share no round or were not measured together.
    """
    if not pair.lockstep:
        baseline_s, platform_s = pair.baseline.second_per_batch, pair.platform.second_per_batch
        return math.log(platform_s / baseline_s) if baseline_s and platform_s else None
    baseline, platform = step_s_by_round(pair.baseline), step_s_by_round(pair.platform)
    shared = baseline.keys() & platform.keys()
    if not shared or not measured_together(pair):
        return None
    return median(math.log(platform[number] / baseline[number]) for number in shared)


def pair_up(baseline: Mapping[int, Record], platform: Mapping[int, Record]) -> tuple[list[Pair], list[Pair]]:
    """Pair the runs, given by repetition, that ended well.

    Returns:
        The pairs in the order of the repetitions; and, apart, those that `log_time_ratio` has no number for.
    """
    usable: list[Pair] = []
    apart: list[Pair] = []
    for repetition in sorted(baseline.keys() & platform.keys()):
        pair = Pair(baseline[repetition], platform[repetition])
        if pair.baseline.status == pair.platform.status == "ok":
            (apart if log_time_ratio(pair) is None else usable).append(pair)
    return usable, apart
