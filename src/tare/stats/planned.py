"""The plan and the records by cell and environment."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from tare.plan.errors import StudyError
from tare.plan.table import IF_NEEDED, UNUSABLE
from tare.records.schema import Record
from tare.stats import notes
from tare.stats.table import CELL_COLUMNS, COLUMNS, text

# (cell, environment)
Key = tuple[str, str]
_NEEDED = [
    *CELL_COLUMNS, "environment", "engine", "baseline", "repetition", "status", "reason", "remedy", "spec_hash",
]  # fmt: skip


@dataclass(frozen=True)
class Planned:
    """What the plan says of one cell in one environment.

    Attributes:
        cell: the columns that say which cell it is.
        engine: what the environment is run by.
        baseline: name of the environment that it is compared with; itself where it is compared with none.
        repetitions: the repetitions in which it is to be measured.
        usable: False where nothing of it can be measured here.
        why_not: reason and remedy, where something can't be measured.
        spec_hashes: the hash of the specification that each repetition's record must have.
        if_needed: further repetitions, which are measured only where precision needs them.
    """

    cell: Mapping[str, Any]
    environment: str
    engine: str
    baseline: str
    repetitions: tuple[int, ...]
    usable: bool
    why_not: str
    spec_hashes: Mapping[int, str]
    if_needed: tuple[int, ...] = ()

    @property
    def is_baseline(self) -> bool:
        """Whether it is compared with nothing."""
        return self.baseline == self.environment

    def asks_for(self, record: Record) -> bool:
        """Whether a record is what the plan asks for; an empty hash in the plan leaves it open."""
        asked = self.spec_hashes.get(record.repetition)
        return asked is not None and asked in ("", record.spec_hash)


@dataclass(frozen=True)
class Measured:
    """The runs of one cell and environment by repetition.

    `unplanned` is the number of runs that are there but not what the plan asks for.
    """

    runs: Mapping[int, Record] = field(default_factory=dict)
    unplanned: int = 0


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key by which `b2` comes before `b16`."""
    parts = (part for part in re.split(r"(\d+)", name) if part)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)


def read_plan(plan: pd.DataFrame) -> dict[Key, Planned]:
    """The plan by cell and environment: cells by name; in each the baseline, then what is compared with it.

    Raises:
        StudyError: a column is missing, an environment has no baseline, or baselines go in a circle.
    """
    missing = [name for name in _NEEDED if name not in plan.columns]
    if missing:
        raise StudyError(f"the plan lacks the column {missing[0]!r}; remove plan.csv, and it is made anew.")
    found = {}
    for (cell, environment), rows in plan.groupby(["cell", "environment"], sort=False):
        found[str(cell), str(environment)] = _planned(str(environment), rows)
    for key in found:
        _check_baselines(key, found)
    order = sorted(found, key=lambda key: (natural(key[0]), _depth(key, found), natural(key[1])))
    return {key: found[key] for key in order}


def _planned(environment: str, rows: pd.DataFrame) -> Planned:
    first, bad, further = rows.iloc[0], rows[rows["status"] == UNUSABLE], rows[rows["status"] == IF_NEEDED]
    good = rows[~rows["status"].isin([UNUSABLE, IF_NEEDED])]
    hashes = zip(rows["repetition"], rows["spec_hash"], strict=True)
    return Planned(
        cell={n: int(first[n]) if COLUMNS[n] == "Int64" else text(first[n]) for n in CELL_COLUMNS},
        environment=environment,
        engine=text(first["engine"]),
        baseline=text(first["baseline"]),
        repetitions=tuple(int(r) for r in (good if len(good) else rows)["repetition"]),
        usable=len(good) > 0,
        why_not=notes.unusable(text(bad["reason"].iloc[0]), text(bad["remedy"].iloc[0])) if len(bad) else "",
        spec_hashes={int(repetition): text(value) for repetition, value in hashes},
        if_needed=tuple(int(repetition) for repetition in further["repetition"]),
    )


def with_needed(plan: Mapping[Key, Planned], runs: Mapping[Key, Measured]) -> dict[Key, Planned]:
    """The plan, with those blocks counted as planned that turned out to be needed: they have a record.

    The others are not missing from anything.
    """
    found = {}
    for key, one in plan.items():
        seen = {
            repetition
            for name in {one.environment, one.baseline}
            for repetition in runs.get((key[0], name), Measured()).runs
        }
        needed = tuple(repetition for repetition in one.if_needed if repetition in seen)
        found[key] = replace(one, repetitions=(*one.repetitions, *needed)) if needed else one
    return found


def _depth(key: Key, plan: Mapping[Key, Planned]) -> int:
    """How many comparisons lie between an environment and the one that is compared with nothing."""
    depth = 0
    while key in plan and not plan[key].is_baseline:
        depth, key = depth + 1, (key[0], plan[key].baseline)
    return depth


def _check_baselines(key: Key, plan: Mapping[Key, Planned]) -> None:
    """Refuse a plan in which nothing can be compared; a baseline that is not planned is told in its row."""
    cell, environment = key
    seen = [environment]
    while (cell, seen[-1]) in plan and not plan[cell, seen[-1]].is_baseline:
        baseline = plan[cell, seen[-1]].baseline
        if not baseline:
            raise StudyError(
                f"the plan names no baseline for {seen[-1]} in cell {cell}; remove plan.csv, and it is made anew."
            )
        seen.append(baseline)
        if baseline in seen[:-1]:
            raise StudyError(
                f"the baselines of cell {cell} go in a circle in the plan: {' -> '.join(seen)}; "
                "remove plan.csv, and it is made anew."
            )


def sort_records(records: Iterable[Record], plan: Mapping[Key, Planned]) -> dict[Key, Measured]:
    """The records of what is planned, by cell and environment.

    Those of another specification than the plan's, or of a repetition not in it, are counted and not used.

    Raises:
        StudyError: two records of one run.
    """
    runs: dict[Key, dict[int, Record]] = defaultdict(dict)
    unplanned: dict[Key, int] = defaultdict(int)
    for record in records:
        key = record.cell.name, record.environment
        if key not in plan:
            continue
        if record.repetition in runs[key]:
            raise StudyError(
                f"there are two records of cell {key[0]}, environment {key[1]}, "
                f"repetition {record.repetition}; keep one."
            )
        if plan[key].asks_for(record):
            runs[key][record.repetition] = record
        else:
            unplanned[key] += 1
    return {key: Measured(runs[key], unplanned[key]) for key in runs}
