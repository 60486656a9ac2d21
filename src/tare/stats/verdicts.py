"""What an estimate says: one table of conditions, the first that holds decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tare.stats import digits
from tare.stats.intervals import Interval, Resizable

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
    """Refuse a margin that no interval could lie in, or that all would.

    Raises:
        ValueError: it is not above 0 and below 100.
    """
    if not 0 < margin_pct < 100:
        raise ValueError(f"margin_pct is {margin_pct:g}; set it above 0 and below 100, such as 2.")


def verdict(estimate: Interval, margin_pct: float) -> str:
    """One of the six verdicts; without an interval it is inconclusive.

    Args:
        estimate: the overhead and its interval.
        margin_pct: overheads smaller than this, either way, do not matter.

    Raises:
        ValueError: the margin is out of range (`check_margin`).
    """
    check_margin(margin_pct)
    interval, narrower = estimate.interval_pct(), estimate.equivalence_interval_pct()
    if interval is None or narrower is None:
        return INCONCLUSIVE
    bounds = Bounds(*interval, *narrower, margin_pct)
    return next((name for name, holds in TABLE if holds(bounds)), INCONCLUSIVE)


def equivalence_note(found: Interval, margin_pct: float) -> str:
    """A phrase where the printed interval would say something else of equivalence than the one that decides it."""
    printed, narrower = found.interval_pct(), found.equivalence_interval_pct()
    if printed is None or narrower is None:
        return ""
    inside, equivalent = (-margin_pct < low and high < margin_pct for low, high in (printed, narrower))
    if inside == equivalent or not printed[0] <= 0 <= printed[1]:
        return ""
    places = digits.decimals(*narrower, bounds=digits.sides(margin_pct))
    return (
        f"what decides on equivalence is the interval of two one-sided tests ({100 * found.level_of_equivalence:.4g} %"
        f"), {digits.interval(*narrower, places)}, which {'lies' if equivalent else 'does not lie'} "
        f"within ±{margin_pct:g} %"
    )


def blocks_needed(estimate: Resizable, margin_pct: float) -> int | None:
    """The smallest number of blocks that would end in a verdict, should mean and spread stay as they are.

    It is that of a new study: whoever adds blocks to this one until a verdict comes out gets more false ones.

    Args:
        estimate: one that is `inconclusive`; more blocks than it has are looked at.
        margin_pct: as in `verdict`.

    Returns:
        None where there is no spread yet to go by, or where even `MOST_BLOCKS` would not do.
    """
    if estimate.interval_pct() is None:
        return None

    def decides(blocks: int) -> bool:
        return verdict(estimate.with_blocks(blocks), margin_pct) != INCONCLUSIVE

    return smallest(decides, estimate.blocks + 1, MOST_BLOCKS)


def smallest(suffices: Callable[[int], bool], least: int, most: int) -> int | None:
    """The smallest number that suffices, where all larger ones do too; None where `most` does not."""
    if least > most or not suffices(most):
        return None
    low, high = least - 1, most  # low is too few or not asked for, high is enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
