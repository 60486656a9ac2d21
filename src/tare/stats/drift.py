"""Whether the overhead of a comparison depends on when it was measured: drift, order, and blocks like their neighbours.

Pairing takes away what both runs of a block have in common. What hits one of the two alone stays in the estimate: a
platform that becomes slower from block to block, a turn that is longer when it is the first of a round, a state of the
machine that lasts for some blocks and hits one of the two. Here that is looked for and said; no estimate is changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from scipy.signal import detrend
from scipy.stats import linregress, pearsonr, ttest_1samp, ttest_ind

from tare.records.schema import Record
from tare.stats.intervals import spread
from tare.stats.metrics import Metric
from tare.stats.pairs import Pair, log_time_ratio, step_s_by_round

# Share of comparisons in which something is found although there is nothing, all that is looked for taken together.
FALSE_ALARMS = 0.01
# Fewer blocks tell nothing at that level: even a change as large as the whole spread would go unseen.
LEAST_BLOCKS = 6
# For each of the two orders of slots, and for each half of a block's rounds.
_LEAST_BLOCKS_AN_ORDER = 3
_LEAST_ROUNDS_A_HALF = 2
# What is less than the tables print is rounding, however regular it is.
_LEAST_POINTS = 0.01


@dataclass(frozen=True)
class Look:
    """Something that was looked for.

    Attributes:
        difference: what was found, as a difference of logarithms of time ratios.
        p: how probable as much or more is where there is nothing (two-sided).
        words: makes a phrase of the difference in points of overhead and its direction, `rose` or `fell`, `higher`
            or `lower`.
    """

    difference: float
    p: float
    words: Callable[[float], str]


def notes(pairs: Sequence[Pair], metric: Metric) -> list[str]:
    """What was found, a phrase each; each is looked for at a share of `FALSE_ALARMS`.

    Args:
        pairs: the blocks that the estimate is made of, all with a ratio.
        metric: what the overhead is expressed in.
    """
    ratios = [ratio for pair in pairs if (ratio := log_time_ratio(pair)) is not None]
    if len(ratios) < LEAST_BLOCKS or len(ratios) < len(pairs):
        return []
    # ISO 8601 in UTC sorts as text
    order = sorted(range(len(pairs)), key=lambda n: (pairs[n].baseline.started_at, n))
    in_time = [ratios[n] for n in order]
    looks = [
        look
        for look in (
            _over_campaign(in_time),
            _among_neighbours(in_time),
            _within_blocks(pairs),
            _by_slot(pairs, ratios),
            _by_position(pairs),
        )
        if look is not None
    ]
    mean, found = fmean(ratios), []
    for look in looks:
        half = look.difference / 2
        points = metric.overhead_pct(mean + half) - metric.overhead_pct(mean - half)
        if look.p < FALSE_ALARMS / len(looks) and abs(points) >= _LEAST_POINTS:
            found.append(f"{look.words(points)} ({_probability(look.p)})")
    return found


def _probability(p: float) -> str:
    return f"p = {p:.1g}" if p >= 1e-5 else "p < 0.00001"


def _rose(points: float) -> str:
    return f"the overhead {'rose' if points > 0 else 'fell'} by about {abs(points):.2g} points"


def _higher(points: float) -> str:
    return f"the overhead is about {abs(points):.2g} points {'higher' if points > 0 else 'lower'}"


def _over_campaign(ratios: Sequence[float]) -> Look:
    """A slope over the blocks in the order in which they were measured."""
    line = linregress(range(len(ratios)), ratios)
    return Look(
        float(line.slope),
        float(line.pvalue),
        lambda points: f"drift: {_rose(points)} a block over {len(ratios)} blocks",
    )


def _among_neighbours(ratios: Sequence[float]) -> Look | None:
    """Whether a block resembles the one before it, a slope over all of them apart: then they are not independent."""
    left = [float(value) for value in detrend(ratios)]
    if spread(left[1:]) is None or spread(left[:-1]) is None:
        return None
    found = pearsonr(left[1:], left[:-1], alternative="greater")
    return Look(
        stdev(left),  # what is alike: it is told where it is more than rounding
        float(found.pvalue),
        lambda points: (
            f"order: blocks resemble the ones before them (correlation {found.statistic:.2f}), so that the interval "
            "is too narrow"
        ),
    )


def _by_round(pair: Pair) -> dict[int, float]:
    """Log ratio of times per step in each round that both have; in sequential, of the n-th turns of both."""
    baseline, platform = step_s_by_round(pair.baseline), step_s_by_round(pair.platform)
    return {n: math.log(platform[n] / baseline[n]) for n in sorted(baseline.keys() & platform.keys())}


def _mean_difference(differences: Sequence[float], words: Callable[[float], str]) -> Look | None:
    """Whether differences, one a block, have a mean other than 0."""
    if len(differences) < LEAST_BLOCKS or spread(differences) is None:
        return None
    return Look(fmean(differences), float(ttest_1samp(differences, 0).pvalue), words)


def _within_blocks(pairs: Sequence[Pair]) -> Look | None:
    """The second half of a block's rounds against the first."""
    differences = []
    for ratios in ([*_by_round(pair).values()] for pair in pairs):
        half = len(ratios) // 2
        if half >= _LEAST_ROUNDS_A_HALF:
            differences.append(median(ratios[-half:]) - median(ratios[:half]))
    return _mean_difference(
        differences,
        lambda points: f"drift: {_rose(points)} from the first half of a block's rounds to the second",
    )


def _by_slot(pairs: Sequence[Pair], ratios: Sequence[float]) -> Look | None:
    """Blocks in which the platform was started before the baseline against the others."""
    before: list[float] = []
    after: list[float] = []
    for pair, ratio in zip(pairs, ratios, strict=True):
        (before if pair.platform.slot < pair.baseline.slot else after).append(ratio)
    if min(len(before), len(after)) < _LEAST_BLOCKS_AN_ORDER or (
        spread(before) is None and spread(after) is None
    ):
        return None
    one = pairs[0]
    return Look(
        fmean(before) - fmean(after),
        float(ttest_ind(before, after).pvalue),
        lambda points: (
            f"order: {_higher(points)} where {one.platform.environment} was started before "
            f"{one.baseline.environment}"
        ),
    )


def _positions(run: Record) -> dict[int, int]:
    return {turn.round: turn.position for turn in run.turns}


def _by_position(pairs: Sequence[Pair]) -> Look | None:
    """Rounds in which the platform's turn came before the baseline's against the others, in lockstep."""
    differences = []
    for pair in pairs:
        platform, baseline = _positions(pair.platform), _positions(pair.baseline)
        before: list[float] = []
        after: list[float] = []
        for number, ratio in _by_round(pair).items():
            (before if platform[number] < baseline[number] else after).append(ratio)
        if min(len(before), len(after)) >= _LEAST_ROUNDS_A_HALF:
            differences.append(median(before) - median(after))
    one = pairs[0]
    return _mean_difference(
        differences,
        lambda points: (
            f"order: {_higher(points)} in rounds in which the turn of {one.platform.environment} came before "
            f"that of {one.baseline.environment}"
        ),
    )
