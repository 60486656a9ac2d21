"""How many decimals a percentage is worth, so that no rounded figure contradicts the verdict beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable

_MOST_DECIMALS = 6
# What is nearer to a bound is rounding of the arithmetic itself.
_NOTHING = 1e-9


def decimals(*values: float, bounds: Iterable[float] = ()) -> int:
    """2 below 10, none above 100; more where rounding would put a value on the other side of a bound, or onto it.

    An interval that excludes 0 must not be printed as one that begins at 0, nor one that lies within a margin as one
    that ends at it.

    Args:
        values: percentages that are printed beside each other.
        bounds: what a verdict holds them against, beside 0, which always counts.
    """
    largest = max((abs(value) for value in values), default=0.0)
    places = 2 if largest < 10 else 1 if largest < 100 else 0
    against = (0.0, *bounds)
    while places < _MOST_DECIMALS and any(
        _crosses(value, bound, places) for value in values for bound in against
    ):
        places += 1
    return places


def _crosses(value: float, bound: float, places: int) -> bool:
    """Whether two different numbers, both rounded, would be the same or change sides."""
    side = value - bound
    rounded = round(value, places) - round(bound, places)
    return abs(side) > _NOTHING and rounded * math.copysign(1.0, side) <= _NOTHING


def fixed(value: float, places: int) -> str:
    """A number with that many decimals, never `-0.00`."""
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def interval(low: float, high: float, places: int) -> str:
    """`[low, high]` with that many decimals."""
    return f"[{fixed(low, places)}, {fixed(high, places)}]"


def sides(margin_pct: float | None) -> tuple[float, ...]:
    """The two bounds that a margin is; none where there is no margin."""
    return () if margin_pct is None else (-margin_pct, margin_pct)
