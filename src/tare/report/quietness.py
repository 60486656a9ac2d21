"""How quiet it was: the verdicts of all runs, by cell and environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.records.schema import Record
from tare.report import wording
from tare.stats import notes


@dataclass(frozen=True)
class Quietness:
    """The runs of one cell in one environment, counted by their verdicts."""

    cell: str
    environment: str
    quiet: int
    noisy: int
    not_judged: int
    why: str


def quietness(records: Sequence[Record]) -> list[Quietness]:
    """A row for each cell and environment, in the order of the records."""
    places = dict.fromkeys((record.cell.name, record.environment) for record in records)
    rows = []
    for cell, environment in places:
        runs = [r for r in records if (r.cell.name, r.environment) == (cell, environment)]
        noisy, judged = [r for r in runs if notes.is_noisy(r)], [r for r in runs if r.noise_verdict]
        rows.append(
            Quietness(
                cell=cell,
                environment=environment,
                quiet=len(judged) - len(noisy),
                noisy=len(noisy),
                not_judged=len(runs) - len(judged),
                why="; ".join(notes.noise_reasons(noisy)),
            )
        )
    return rows


def said(rows: Sequence[Quietness]) -> str:
    """All of it in a sentence."""
    quiet, noisy = sum(row.quiet for row in rows), sum(row.noisy for row in rows)
    judged, unjudged = quiet + noisy, sum(row.not_judged for row in rows)
    left = f" {wording.count(unjudged, 'run')} could not be judged." if unjudged else ""
    if not judged:
        return "No run has been judged." + left if rows else "No run has been made yet."
    if not noisy:
        return f"All {judged} runs that were judged were quiet.{left}"
    return (
        f"{noisy} of {wording.count(judged, 'run')} {'was' if noisy == 1 else 'were'} noisy. "
        f"Noisy runs count like all others; an interval is as wide as they made it.{left}"
    )
