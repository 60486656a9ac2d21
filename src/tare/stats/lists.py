"""The overhead of numbers that were measured elsewhere: two lists, by the same code as Tare's own tables.

overhead_of_values([6400, 6380, 6450], [6210, 6190, 6250], metric="throughput")
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from scipy.stats import ttest_ind

from tare.stats import verdicts
from tare.stats.intervals import Interval, estimate
from tare.stats.metrics import STEP_TIME, THROUGHPUT, Metric

# What lists of numbers can be: of throughputs more is better, of times less.
KINDS = {"throughput": THROUGHPUT, "time": STEP_TIME}


@dataclass(frozen=True)
class ListOverhead:
    """What two lists say; the names are those of overhead.csv.

    Attributes:
        paired: whether values were compared pair by pair.
        baseline_runs, platform_runs: how many values were used of each list.
        baseline_value, value: means of the baseline's and of the platform's values, in their own unit.
        performance_overhead_pct: the papers' formula on these two means; positive is slower.
        estimate_pct: from logarithms of ratios; it decides.
        ci_low_pct, ci_high_pct: its interval at `level`; None with fewer than 2 pairs, or 2 values a side.
        note: what else has to be said.
    """

    metric: str
    paired: bool
    baseline_runs: int
    platform_runs: int
    baseline_value: float
    value: float
    performance_overhead_pct: float
    estimate_pct: float
    ci_low_pct: float | None
    ci_high_pct: float | None
    level: float
    verdict: str
    note: str


@dataclass(frozen=True)
class Independent:
    """Difference of the mean logs of times of two independent lists, with Welch's t interval.

    Attributes:
        baseline, platform: logs of times.
    """

    baseline: tuple[float, ...]
    platform: tuple[float, ...]
    metric: Metric
    level: float

    @property
    def pct(self) -> float:
        """The overhead, percent."""
        return self.metric.overhead_pct(fmean(self.platform) - fmean(self.baseline))

    def interval_pct(self, level: float | None = None) -> tuple[float, float] | None:
        """The overhead's interval, percent; None with fewer than 2 values in a list."""
        if min(len(self.baseline), len(self.platform)) < 2:
            return None
        if np.ptp(self.baseline) == np.ptp(self.platform) == 0:
            return self.pct, self.pct
        test = ttest_ind(self.platform, self.baseline, equal_var=False)
        low, high = test.confidence_interval(self.level if level is None else level)
        return self.metric.overhead_pct(float(low)), self.metric.overhead_pct(float(high))

    def equivalence_interval_pct(self) -> tuple[float, float] | None:
        """The interval of two one-sided tests at the same error rate."""
        return self.interval_pct(1 - 2 * (1 - self.level))


def overhead_of_values(
    baseline: Sequence[float],
    platform: Sequence[float],
    *,
    metric: str,
    paired: bool = False,
    margin_pct: float = 2.0,
    level: float = 0.95,
) -> ListOverhead:
    """What a platform costs by two lists of numbers.

    Args:
        baseline, platform: throughputs or times, a value a run, in any unit that both have.
        metric: `throughput` (more is better) or `time` (less is better).
        paired: the n-th value of one list belongs to the n-th of the other, as when they were measured next to each
            other. Otherwise the lists are taken for independent runs, and whatever changed between the two is in the
            result.
        margin_pct: overheads within this do not matter.
        level: confidence level of the interval, above 0.5 and below 1.

    Raises:
        ValueError: a value that is not a positive finite number, an empty list, lists of different length although
            paired, an unknown metric, a margin or level out of range.
    """
    if metric not in KINDS:
        raise ValueError(f"metric {metric!r} is not known; choose throughput or time.")
    if not 0.5 < level < 1:
        raise ValueError(f"level is {level}; choose one above 0.5 and below 1, such as 0.95.")
    verdicts.check_margin(margin_pct)
    for name, values in (("baseline", baseline), ("platform", platform)):
        if not len(values):
            raise ValueError(f"{name} has no value; give one for each run.")
        for place, value in enumerate(values, start=1):
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"value {place} of {name} is {value}; throughputs and times are above 0.")
    if paired and len(baseline) != len(platform):
        raise ValueError(
            f"baseline has {len(baseline)} values and platform {len(platform)}; pairs need as many of both."
        )
    kind = KINDS[metric]
    sign = -1 if kind.more_is_better else 1
    base_logs, own_logs = (
        tuple(sign * math.log(value) for value in values) for values in (baseline, platform)
    )
    means = fmean(baseline), fmean(platform)
    found: Interval
    note = ""
    if paired:
        found = mean = estimate([b - a for a, b in zip(base_logs, own_logs, strict=True)], kind, level)
        if verdicts.verdict(found, margin_pct) == verdicts.INCONCLUSIVE:
            needed = verdicts.blocks_needed(mean, margin_pct)
            note = f"about {needed} pairs would be needed" if needed else ""
    else:
        found = Independent(base_logs, own_logs, kind, level)
    low, high = found.interval_pct() or (None, None)
    if low is None:
        note = "one pair gives no interval" if paired else "an interval needs at least 2 values in each list"
    return ListOverhead(
        metric=metric,
        paired=paired,
        baseline_runs=len(baseline),
        platform_runs=len(platform),
        baseline_value=means[0],
        value=means[1],
        performance_overhead_pct=kind.performance_overhead_pct(*means),
        estimate_pct=found.pct,
        ci_low_pct=low,
        ci_high_pct=high,
        level=level,
        verdict=verdicts.verdict(found, margin_pct),
        note=note,
    )
