"""overhead.csv as lines that people read; the same for every kind of table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tare.plan.quiet import DEFAULT, QUIET, SETTINGS
from tare.report import wording
from tare.stats import metrics, verdicts
from tare.stats.comparable import DIFFERS, differing_traits
from tare.stats.table import text
from tare.stats.traits import NAMES

# How an environment is called that is its own baseline under a second name.
AGAIN = "-again"
# Beside an environment that differs from its baseline by nature or declaration; a line below says in what.
MARK = "\N{DAGGER}"
# A note that many lines share names so many of them.
_NAMED = 2


@dataclass(frozen=True)
class Line:
    """One row of overhead.csv, as text.

    Attributes:
        settings: `quiet` or `default`.
        engine: what the environment is run by.
        overhead: by the paper's formula, percent.
        estimate: percent, the one that decides.
        interval: its interval, `[low, high]`.
        level: confidence level of the interval, percent.
        verdict: as in overhead.csv.
        note: what else has to be said; where the two can't be compared, what differs.
        differs: what differs by nature or declaration, in detail; empty where nothing does.
    """

    cell: str
    settings: str
    environment: str
    engine: str
    baseline: str
    blocks: str
    baseline_value: str
    value: str
    overhead: str
    estimate: str
    interval: str
    level: str
    verdict: str
    note: str
    differs: str = ""

    @property
    def named(self) -> str:
        """The environment, with its engine where the name doesn't begin with that."""
        known = self.environment == self.engine or self.environment.startswith(f"{self.engine}-")
        return self.environment if known else f"{self.environment} ({self.engine})"

    @property
    def mark(self) -> str:
        """A dagger where something differs by nature or declaration."""
        return MARK if self.differs else ""

    @property
    def is_baseline(self) -> bool:
        """Whether the environment is compared with nothing."""
        return self.environment == self.baseline


def lines(overhead: pd.DataFrame) -> list[Line]:
    """All rows as lines, in their order."""
    found = []
    for row in overhead.to_dict("records"):
        said = text(row["comparable"])
        incomparable = said if text(row["verdict"]) == verdicts.NOT_COMPARABLE else ""
        found.append(
            Line(
                cell=text(row["cell"]),
                settings=text(row["settings"]),
                environment=text(row["environment"]),
                engine=text(row["engine"]),
                baseline=text(row["baseline"]),
                blocks=text(row["blocks"]),
                baseline_value=wording.quantity(row["baseline_value"]),
                value=wording.quantity(row["value"]),
                overhead=wording.pct(row["performance_overhead_pct"]),
                estimate=wording.pct(
                    row["estimate_pct"], row["ci_low_pct"], row["ci_high_pct"], margin=row["margin_pct"]
                ),
                interval=wording.interval(row["ci_low_pct"], row["ci_high_pct"], row["margin_pct"]),
                level=wording.level(row["ci_level_pct"]) if wording.is_number(row["ci_level_pct"]) else "",
                verdict=text(row["verdict"]),
                note="; ".join(part for part in (incomparable, text(row["note"])) if part),
                differs=said.removeprefix(DIFFERS) if said.startswith(DIFFERS) else "",
            )
        )
    return found


@dataclass(frozen=True)
class Gap:
    """Environments that were not measured, for one reason, in some cells.

    Attributes:
        everywhere: in every cell in which anything at all can be measured, of which there are several.
        all_environments: every environment of the study, baselines included.
    """

    environments: tuple[str, ...]
    cells: tuple[str, ...]
    note: str
    everywhere: bool
    all_environments: bool

    @property
    def text(self) -> str:
        """`docker not measured in any cell: why`."""
        if self.all_environments:
            return f"{wording.listed(self.cells)} not measured: {self.note}"
        where = "any cell" if self.everywhere else wording.listed(self.cells)
        return f"{wording.listed(self.environments)} not measured in {where}: {self.note}"


def gaps(found: Sequence[Line]) -> list[Gap]:
    """What was not measured, by reason."""
    everything = {line.cell for line in found}
    possible = {line.cell for line in found if line.verdict != verdicts.NOT_MEASURED} or everything
    environments = {line.environment for line in found}
    cells_of: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in found:
        if line.verdict == verdicts.NOT_MEASURED:
            cells_of[line.environment, line.note].append(line.cell)
    together: dict[tuple[tuple[str, ...], str], list[str]] = defaultdict(list)
    for (environment, note), cells in cells_of.items():
        together[tuple(cells), note].append(environment)
    return [
        Gap(
            environments=tuple(names),
            cells=cells,
            note=note,
            everywhere=len(cells) > 1 and possible <= set(cells),
            all_environments=set(names) == environments,
        )
        for (cells, note), names in together.items()
    ]


def notes(found: Sequence[Line]) -> list[str]:
    """The notes of lines that are measured or to be, each once, with the lines that it belongs to."""
    of: dict[str, list[str]] = defaultdict(list)
    for line in found:
        if line.note and line.verdict != verdicts.NOT_MEASURED:
            of[line.note].append(f"{line.cell}, {line.environment}")
    said = []
    for note, names in of.items():
        more = len(names) - _NAMED
        said.append(f"{'; '.join(names if more <= 1 else [*names[:_NAMED], f'{more} more'])}: {note}")
    return said


def differing(found: Sequence[Line]) -> list[str]:
    """One sentence for each environment that differs by nature or declaration: in what, over all its cells."""
    of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for line in found:
        of[line.environment, line.baseline].update(differing_traits(DIFFERS + line.differs))
    return [
        f"{environment} differs from {baseline} in {wording.listed(name for name in NAMES if name in names)}."
        for (environment, baseline), names in of.items()
        if names
    ]


def is_again(environment: str, baseline: str) -> bool:
    """Whether the environment is its baseline a second time, so that its true overhead is 0."""
    return environment == baseline + AGAIN


def metric_of(overhead: pd.DataFrame) -> metrics.Metric:
    """The metric of the table; throughput where it has no row."""
    return metrics.named(str(overhead["metric"].iloc[0])) if len(overhead) else metrics.THROUGHPUT


def baselines_of(overhead: pd.DataFrame) -> list[str]:
    """The baselines that environments are compared with, in order; without any, those that are there."""
    compared = overhead[overhead["environment"] != overhead["baseline"]]
    return list(dict.fromkeys((compared if len(compared) else overhead)["baseline"]))


def settings_of(table: pd.DataFrame) -> list[str]:
    """The settings of the cells in a table of overheads or runs, quiet before default."""
    found = {text(value) for value in table["settings"]}
    return [value for value in SETTINGS if value in found]


def settings_said(table: pd.DataFrame) -> str:
    """Which settings the numbers of a table belong to, in a sentence; empty where it has none."""
    values = settings_of(table)
    if len(values) > 1:
        return f"Settings: {DEFAULT} in cells whose names end in -{DEFAULT}, {QUIET} in the others."
    return f"Settings: {values[0]}." if values else ""


def against(overhead: pd.DataFrame) -> str:
    """`bare`, or `each one's baseline` where they differ."""
    names = baselines_of(overhead)
    return names[0] if len(names) == 1 else "each one's baseline" if names else "its baseline"


def nothing(overhead: pd.DataFrame) -> str:
    """Why there is no estimate to show."""
    if (overhead["environment"] == overhead["baseline"]).all():
        return f"Nothing is compared with {against(overhead)}: no other environment is planned."
    return "Nothing to compare has been measured yet."
