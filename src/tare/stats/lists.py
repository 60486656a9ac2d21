"""The overhead of numbers that were measured elsewhere: two lists, by the same code as Tare's own tables.

overhead_of_values([6400, 6380, 6450], [6210, 6190, 6250], metric="throughput")
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from scipy.stats import t as student

from tare.stats import verdicts
from tare.stats.intervals import Estimate, estimate, spread
from tare.stats.metrics import STEP_TIME, THROUGHPUT, Metric

# What lists of numbers can be: of throughputs more is better, of times less.
KINDS = {"throughput": THROUGHPUT, "time": STEP_TIME}
# At higher ones an interval tells of the distribution's far tail, which no list of numbers knows.
HIGHEST_LEVEL = 0.9999
# No platform makes training so much slower or faster, and no run of one program; another unit does (s and ms: 1,000).
_LARGEST_RATIO = 300
# Sums and ratios of values nearer to 0 or farther from it are beyond what a computer's numbers hold.
_SMALLEST, _LARGEST = 1e-100, 1e100


@dataclass(frozen=True)
class ListOverhead:
    """What two lists say; the names are those of overhead.csv.

    Attributes:
        paired: whether values were compared pair by pair.
        baseline_runs, platform_runs: how many values were used of each list.
        baseline_value, value: means of the baseline's and of the platform's values, in their own unit.
        performance_overhead_pct: the papers' formula on these two means; positive is slower.
        estimate_pct: from logarithms of ratios; it decides.
        ci_low_pct, ci_high_pct: its interval at `level`; None with fewer than 2 pairs or 2 values a side, and where
            numbers have no spread.
        margin_pct: what the verdict was made with.
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
    margin_pct: float
    verdict: str
    note: str


@dataclass(frozen=True)
class Side:
    """A list of logarithms of times: mean, standard deviation (0 where they tell of none), number."""

    mean: float
    sd: float
    values: int

    @classmethod
    def of(cls, logs: Sequence[float]) -> Side:
        """Of a list that isn't empty."""
        return cls(fmean(logs), spread(logs) or 0.0, len(logs))

    @property
    def variance_of_mean(self) -> float:
        """Squared standard error."""
        return self.sd**2 / self.values


@dataclass(frozen=True)
class Independent:
    """Difference of the mean logs of times of two independent lists, with Welch's t interval."""

    baseline: Side
    platform: Side
    metric: Metric
    level: float

    @property
    def blocks(self) -> int:
        """The values of the shorter list."""
        return min(self.baseline.values, self.platform.values)

    @property
    def pct(self) -> float:
        """The overhead, percent."""
        return self.metric.overhead_pct(self.platform.mean - self.baseline.mean)

    def interval_pct(self, level: float | None = None) -> tuple[float, float] | None:
        """The overhead's interval, percent; None with fewer than 2 values in a list, or without any spread."""
        parts = self.baseline.variance_of_mean, self.platform.variance_of_mean
        if self.blocks < 2 or not sum(parts):
            return None
        # Welch (1947) and Satterthwaite; scipy makes this interval of values alone, not of means and spreads
        freedom = sum(parts) ** 2 / (
            parts[0] ** 2 / (self.baseline.values - 1) + parts[1] ** 2 / (self.platform.values - 1)
        )
        quantile = float(student.ppf(0.5 + (self.level if level is None else level) / 2, freedom))
        half, middle = quantile * math.sqrt(sum(parts)), self.platform.mean - self.baseline.mean
        return self.metric.overhead_pct(middle - half), self.metric.overhead_pct(middle + half)

    @property
    def level_of_equivalence(self) -> float:
        """Confidence level of the interval of two one-sided tests at the same error rate."""
        return 1 - 2 * (1 - self.level)

    def equivalence_interval_pct(self) -> tuple[float, float] | None:
        """The interval of two one-sided tests, at `level_of_equivalence`."""
        return self.interval_pct(self.level_of_equivalence)

    def with_blocks(self, blocks: int) -> Independent:
        """What it would be with that many values in each list, should means and spreads stay as they are."""
        return replace(
            self,
            baseline=replace(self.baseline, values=blocks),
            platform=replace(self.platform, values=blocks),
        )


