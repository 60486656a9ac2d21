"""What a study found, a few sentences for each environment: range and median over cells, never one mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import pandas as pd

from tare.report import levels, rows, wording
from tare.stats import verdicts
from tare.stats.table import text

_EXCLUDES_ZERO = (verdicts.SLOWER, verdicts.FASTER, verdicts.SLOWER_WITHIN, verdicts.FASTER_WITHIN)

_SPACE = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Finding:
    """What was found of one environment, or why there is nothing of one or more cells."""

    subject: str
    text: str


def findings(overhead: pd.DataFrame) -> list[Finding]:
    """One finding for each environment that is compared; cells that can't be measured at all follow.

    Where a study has both settings, one for each of them: their numbers are of two different things.
    """
    compared = overhead[overhead["environment"] != overhead["baseline"]]
    gaps = rows.gaps(rows.lines(overhead))
    both = len(rows.settings_of(overhead)) > 1
    found = [
        Finding(
            f"{environment}, settings {settings}" if both else str(environment),
            " ".join(_about(str(environment), part, gaps, levels.intervals(overhead))),
        )
        for (environment, settings), part in compared.groupby(["environment", "settings"], sort=False)
    ]
    nowhere = [
        Finding(wording.listed(gap.cells), f"Not measured in any environment: {wording.sentence(gap.note)}")
        for gap in gaps
        if gap.all_environments
    ]
    return [*(finding for finding in found if finding.text), *nowhere]


def _about(
    environment: str, part: pd.DataFrame, gaps: Sequence[rows.Gap], intervals: levels.Intervals
) -> list[str]:
    baseline = text(part["baseline"].iloc[0])
    good = part[part["estimate_pct"].notna()]
    said = []
    if len(good):
        again = rows.is_again(environment, baseline)
        said += _again(good, baseline, intervals) if again else _measured(good, baseline)
    for verdict, words in (
        (verdicts.NOT_COMPARABLE, "Not comparable"),
        (verdicts.MISSING, "Nothing measured yet"),
    ):
        cells = [text(cell) for cell in part.loc[part["verdict"] == verdict, "cell"]]
        if cells:
            said.append(f"{words} in {wording.count(len(cells), 'cell')}: {wording.listed(cells)}.")
    for gap in gaps:
        if environment in gap.environments and not gap.all_environments:
            where = "" if gap.everywhere and not len(good) else f" in {wording.listed(gap.cells)}"
            said.append(f"Not measured{where}: {wording.sentence(gap.note)}")
    return said


def _percent(value: float) -> str:
    return f"{wording.typographic(wording.pct(value))}{_SPACE}%"


def _range(good: pd.DataFrame) -> str:
    estimates = [float(value) for value in good["estimate_pct"]]
    if len(estimates) == 1:
        row = good.iloc[0]
        line = rows.lines(good)[0]
        interval = wording.typographic(line.interval)
        estimate = f"{wording.typographic(line.estimate)}{_SPACE}%"
        return f"{estimate}{f' {interval}' if interval else ''} in the one cell {row['cell']}"
    ends = f"from {_percent(min(estimates))} to {_percent(max(estimates))}"
    return f"{ends}, median {_percent(median(estimates))}, over {len(estimates)} cells"


def _measured(good: pd.DataFrame, baseline: str) -> list[str]:
    counted = Counter(text(verdict) for verdict in good["verdict"])
    each = [f"{counted[name]} {name}" for name in verdicts.DECIDED_BY_ESTIMATE if counted[name]]
    told = next(iter(counted)) if len(good) == 1 else "; ".join(each)
    return [f"Overhead against {baseline} {_range(good)}: {told}."]


def _again(good: pd.DataFrame, baseline: str, intervals: levels.Intervals) -> list[str]:
    said = [f"This is {baseline} a second time, so the true overhead is 0. It came out {_range(good)}."]
    ends = [
        abs(float(end))
        for name in ("ci_low_pct", "ci_high_pct")
        for end in good[name]
        if wording.is_number(end)
    ]
    if not ends:
        return [*said, "Without an interval it says nothing of how finely this machine can be measured."]
    said.append(
        f"The intervals ({intervals.words}) reach up to {_percent(max(ends))} from 0: with so many blocks, an "
        "overhead of about that size is told from none about half of the time on this machine."
    )
    wrong = sum(text(verdict) in _EXCLUDES_ZERO for verdict in good["verdict"])
    if wrong:
        chance = "in 1 study of 20" if intervals.adjusted else "to 1 interval in 20"
        said.append(
            f"In {wrong} of {wording.count(len(good), 'cell')} the interval excludes 0 although nothing "
            f"differs; chance alone does that {chance}."
        )
    return said
