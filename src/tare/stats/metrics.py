"""The metrics that runs are compared by, and the two ways an overhead is computed from them.

Everywhere in Tare a positive overhead means that the platform is slower than its baseline.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tare.records.schema import Record


@dataclass(frozen=True)
class Metric:
    """A metric of a run.

    Attributes:
        name: as in overhead.csv.
        unit: as in overhead.csv.
        title: in words, for tables and figures.
        more_is_better: whether a higher value means a faster run.
        value: the metric of one run, None where nothing was timed.
    """

    name: str
    unit: str
    title: str
    more_is_better: bool
    value: Callable[[Record], float | None]

    def performance_overhead_pct(self, baseline: float, platform: float) -> float:
        """The formula of the FfDL paper, on two means: percent of the baseline, positive = slower."""
        difference = baseline - platform if self.more_is_better else platform - baseline
        return difference / baseline * 100

    def overhead_pct(self, log_time_ratio: float) -> float:
        """The overhead that goes with a log ratio of step times, log(platform / baseline); rises with it.

        A step that takes 1.03 times as long is an overhead of 2.91 % in throughput and of 3.00 % in time. Infinite
        where no number is so large.
        """
        sign = -1 if self.more_is_better else 1
        try:
            return sign * 100 * math.expm1(sign * log_time_ratio)
        except OverflowError:
            return sign * math.inf

    def log_time_ratio(self, overhead_pct: float) -> float:
        """The log ratio of step times that goes with an overhead; infinite where no ratio is so large or small."""
        share = -overhead_pct / 100 if self.more_is_better else overhead_pct / 100
        log = math.log1p(share) if share > -1 else -math.inf
        return -log if self.more_is_better else log


THROUGHPUT = Metric(
    "throughput_images_per_sec", "images/s", "Throughput", True, lambda run: run.throughput_images_per_sec
)
STEP_TIME = Metric("second_per_batch", "s", "Time per batch", False, lambda run: run.second_per_batch)
METRICS = {metric.name: metric for metric in (THROUGHPUT, STEP_TIME)}


def named(name: str) -> Metric:
    """The metric of that name.

    Raises:
        ValueError: there is none.
    """
    if name not in METRICS:
        raise ValueError(f"metric {name!r} is not known; choose one of {', '.join(METRICS)}.")
    return METRICS[name]
