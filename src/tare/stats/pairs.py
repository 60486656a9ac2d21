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
    """False for two runs that come from different measurings of the block, as when a record was copied or restored.

    Their rounds have the same numbers but were not next to each other, so they make no pair. Nor do runs that do not
    tell which measuring they are of, and a run with itself.
    """
    one, other = pair.baseline, pair.platform
    return (
        one.block_id == other.block_id != ""
        and one.block == other.block
        and one.schedule == other.schedule
        and one.slot != other.slot
    )


def log_time_ratio(pair: Pair) -> float | None:
    """Log of (platform's time per step / baseline's).

    In lockstep the median over the rounds that both runs have: turns of one round share the machine's state
    of that moment, and the median is not moved by bursts of noise. In sequential the ratio of the two means.

    Returns:
        None where the two share no round or were not measured together.
    """
    if not measured_together(pair):
        return None
    if not pair.lockstep:
        return log_total_ratio(pair)
    baseline, platform = step_s_by_round(pair.baseline), step_s_by_round(pair.platform)
    shared = baseline.keys() & platform.keys()
    if not shared:
        return None
    return median(math.log(platform[number] / baseline[number]) for number in shared)


def log_total_ratio(pair: Pair) -> float | None:
    """Log of (platform's / baseline's) total time per step: moved by stalls of a few rounds, as the median is not."""
    baseline_s, platform_s = pair.baseline.second_per_batch, pair.platform.second_per_batch
    return math.log(platform_s / baseline_s) if baseline_s and platform_s else None


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
