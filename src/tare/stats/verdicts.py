"""What an estimate says: one table of conditions, the first that holds decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tare.stats.intervals import Estimate, Interval

SLOWER = "slower"
FASTER = "faster"
SLOWER_WITHIN = "slower, within margin"
FASTER_WITHIN = "faster, within margin"
EQUIVALENT = "equivalent"
INCONCLUSIVE = "inconclusive"
# of rows where no estimate decides
BASELINE = "baseline"
NOT_COMPARABLE = "not comparable"
NOT_MEASURED = "not measured"
MISSING = "missing"

DECIDED_BY_ESTIMATE = (SLOWER, FASTER, SLOWER_WITHIN, FASTER_WITHIN, EQUIVALENT, INCONCLUSIVE)
# More blocks than this are not worth an exact number.
MOST_BLOCKS = 10_000


@dataclass(frozen=True)
class Bounds:
    """What the conditions look at, in percent: the printed interval, the equivalence test's, the margin."""

    low: float
    high: float
    equivalence_low: float
    equivalence_high: float
    margin: float


TABLE: tuple[tuple[str, Callable[[Bounds], bool]], ...] = (
    (SLOWER_WITHIN, lambda b: b.low > 0 and b.high < b.margin),
    (FASTER_WITHIN, lambda b: b.high < 0 and b.low > -b.margin),
    (SLOWER, lambda b: b.low > 0),
    (FASTER, lambda b: b.high < 0),
    (EQUIVALENT, lambda b: b.equivalence_low > -b.margin and b.equivalence_high < b.margin),
)


def check_margin(margin_pct: float) -> None:
    """Refuse a margin that no interval could lie in.

    Raises:
        ValueError: it is not positive.
    """
    if not margin_pct > 0:
        raise ValueError(f"margin_pct is {margin_pct}; set it above 0, such as 2.")


def verdict(estimate: Interval, margin_pct: float) -> str:
    """One of the six verdicts; without an interval it is inconclusive.

    Args:
        estimate: the overhead and its interval.
        margin_pct: overheads smaller than this, either way, do not matter.

    Raises:
        ValueError: the margin is not positive.
    """
    check_margin(margin_pct)
    interval, narrower = estimate.interval_pct(), estimate.equivalence_interval_pct()
    if interval is None or narrower is None:
        return INCONCLUSIVE
    bounds = Bounds(*interval, *narrower, margin_pct)
    return next((name for name, holds in TABLE if holds(bounds)), INCONCLUSIVE)


def blocks_needed(estimate: Estimate, margin_pct: float) -> int | None:
    """The smallest number of blocks that would end in a verdict, should mean and spread stay as they are.

    Returns:
        None where there is no spread yet to go by, or where even `MOST_BLOCKS` would not do.
    """
    if estimate.sd is None:
        return None

    def decides(blocks: int) -> bool:
        return verdict(estimate.with_blocks(blocks), margin_pct) != INCONCLUSIVE

    if not decides(MOST_BLOCKS):
        return None
    low, high = 1, MOST_BLOCKS  # low is too few, high is enough: the interval only shrinks with more blocks
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high
