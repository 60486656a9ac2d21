"""The t interval of a mean, and an overhead estimate made of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Protocol, Self

from scipy.stats import t as student

from tare.stats.metrics import Metric


def half_width(sd: float, n: int, level: float) -> float:
    """Half the width of the t interval of a mean.

    Args:
        sd: standard deviation of the values (n - 1 in the denominator).
        n: number of values, at least 2.
        level: confidence level, 0..1.
    """
    return float(student.ppf(0.5 + level / 2, n - 1)) * sd / math.sqrt(n)


class Interval(Protocol):
    """An overhead and its intervals: what a verdict is made from."""

    @property
    def pct(self) -> float:
        """The overhead, percent."""

    def interval_pct(self, level: float | None = None) -> tuple[float, float] | None:
        """The interval that is printed, or at another level, percent; None where there is none."""

    def equivalence_interval_pct(self) -> tuple[float, float] | None:
        """The interval of two one-sided tests, percent; None where there is none."""


@dataclass(frozen=True)
class Estimate:
    """Mean log ratio of step times (platform / baseline) over blocks, seen as an overhead in one metric.

    Attributes:
        mean: mean of the blocks' log ratios.
        sd: their standard deviation; None with fewer than 2 blocks, when there is no interval.
        blocks: their number.
        metric: what the overhead is expressed in.
        level: confidence level of the interval that is printed; a correction for many comparisons raises it.
        equivalence_level: that of the interval of two one-sided tests; None is the one with the same error rate as
            `level`, 90 % where that is 95 %.
    """

    mean: float
    sd: float | None
    blocks: int
    metric: Metric
    level: float = 0.95
    equivalence_level: float | None = None

    @property
    def method(self) -> str:
        """How the interval is made, as overhead.csv names it."""
        return "t"

    @property
    def pct(self) -> float:
        """The overhead, percent."""
        return self.metric.overhead_pct(self.mean)

    def log_interval(self, level: float) -> tuple[float, float] | None:
        """The interval of the mean log ratio; None below 2 blocks."""
        if self.sd is None:
            return None
        half = half_width(self.sd, self.blocks, level)
        return self.mean - half, self.mean + half

    def interval_pct(self, level: float | None = None) -> tuple[float, float] | None:
        """The overhead's interval, percent, transformed back from the log scale; None where there is none."""
        found = self.log_interval(self.level if level is None else level)
        return (
            None
            if found is None
            else (self.metric.overhead_pct(found[0]), self.metric.overhead_pct(found[1]))
        )

    def equivalence_interval_pct(self) -> tuple[float, float] | None:
        """The interval of two one-sided tests, at `equivalence_level`."""
        level = self.equivalence_level
        return self.interval_pct(1 - 2 * (1 - self.level) if level is None else level)

    def p_above(self, log_ratio: float) -> float:
        """p value of the one-sided test that the true mean is above a value; 1 where there is no interval."""
        if self.sd is None:
            return 1.0
        if self.sd == 0:
            return 0.0 if self.mean > log_ratio else 1.0
        return float(
            student.sf((self.mean - log_ratio) / (self.sd / math.sqrt(self.blocks)), self.blocks - 1)
        )

    def p_below(self, log_ratio: float) -> float:
        """The same for below."""
        return replace(self, mean=-self.mean).p_above(-log_ratio)

    def p_difference(self) -> float:
        """Two-sided p value of a difference: below 1 - level just where the interval excludes 0."""
        return min(1.0, 2 * min(self.p_above(0.0), self.p_below(0.0)))

    def p_equivalence(self, margin_pct: float) -> float:
        """p value of two one-sided tests that the overhead lies within the margin, either way."""
        return max(
            self.p_above(self.metric.log_time_ratio(-margin_pct)),
            self.p_below(self.metric.log_time_ratio(margin_pct)),
        )

    def at_levels(self, level: float, equivalence_level: float) -> Self:
        """The same at other levels."""
        return replace(self, level=level, equivalence_level=equivalence_level)

    def with_blocks(self, blocks: int) -> Estimate:
        """What the t interval would be with that many blocks, should mean and spread stay as they are."""
        return Estimate(self.mean, self.sd, blocks, self.metric, self.level, self.equivalence_level)


def estimate(log_time_ratios: Sequence[float], metric: Metric, level: float = 0.95) -> Estimate:
    """The estimate from one log ratio of step times per block.

    Raises:
        ValueError: there is no block.
    """
    if not log_time_ratios:
        raise ValueError("an estimate needs at least one block")
    sd = stdev(log_time_ratios) if len(log_time_ratios) > 1 else None
    return Estimate(fmean(log_time_ratios), sd, len(log_time_ratios), metric, level)
