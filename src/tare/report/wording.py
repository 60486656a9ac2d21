"""Numbers and lists as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from tare.stats import digits
from tare.stats.traits import size as size

MINUS = "\N{MINUS SIGN}"


def is_number(value: Any) -> bool:
    """Whether a value of a table is there."""
    return value is not None and not pd.isna(value)


def pct(value: Any, *beside: Any, margin: Any = None) -> str:
    """A percentage without its sign, with as many decimals as those beside it; empty where there is none.

    Args:
        beside: other percentages of the same line, such as the ends of its interval.
        margin: what its verdict is held against, percent; no rounding crosses it.
    """
    if not is_number(value):
        return ""
    values = [float(number) for number in (value, *beside) if is_number(number)]
    bounds = digits.sides(float(margin) if is_number(margin) else None)
    return digits.fixed(float(value), digits.decimals(*values, bounds=bounds))


def interval(low: Any, high: Any, margin: Any = None) -> str:
    """`[low, high]`, empty where there is none; `margin` as in `pct`."""
    if not (is_number(low) and is_number(high)):
        return ""
    bounds = digits.sides(float(margin) if is_number(margin) else None)
    return digits.interval(float(low), float(high), digits.decimals(float(low), float(high), bounds=bounds))


def level(pct: float) -> str:
    """A confidence level, with more decimals where it comes near 100: `95`, `98.75`, `99.69`, `99.9995`."""
    out = 100 - pct
    places = max(2, 1 - math.floor(math.log10(out))) if out > 0 else 2
    return f"{pct:.{places}f}".rstrip("0").removesuffix(".")


def quantity(value: Any) -> str:
    """A measured value with four significant digits, thousands set apart; empty where there is none."""
    if not is_number(value):
        return ""
    number = float(value)
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:#.4g}".rstrip(".")


def typographic(text: str) -> str:
    """A number's text with a real minus sign, for print."""
    return text.replace("-", MINUS)


def count(number: int, noun: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(items: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    names = list(items)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def span(values: Sequence[float]) -> str:
    """`215`, or `210 to 220` where whole numbers differ."""
    low, high = int(min(values)), int(max(values))
    return str(low) if low == high else f"{low} to {high}"


def sentence(text: str) -> str:
    """The text with a full stop at its end."""
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."
