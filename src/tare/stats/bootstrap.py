"""The bias-corrected and accelerated (BCa) bootstrap interval of a mean over blocks (Efron, JASA 1987), by scipy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import bootstrap

from tare.plan.study import FEWEST_FOR_BCA
from tare.stats.intervals import Estimate, spread
from tare.stats.metrics import Metric

# In the column ci_method.
BCA = "BCa"
# Enough that a bound at 99.9 % still has twenty resamples beyond it.
RESAMPLES = 19_999
# The same records give the same interval.
_SEED = 20_261_201


@dataclass(frozen=True)
class BcaEstimate(Estimate):
    """An estimate whose interval is BCa's; there is none below `FEWEST_FOR_BCA` blocks.

    Attributes:
        ratios: the blocks' log ratios.
    """

    ratios: tuple[float, ...] = ()

    @property
    def method(self) -> str:
        """How the interval is made, as overhead.csv names it."""
        return BCA

    @cached_property
    def _resampled(self) -> Any:
        return bootstrap((self.ratios,), np.mean, n_resamples=RESAMPLES, method="BCa", rng=_SEED)

    def log_interval(self, level: float) -> tuple[float, float] | None:
        """The interval of the mean log ratio; None with too few blocks, or where they tell of no spread."""
        if self.blocks < FEWEST_FOR_BCA or self.sd is None:
            return None
        found = bootstrap(
            (self.ratios,),
            np.mean,
            n_resamples=0,
            bootstrap_result=self._resampled,
            confidence_level=level,
            method="BCa",
        ).confidence_interval
        return float(found.low), float(found.high)

    def p_above(self, log_ratio: float) -> float:
        """The smallest error rate at which the one-sided interval lies above the value, found by trying."""
        return self._p(lambda error: self._bound(error)[0] - log_ratio)

    def p_below(self, log_ratio: float) -> float:
        """The same for below."""
        return self._p(lambda error: log_ratio - self._bound(error)[1])

    def _bound(self, error: float) -> tuple[float, float]:
        found = self.log_interval(1 - 2 * error)
        assert found is not None
        return found

    def _p(self, beyond: Callable[[float], float]) -> float:
        """The error rate at which `beyond` (how far the bound is beyond the value) changes its sign."""
        if self.blocks < FEWEST_FOR_BCA or self.sd is None:
            return 1.0
        least, most = 1 / RESAMPLES, 0.4999
        if beyond(least) > 0:
            return least
        if beyond(most) <= 0:
            return 1.0
        return float(brentq(beyond, least, most, xtol=1e-6))


def bca_estimate(log_time_ratios: Sequence[float], metric: Metric, level: float = 0.95) -> BcaEstimate:
    """The estimate from one log ratio of step times per block.

    Raises:
        ValueError: there is no block.
    """
    if not log_time_ratios:
        raise ValueError("an estimate needs at least one block")
    return BcaEstimate(
        fmean(log_time_ratios),
        spread(log_time_ratios),
        len(log_time_ratios),
        metric,
        level,
        ratios=tuple(log_time_ratios),
    )
