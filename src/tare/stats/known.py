"""Answers that are known beforehand: bare against itself, and slow-downs that were injected.

Whoever doubts an overhead looks here first: what is true for these by construction must come out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from tare.plan.environment import Environment
from tare.plan.study import Study
from tare.records.schema import Record
from tare.stats import digits, precision
from tare.stats.comparable import is_comparable
from tare.stats.intervals import Estimate
from tare.stats.metrics import named
from tare.stats.overhead import Comparison, compare
from tare.stats.planned import Measured, read_plan, sort_records, with_needed

# All intervals together hold their truths with at least this confidence (Bonferroni: each at 1 - (1 - it) / number).
JOINT_LEVEL = 0.99
LEVEL = 0.95
# A 95 % interval that is wider than this, in points, would hold almost any truth.
WIDEST_PCT = 3.0


@dataclass(frozen=True)
class Answer:
    """One comparison whose overhead is known, and what was measured.

    Attributes:
        truth_pct: the overhead that is true by construction.
        estimate: None where nothing could be estimated.
        joint_pct: the interval of all answers together.
        problem: why the answer is not right, in words; empty where it is.
        notes: what else is to be said of the blocks: noise, drift, order.
    """

    cell: str
    environment: str
    baseline: str
    truth_pct: float
    estimate: Estimate | None
    joint_pct: tuple[float, float] | None
    problem: str
    notes: str = ""


@dataclass(frozen=True)
class SelfCheck:
    """Known answers that were measured together, and the day on which the last run of them began (ISO)."""

    answers: list[Answer]
    day: str

    @property
    def passed(self) -> bool:
        """Whether every answer is met."""
        return not any(answer.problem for answer in self.answers)


def log_truth(environment: Environment, baseline: Environment) -> float | None:
    """Log of (time per step in one / in the other) where nothing but the injected share tells them apart.

    A step with `injected: 3` takes 1.03 times as long. Returns None where the two differ otherwise too.
    """
    ours, theirs = environment.options(), baseline.options()
    injected, base = ours.pop("injected", 0.0), theirs.pop("injected", 0.0)
    return math.log((1 + injected / 100) / (1 + base / 100)) if ours == theirs else None


def answers(
    records: Sequence[Record], plan: pd.DataFrame, study: Study, *, looked_at: bool = False
) -> list[Answer]:
    """Every comparison of a study whose answer is known, in the order of overhead.csv.

    Args:
        records: all runs of the study, whatever became of them.
        plan: plan.csv as a frame.
        study: as it was frozen.
        looked_at: as in `tare.stats.precision.until_precise`.

    Raises:
        ValueError: two records of one run, or a plan without a needed column.
    """
    planned, metric = read_plan(plan), named(study.metric)
    runs = sort_records(records, planned)
    planned = with_needed(planned, runs)
    environments = {entry.name: entry for entry in study.environments}
    stretch = precision.until_precise(study, looked_at=looked_at)
    found = []
    for (cell, name), one in planned.items():
        if one.is_baseline or name not in environments or one.baseline not in environments:
            continue
        truth = log_truth(environments[name], environments[one.baseline])
        if truth is not None:
            own, base = runs.get((cell, name), Measured()), runs.get((cell, one.baseline), Measured())
            compared = compare(one, own, base, metric, level=LEVEL, until_precise=stretch)
            found.append((metric.overhead_pct(truth), one, compared))
    joint_level = 1 - (1 - JOINT_LEVEL) / max(len(found), 1)
    return [
        _judged(
            Answer(
                cell=str(one.cell["cell"]),
                environment=one.environment,
                baseline=one.baseline,
                truth_pct=truth_pct,
                estimate=compared.estimate,
                joint_pct=None if compared.estimate is None else compared.estimate.interval_pct(joint_level),
                problem="",
                notes="; ".join(compared.notes),
            ),
            compared,
        )
        for truth_pct, one, compared in found
    ]


def _judged(answer: Answer, compared: Comparison) -> Answer:
    if answer.estimate is None:
        differs = "" if is_comparable(compared.comparable) else compared.comparable
        said = "; ".join(part for part in (differs, answer.notes) if part)
        problem = f"nothing was estimated: {said or 'no block has both runs'}"
        return replace(answer, problem=problem, notes="")
    planned = len(compared.planned.repetitions)
    if answer.estimate.blocks < planned:
        return replace(answer, problem=f"only {answer.estimate.blocks} of {planned} blocks have both runs")
    interval = answer.estimate.interval_pct()
    if interval is None or answer.joint_pct is None:
        blocks = answer.estimate.blocks
        problem = "one block gives no interval"
        if blocks > 1:
            problem = f"all {blocks} blocks have the very same ratio, which gives no interval"
        return replace(answer, problem=problem)
    low, high = answer.joint_pct
    if not low <= answer.truth_pct <= high:
        places = digits.decimals(low, high, bounds=[answer.truth_pct])
        joint, truth = digits.interval(low, high, places), digits.fixed(answer.truth_pct, places)
        problem = f"the joint interval {joint} misses the truth {truth}"
        return replace(answer, problem=problem)
    width = interval[1] - interval[0]
    # written so that a NaN fails too
    if not width <= WIDEST_PCT:
        wide = digits.fixed(width, digits.decimals(width, bounds=[WIDEST_PCT]))
        problem = f"the 95 % interval is {wide} points wide, more than {WIDEST_PCT:g}"
        return replace(answer, problem=problem)
    return answer
