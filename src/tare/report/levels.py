"""How the intervals of a table were made and at which level, in words."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from tare.report import wording
from tare.stats.multiple import HOLM
from tare.stats.overhead import STRETCHED
from tare.stats.table import text


@dataclass(frozen=True)
class Intervals:
    """The intervals of one table.

    Attributes:
        method: `t` or `BCa`.
        holm: whether their levels were set together.
        stretched: whether they were made wider for stopping where they are narrow.
        low, high: the lowest and the highest confidence level among them, percent.
        comparisons: how many intervals there are.
    """

    method: str
    holm: bool
    low: float
    high: float
    comparisons: int
    stretched: bool = False

    @property
    def vary(self) -> bool:
        """Whether there are several levels, so that each interval has to say its own."""
        return self.low != self.high

    @property
    def heading(self) -> str:
        """Of a column of intervals: `95 % CI`, or `CI` where levels vary."""
        return "CI" if self.vary else f"{wording.level(self.low)} % CI"

    @property
    def words(self) -> str:
        """`95 % t interval`; with a correction for many comparisons that it was made, and the levels."""
        levels = f"{wording.level(self.low)} % "
        if self.vary:
            levels = f"{wording.level(self.low)} to {wording.level(self.high)} % "
        how = [f"Holm, {self.comparisons} comparisons"] if self.adjusted else []
        how += ["stretched for stopping by its width"] if self.stretched else []
        return f"{levels}{self.method} interval" + (f" ({'; '.join(how)})" if how else "")

    @property
    def adjusted(self) -> bool:
        """Whether a correction changed anything: one comparison alone has none."""
        return self.holm and self.comparisons > 1


def intervals(overhead: pd.DataFrame) -> Intervals:
    """What the table says of its intervals; a table without any is one of 95 % t intervals."""
    made = overhead[overhead["ci_level_pct"].notna()]
    if not len(made):
        return Intervals("t", False, 95.0, 95.0, 0)
    method, *how = text(made["ci_method"].iloc[0]).split(", ")
    levels = [float(level) for level in made["ci_level_pct"]]
    return Intervals(method, HOLM in how, min(levels), max(levels), len(made), STRETCHED in how)
