"""The t interval of a mean, and an overhead estimate made of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Protocol, Self

from scipy.stats import t as student

from tare.stats.metrics import Metric

# Logarithms that differ by less are the same number but for its rounding.
_ROUNDING = 1e-12


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation of logarithms (n - 1 in the denominator); None where they tell of no spread.

    That is with fewer than two of them, and where all are the same: measured times never are, so such numbers were
    rounded, copied or made up, and an interval without width would be a certainty that nobody has.
    """
    if len(values) < 2 or max(values) - min(values) < _ROUNDING:
        return None
    return stdev(values)


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

    @property
    def level_of_equivalence(self) -> float:
        """Confidence level of the interval of two one-sided tests."""

    def equivalence_interval_pct(self) -> tuple[float, float] | None:
        """The interval of two one-sided tests, percent; None where there is none."""


class Resizable(Interval, Protocol):
    """One that can tell what it would be with more to rest on."""

    @property
    def blocks(self) -> int:
        """What it rests on: blocks, or values of a list."""

    def with_blocks(self, blocks: int) -> Interval:
        """What it would be with that many, should mean and spread stay as they are."""


@dataclass(frozen=True)
class Estimate:
    """Mean log ratio of step times (platform / baseline) over blocks, seen as an overhead in one metric.

    Attributes:
        mean: mean of the blocks' log ratios.
        sd: their standard deviation (`spread`); None where there is no interval.
        blocks: their number.
        metric: what the overhead is expressed in.
        level: confidence level of the interval that is printed; a correction for many comparisons raises it.
        equivalence_level: that of the interval of two one-sided tests; None is the one with the same error rate as
            `level`, 90 % where that is 95 %.
        stretch: the blocks' deviations from their mean were multiplied by 1 + stretch / blocks; `sd` is that of these.
    """

    mean: float
    sd: float | None
    blocks: int
    metric: Metric
    level: float = 0.95
    equivalence_level: float | None = None
    stretch: float = 0.0

    @property
    def method(self) -> str:
        """How the interval is made, as overhead.csv names it."""
        return "t"

    @property
    def pct(self) -> float:
        """The overhead, percent."""
        return self.metric.overhead_pct(self.mean)

    def log_interval(self, level: float) -> tuple[float, float] | None:
        """The interval of the mean log ratio; None where blocks tell of no spread."""
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

    @property
    def level_of_equivalence(self) -> float:
        """Confidence level of the interval of two one-sided tests."""
        return 1 - 2 * (1 - self.level) if self.equivalence_level is None else self.equivalence_level

    def equivalence_interval_pct(self) -> tuple[float, float] | None:
        """The interval of two one-sided tests, at `level_of_equivalence`."""
        return self.interval_pct(self.level_of_equivalence)

    def p_above(self, log_ratio: float) -> float:
        """p value of the one-sided test that the true mean is above a value; 1 where there is no interval."""
        if self.sd is None:
            return 1.0
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
        sd = self.sd
        if sd is not None:
            sd *= (1 + self.stretch / blocks) / (1 + self.stretch / self.blocks)
        return Estimate(self.mean, sd, blocks, self.metric, self.level, self.equivalence_level, self.stretch)


def estimate(log_time_ratios: Sequence[float], metric: Metric, level: float = 0.95) -> Estimate:
    """The estimate from one log ratio of step times per block.

    Raises:
        ValueError: there is no block.
    """
    if not log_time_ratios:
        raise ValueError("an estimate needs at least one block")
    return Estimate(fmean(log_time_ratios), spread(log_time_ratios), len(log_time_ratios), metric, level)
