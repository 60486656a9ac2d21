"""The lists and tables of the page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from tare.plan.table import IF_NEEDED, MEASURE
from tare.records.schema import Record
from tare.report import rows, wording
from tare.stats import digits
from tare.stats.comparable import SEPARATOR
from tare.stats.known import Answer, SelfCheck
from tare.stats.planned import natural
from tare.stats.table import text


@dataclass(frozen=True)
class Unmeasured:
    """What can't be measured here."""

    environments: str
    cells: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class Failed:
    """A run without a result."""

    cell: str
    repetition: int
    environment: str
    status: str
    stage: str
    reason: str
    log_tail: str
    record: str


def progress(plan: pd.DataFrame, runs: pd.DataFrame) -> str:
    """How far the study is."""
    planned = int((plan["status"] == MEASURE).sum()) + _turned_out_needed(plan, runs)
    done = int((runs["status"] == "ok").sum())
    bad = len(runs) - done
    if not planned and not len(runs):
        return "Nothing of this study can be measured here."
    if not len(runs):
        return f"Nothing has been measured yet: {wording.count(planned, 'run')} planned."
    failed = f", {bad} without a result" if bad else ""
    absent = int((plan["status"] == "unusable").sum())
    beside = f"; {absent} more that were asked for can't be measured here" if absent else ""
    return f"{done} of {wording.count(planned, 'run')} measured{failed}{beside}."


def _turned_out_needed(plan: pd.DataFrame, runs: pd.DataFrame) -> int:
    """Runs that were planned only if needed, and were."""
    place = ["cell", "environment", "repetition"]
    further = plan.loc[plan["status"] == IF_NEEDED, place].itertuples(index=False, name=None)
    return len({*further} & {*runs[place].itertuples(index=False, name=None)})


def period(records: Sequence[Record]) -> str:
    """When the runs were made."""
    days = sorted(record.started_at[:10] for record in records)
    if not days:
        return ""
    return f"Measured on {days[0]}" if days[0] == days[-1] else f"Measured from {days[0]} to {days[-1]}"


def unmeasured(plan: pd.DataFrame) -> list[Unmeasured]:
    """What the plan says can't be measured here, by reason."""
    bad = plan[plan["status"] == "unusable"]
    cells_of: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in bad.drop_duplicates(["cell", "environment"]).itertuples():
        cells_of[str(row.environment), text(row.reason), text(row.remedy)].append(str(row.cell))
    environments_of: dict[tuple[tuple[str, ...], str, str], list[str]] = defaultdict(list)
    for (environment, reason, remedy), where in cells_of.items():
        environments_of[tuple(sorted(where, key=natural)), reason, remedy].append(environment)
    every_environment = set(plan["environment"])
    possible = set(plan.loc[plan["status"] == "measure", "cell"]) or set(plan["cell"])
    found = []
    for (cells, reason, remedy), names in environments_of.items():
        all_environments = set(names) == every_environment
        all_cells = possible <= set(cells) and len(cells) > 1
        found.append(
            Unmeasured(
                environments="all environments"
                if all_environments
                else ", ".join(sorted(names, key=natural)),
                cells="all cells" if all_cells else ", ".join(cells),
                reason=wording.sentence(reason),
                remedy=wording.sentence(remedy),
            )
        )
    return found


@dataclass(frozen=True)
class Differing:
    """In what an environment differs from its baseline by nature or declaration, in some cells."""

    environment: str
    baseline: str
    cells: str
    differences: tuple[str, ...]


def differing(lines: Sequence[rows.Line]) -> list[Differing]:
    """What differs, in detail, once for each environment, or for each group of cells in which it is not the same."""
    cells_of: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    possible: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        if line.blocks not in ("", "0"):
            possible[line.environment].add(line.cell)
        if line.differs:
            cells_of[line.environment, line.baseline, line.differs].append(line.cell)
    return [
        Differing(
            environment=environment,
            baseline=baseline,
            cells="all cells" if set(cells) == possible[environment] else ", ".join(cells),
            differences=tuple(differs.split(SEPARATOR)),
        )
        for (environment, baseline, differs), cells in cells_of.items()
    ]


def set_aside(superseded: int, interrupted: int) -> str:
    """A sentence on the records that are not in the tables; empty where there are none."""
    said = []
    if superseded:
        said.append(f"{wording.count(superseded, 'record')} replaced by measuring again (in superseded/)")
    if interrupted:
        said.append(f"{wording.count(interrupted, 'run')} broken off (in interrupted/)")
    return f"Not in the tables: {wording.listed(said)}." if said else ""


def self_check(check: SelfCheck | None) -> str:
    """What the last self-check of this machine came to."""
    if check is None:
        return "There is no self-check of this machine beside this study; `make self-check` measures known answers."
    said = "each interval holds its truth" if check.passed else "NOT all of them were met"
    return (
        f"The last self-check of this machine, of {check.day}, measured "
        f"{wording.count(len(check.answers), 'overhead')} whose truth is known beforehand: {said}."
    )


def _ends(ends: tuple[float | None, float | None], places: int) -> str:
    low, high = ends
    return "" if low is None or high is None else digits.interval(low, high, places)


def known_rows(answers: Iterable[Answer]) -> list[dict[str, str]]:
    """Each known answer as text."""
    found = []
    for answer in answers:
        estimate, nothing, truth = answer.estimate, (None, None), answer.truth_pct
        interval, joint = (estimate and estimate.interval_pct()) or nothing, answer.joint_pct or nothing
        ends = [end for end in (*interval, *joint) if end is not None]
        places = digits.decimals(*ends, bounds=[truth])
        found.append(
            {
                "cell": answer.cell,
                "environment": answer.environment,
                "blocks": "" if estimate is None else str(estimate.blocks),
                "truth": digits.fixed(truth, places),
                "estimate": "" if estimate is None else digits.fixed(estimate.pct, places),
                "interval": _ends(interval, places),
                "joint": _ends(joint, places),
                "problem": answer.problem,
                "notes": answer.notes,
            }
        )
    return found


def failed(records: Sequence[Record], runs: pd.DataFrame) -> list[Failed]:
    """Runs without a result."""
    paths = {(r.cell, r.environment, r.repetition): text(r.record) for r in runs.itertuples()}
    return [
        Failed(
            cell=record.cell.name,
            repetition=record.repetition,
            environment=record.environment,
            status=record.status,
            stage=record.failure.stage,
            reason=wording.sentence(record.failure.reason),
            log_tail=record.failure.log_tail,
            record=paths.get((record.cell.name, record.environment, record.repetition), ""),
        )
        for record in records
        if record.failure is not None
    ]


def run_rows(runs: pd.DataFrame) -> list[dict[str, str]]:
    """Every run as text."""
    ordered = sorted(
        runs.to_dict("records"),
        key=lambda r: (natural(r["cell"]), r["repetition"], natural(r["environment"])),
    )
    return [
        {
            "cell": text(run["cell"]),
            "repetition": text(run["repetition"]),
            "environment": text(run["environment"]),
            "status": text(run["status"]),
            "started": text(run["started_at"])[:19].replace("T", " "),
            "wait": wording.quantity(run["wait_s"]),
            "turns": text(run["turns"]),
            "steps": text(run["steps"]),
            "throughput": wording.quantity(run["throughput_images_per_sec"]),
            "noise": text(run["noise"]),
            "record": text(run["record"]),
        }
        for run in ordered
    ]
