"""Many comparisons in one table: the level at which each is decided (Holm, Scand. J. Statist. 1979)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tare.stats.intervals import Estimate

Adjustment = Literal["holm", "none"]
# In the column ci_method.
HOLM = "Holm"


def step_down(p_values: Sequence[float], error: float) -> list[float]:
    """The error rate at which each of several tests is decided, so that all together err at most at that rate.

    The smallest p value is held against error / m, the next against error / (m - 1), and so on up to the first that
    fails; it and all after it are decided at the rate at which it failed.

    Args:
        p_values: of m tests.
        error: the rate at which any true hypothesis among them may be rejected.

    Returns:
        The rates in the order of the p values; a test rejects where its p value is below its rate.
    """
    rates = [0.0] * len(p_values)
    rate, rejects = error, True
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if rejects:
            rate = error / (len(p_values) - place)
            rejects = p_values[index] < rate
        rates[index] = rate
    return rates


def adjusted(estimates: Sequence[Estimate], margin_pct: float, level: float = 0.95) -> list[Estimate]:
    """The estimates of one table at the levels at which its verdicts hold together.

    Differences and equivalences are two families of claims, each with its own error rate: with many tables of true
    differences of 0, one in twenty has any `slower` or `faster` in it.

    Args:
        estimates: of all comparisons of the table; those without an interval are no tests and keep their level.
        margin_pct: of the equivalence.
        level: of a comparison by itself.
    """
    tested = [i for i, one in enumerate(estimates) if one.log_interval(level) is not None]
    different = step_down([estimates[i].p_difference() for i in tested], 1 - level)
    equal = step_down([estimates[i].p_equivalence(margin_pct) for i in tested], 1 - level)
    found = list(estimates)
    for i, error, equivalence_error in zip(tested, different, equal, strict=True):
        found[i] = found[i].at_levels(1 - error, 1 - 2 * equivalence_error)
    return found
