"""Stalls: what total time shows and the median over rounds leaves out, because it sits in a few rounds of one side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tare.stats import digits
from tare.stats.intervals import estimate
from tare.stats.metrics import Metric
from tare.stats.multiple import step_down
from tare.stats.pairs import Pair, log_time_ratio, log_total_ratio
from tare.stats.precision import stretched

# Share of whole tables in which a stall is told although there is none.
FALSE_ALARMS = 0.01
# Medians and totals that differ by less tell the same, however regularly they do.
_LEAST_POINTS = 0.1
_FEWEST_BLOCKS = 3
_LEVEL = 0.95


@dataclass(frozen=True)
class Stall:
    """One comparison's overhead by total time beside that by medians.

    Attributes:
        p: how probable as large a difference of the two is where there is none (two-sided).
        points: the difference, points of overhead.
        words: what to say of it.
    """

    p: float
    points: float
    words: str


def look(pairs: Sequence[Pair], metric: Metric, *, until_precise: bool = False) -> Stall | None:
    """The difference in one comparison; None where too few blocks tell of it.

    Args:
        until_precise: as in `tare.stats.overhead.compare`.
    """
    both = [
        (ratio, total)
        for pair in pairs
        if (ratio := log_time_ratio(pair)) is not None and (total := log_total_ratio(pair)) is not None
    ]
    apart = [total - ratio for ratio, total in both]
    if len(both) < _FEWEST_BLOCKS or estimate(apart, metric).sd is None:
        return None
    totals = [total for _, total in both]
    by_total = estimate(stretched(totals) if until_precise else totals, metric, _LEVEL)
    by_median = estimate([ratio for ratio, _ in both], metric)
    low, high = by_total.interval_pct() or (math.nan, math.nan)
    places = digits.decimals(by_total.pct, low, high)
    return Stall(
        p=estimate(apart, metric).p_difference(),
        points=by_total.pct - by_median.pct,
        words=(
            f"by total time the overhead is {digits.fixed(by_total.pct, places)} % (by itself: {100 * _LEVEL:g} % "
            f"t interval {digits.interval(low, high, places)}): some rounds were much slower on one side, which the "
            "median over rounds leaves out"
        ),
    )


def notes(looks: Sequence[Stall | None]) -> list[str]:
    """What is to be said of each comparison of a table, in their order; empty where nothing is.

    Looked for in all of them together (Holm), so that a table of many rows raises no more false alarms than one of few.
    """
    said = [""] * len(looks)
    seen = [(place, one) for place, one in enumerate(looks) if one is not None]
    rates = step_down([one.p for _, one in seen], FALSE_ALARMS)
    for (place, one), rate in zip(seen, rates, strict=True):
        if one.p < rate and abs(one.points) >= _LEAST_POINTS:
            said[place] = one.words
    return said