def _check_values(name: str, values: Sequence[float]) -> None:
    """See that a list holds runs of one program in one unit.

    Raises:
        ValueError: it does not.
    """
    if not len(values):
        raise ValueError(f"{name} has no value; give one for each run.")
    for place, value in enumerate(values, start=1):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"value {place} of {name} is {value}; throughputs and times are above 0.")
        if not _SMALLEST <= value <= _LARGEST:
            raise ValueError(f"value {place} of {name} is {value}; give it in a unit of its own size.")
    if max(values) > _LARGEST_RATIO * min(values):
        raise ValueError(
            f"the values of {name} reach from {min(values):g} to {max(values):g}, which no two runs of one "
            "program do; give all in the same unit, and leave out what is no run."
        )


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
        level: confidence level of the interval, above 0.5 and at most 0.9999.

    Raises:
        ValueError: a value that is not a positive finite number, an empty list, lists of different length although
            paired, lists in different units, an unknown metric, a margin or level out of range.
    """
    if metric not in KINDS:
        raise ValueError(f"metric {metric!r} is not known; choose throughput or time.")
    if not 0.5 < level <= HIGHEST_LEVEL:
        raise ValueError(f"level is {level}; choose one above 0.5 and at most {HIGHEST_LEVEL}, such as 0.95.")
    verdicts.check_margin(margin_pct)
    _check_values("baseline", baseline)
    _check_values("platform", platform)
    if paired and len(baseline) != len(platform):
        raise ValueError(
            f"baseline has {len(baseline)} values and platform {len(platform)}; pairs need as many of both."
        )
    kind = KINDS[metric]
    sign = -1 if kind.more_is_better else 1
    base_logs, own_logs = (
        tuple(sign * math.log(value) for value in values) for values in (baseline, platform)
    )
    if abs(fmean(own_logs) - fmean(base_logs)) > math.log(_LARGEST_RATIO):
        raise ValueError(
            f"the values of one list are over {_LARGEST_RATIO:,} times as large as those of the other; "
            "give both in the same unit."
        )
    means = fmean(baseline), fmean(platform)
    found: Estimate | Independent
    if paired:
        found = estimate([b - a for a, b in zip(base_logs, own_logs, strict=True)], kind, level)
    else:
        found = Independent(Side.of(base_logs), Side.of(own_logs), kind, level)
    interval = found.interval_pct()
    if interval is not None and not all(map(math.isfinite, interval)):
        raise ValueError(
            f"the values spread so much that the interval at {100 * level:g} % has no end that a number could hold; "
            "give more values, or a lower level."
        )
    low, high = interval or (None, None)
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
        margin_pct=margin_pct,
        verdict=verdicts.verdict(found, margin_pct),
        note=_note(found, margin_pct),
    )


def _note(found: Estimate | Independent, margin_pct: float) -> str:
    """What an estimate without an interval or a verdict lacks, and what the two lists are taken for."""
    paired = isinstance(found, Estimate)
    lacks = ""
    if found.interval_pct() is None:
        if paired:
            lacks = "one pair gives no interval"
            if found.blocks > 1:
                lacks = f"all {found.blocks} pairs have the very same ratio, which gives no interval"
        else:
            lacks = "an interval needs at least 2 values in each list"
            if found.blocks > 1:
                lacks = "all values of a list are the very same in both lists, which gives no interval"
    elif verdicts.verdict(found, margin_pct) == verdicts.INCONCLUSIVE:
        blocks = verdicts.blocks_needed(found, margin_pct)
        number = f"about {blocks}" if blocks else f"over {verdicts.MOST_BLOCKS}"
        what = "pairs" if paired else "values in each list"
        lacks = f"for a verdict {number} {what} would be needed, all measured anew"
    independent = (
        ""
        if paired
        else "the two lists are taken for independent runs: whatever changed between measuring the one and the other, "
        "such as the machine's speed, is in the result"
    )
    decides = verdicts.equivalence_note(found, margin_pct)
    return "; ".join(part for part in (lacks, decides, independent) if part)
