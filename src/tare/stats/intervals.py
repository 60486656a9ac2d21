"""The t interval of a mean, and an overhead estimate made of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Protocol

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
    """

    mean: float
    sd: float | None
    blocks: int
    metric: Metric
    level: float = 0.95

    @property
    def pct(self) -> float:
        """The overhead, percent."""
        return self.metric.overhead_pct(self.mean)

    def interval_pct(self, level: float | None = None) -> tuple[float, float] | None:
        """The overhead's interval, percent, transformed back from the log scale; None below 2 blocks."""
        if self.sd is None:
            return None
        half = half_width(self.sd, self.blocks, self.level if level is None else level)
        return self.metric.overhead_pct(self.mean - half), self.metric.overhead_pct(self.mean + half)

    def equivalence_interval_pct(self) -> tuple[float, float] | None:
        """The interval of two one-sided tests at the same error rate: 90 % where `level` is 95 %."""
        return self.interval_pct(1 - 2 * (1 - self.level))


def estimate(log_time_ratios: Sequence[float], metric: Metric, level: float = 0.95) -> Estimate:
    """The estimate from one log ratio of step times per block.

    Raises:
        ValueError: there is no block.
    """
    if not log_time_ratios:
        raise ValueError("an estimate needs at least one block")
    sd = stdev(log_time_ratios) if len(log_time_ratios) > 1 else None
    return Estimate(fmean(log_time_ratios), sd, len(log_time_ratios), metric, level)
