"""overhead.csv: one row per cell and environment, baselines included, whether measured or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

import pandas as pd

from tare.plan.study import FEWEST_FOR_BCA, Study
from tare.records.schema import Record
from tare.stats import bootstrap, drift, multiple, notes, precision, stalls, table, verdicts
from tare.stats.comparable import comparable, is_comparable
from tare.stats.intervals import Estimate, estimate
from tare.stats.metrics import Metric, named
from tare.stats.pairs import Pair, log_time_ratio, pair_up
from tare.stats.planned import Key, Measured, Planned, read_plan, sort_records, with_needed

_NOTHING = Measured()
# In the column ci_method: made wider for stopping by the width (`tare.stats.precision.stretched`).
STRETCHED = "stretched"


@dataclass(frozen=True)
class Comparison:
    """An environment with its baseline in one cell, before anything is decided.

    Attributes:
        pairs: the blocks in which both ended well.
        comparable: as in overhead.csv; empty where there is no pair.
        estimate: None where there is no pair or the two can't be compared.
        notes: what is to be said of drift and order, and of failed, missing and unused runs.
        stall: what total times say; it is looked at for all rows of a table together.
    """

    planned: Planned
    metric: Metric
    pairs: list[Pair]
    comparable: str
    estimate: Estimate | None
    notes: list[str]
    stall: stalls.Stall | None = None


def _said_of_runs(
    planned: Planned, own: Measured, base: Measured | None, used: int, apart: int = 0
) -> list[str]:
    """What is to be said of the runs; `base` are those of the baseline, None for a baseline's own row."""
    total = len(planned.repetitions)
    found = notes.failures(own.runs.values(), total)
    unplanned = own.unplanned
    if base is not None:
        theirs = [run for repetition, run in base.runs.items() if repetition in planned.repetitions]
        found += notes.failures(theirs, total, of=planned.baseline)
        unplanned += base.unplanned
    found += notes.noise(own.runs.values())
    if base is not None:
        found += notes.noise(theirs, of=planned.baseline)
    found += notes.spinning([*own.runs.values(), *([] if base is None else theirs)])
    if apart:
        found.append(f"{notes.count(apart, 'block')} not used: the two runs were not measured side by side")
    if unplanned:
        found.append(
            f"{notes.count(unplanned, 'run')} not used: made for other settings or repetitions than planned"
        )
    absent = notes.absent(planned.repetitions, own.runs, *([] if base is None else [base.runs]))
    if absent:
        found.append(f"{used} of {notes.count(total, 'run' if base is None else 'block')} measured")
        found += [planned.why_not] if planned.why_not else []
    return found


def compare(
    planned: Planned,
    own: Measured,
    base: Measured,
    metric: Metric,
    *,
    level: float = 0.95,
    make: Callable[[Sequence[float], Metric, float], Estimate] = estimate,
    until_precise: bool = False,
) -> Comparison:
    """Pair an environment's runs with its baseline's and estimate the overhead.

    Args:
        planned: the environment in one cell.
        own: its runs.
        base: its baseline's runs.
        metric: what the overhead is expressed in.
        level: confidence level of the interval.
        make: makes the estimate of the blocks' log ratios.
        until_precise: whether measuring stops where intervals are narrow, for which they are made wider.
    """
    pairs, apart = pair_up(base.runs, own.runs)
    said = comparable(pairs) if pairs else ""
    ratios = [ratio for pair in pairs if (ratio := log_time_ratio(pair)) is not None]
    if until_precise:
        ratios = precision.stretched(ratios)
    found = make(ratios, metric, level) if is_comparable(said) else None
    if found is not None and until_precise:
        found = replace(found, stretch=precision.STRETCH)
    return Comparison(
        planned=planned,
        metric=metric,
        pairs=pairs,
        comparable=said,
        estimate=found,
        notes=[
            *(drift.notes(pairs, metric) if found is not None else []),
            *_said_of_runs(planned, own, base, len(pairs), len(apart)),
        ],
        stall=stalls.look(pairs, metric, until_precise=until_precise) if found is not None else None,
    )


def _needed(found: Estimate, margin_pct: float) -> str:
    """What an estimate without a verdict lacks."""
    few = notes.count(found.blocks, "block")
    if found.interval_pct() is None and found.method == bootstrap.BCA and found.blocks < FEWEST_FOR_BCA:
        gives = "gives" if found.blocks == 1 else "give"
        return f"{few} {gives} no BCa interval, at least {FEWEST_FOR_BCA} are needed"
    if found.sd is None:
        return (
            "1 block gives no interval, at least 2 are needed"
            if found.blocks == 1
            else f"all {found.blocks} blocks have the very same ratio, which gives no interval"
        )
    blocks = verdicts.blocks_needed(found, margin_pct)
    number = f"about {blocks}" if blocks else f"over {verdicts.MOST_BLOCKS}"
    return f"for a verdict a new study of {number} blocks would be needed"


def _row(planned: Planned, metric: Metric, verdict: str, said: Sequence[str]) -> dict[str, Any]:
    return {
        **planned.cell,
        "environment": planned.environment,
        "engine": planned.engine,
        "baseline": planned.baseline,
        "metric": metric.name,
        "unit": metric.unit,
        "blocks": 0,
        "ci_method": "",
        "verdict": verdict,
        "comparable": "",
        "note": "; ".join(said),
    }


def _mean(metric: Metric, runs: Iterable[Record]) -> float:
    """Mean over runs that ended well, which all have a value."""
    return fmean(value for run in runs if (value := metric.value(run)) is not None)


def decide(comparison: Comparison, margin_pct: float, adjust: multiple.Adjustment) -> dict[str, Any]:
    """The comparison as a row of overhead.csv; `adjust` is what made the levels of its estimate."""
    metric, pairs, found = comparison.metric, comparison.pairs, comparison.estimate
    if not pairs:
        return _row(comparison.planned, metric, verdicts.MISSING, comparison.notes)
    verdict = verdicts.NOT_COMPARABLE if found is None else verdicts.verdict(found, margin_pct)
    said = []
    if found is not None:
        said = [_needed(found, margin_pct)] if verdict == verdicts.INCONCLUSIVE else []
        said += [phrase] if (phrase := verdicts.equivalence_note(found, margin_pct)) else []
    baseline = _mean(metric, (pair.baseline for pair in pairs))
    value = _mean(metric, (pair.platform for pair in pairs))
    low, high = (found.interval_pct() if found is not None else None) or (None, None)
    return _row(comparison.planned, metric, verdict, [*said, *comparison.notes]) | {
        "blocks": len(pairs),
        "baseline_value": baseline,
        "value": value,
        # of what can't be compared there is no overhead, by whatever formula
        "performance_overhead_pct": None
        if found is None
        else metric.performance_overhead_pct(baseline, value),
        "estimate_pct": None if found is None else found.pct,
        "ci_low_pct": low,
        "ci_high_pct": high,
        "ci_level_pct": None if found is None or low is None else 100 * found.level,
        "ci_method": "" if found is None or low is None else _method(found, adjust),
        "margin_pct": None if found is None else margin_pct,
        "comparable": comparison.comparable,
    }


def _method(found: Estimate, adjust: multiple.Adjustment) -> str:
    return ", ".join(
        [
            found.method,
            *([STRETCHED] if found.stretch else []),
            *([multiple.HOLM] if adjust == "holm" else []),
        ]
    )


def _baseline_row(planned: Planned, own: Measured, metric: Metric) -> dict[str, Any]:
    """Its own runs, however many of them take part in a comparison."""
    good = [run for run in own.runs.values() if run.status == "ok"]
    said = _said_of_runs(planned, own, None, len(good))
    if not good:
        return _row(planned, metric, verdicts.MISSING, said)
    mean = _mean(metric, good)
    return _row(planned, metric, verdicts.BASELINE, said) | {
        "blocks": len(good),
        "baseline_value": mean,
        "value": mean,
        "comparable": "yes",
    }


def _why_not(planned: Planned, plan: Mapping[Key, Planned], runs: Mapping[Key, Measured], cell: str) -> str:
    """Why an environment can't be compared, whatever is measured from now on; empty where it can."""
    if not planned.usable and (cell, planned.environment) not in runs:
        return planned.why_not or "it can't be used here"
    baseline = plan.get((cell, planned.baseline))
    if baseline is None:
        return f"its baseline {planned.baseline} is not planned for this cell"
    if not baseline.usable and (cell, planned.baseline) not in runs:
        return f"its baseline {planned.baseline} can't be used here: {baseline.why_not}"
    return ""


_MAKE: dict[str, Callable[[Sequence[float], Metric, float], Estimate]] = {
    "t": estimate,
    "bca": bootstrap.bca_estimate,
}


def overhead(
    records: Sequence[Record],
    plan: pd.DataFrame,
    *,
    metric: str,
    margin_pct: float,
    adjust: multiple.Adjustment = "holm",
    interval: Literal["t", "bca"] = "t",
    until_precise: bool = False,
) -> pd.DataFrame:
    """The table of overheads.

    Args:
        records: all runs, whatever became of them; those of cells or environments not planned are not used.
        plan: plan.csv as a frame; it says which rows there are.
        metric: name of the metric (`tare.stats.metrics.METRICS`).
        margin_pct: the equivalence margin of the study.
        adjust: whether levels are set for all comparisons of the table together (Holm) or for each by itself.
        interval: how the interval over blocks is made.
        until_precise: whether measuring stops where intervals are narrow (`precision_pct`), see `compare`.

    Returns:
        A frame with the columns and types of `tare.stats.table.COLUMNS`.

    Raises:
        ValueError: an unknown metric, a margin that is not positive, and (a StudyError) a plan without a needed
            column or with baselines that are missing or go in a circle, or two records of one run.
    """
    chosen, planned = named(metric), read_plan(plan)
    verdicts.check_margin(margin_pct)
    runs = sort_records(records, planned)
    planned = with_needed(planned, runs)
    rows: list[dict[str, Any] | Comparison] = []
    for (cell, environment), one in planned.items():
        own, base = runs.get((cell, environment), _NOTHING), runs.get((cell, one.baseline), _NOTHING)
        why_not = _why_not(one, planned, runs, cell)
        if why_not:
            rows.append(_row(one, chosen, verdicts.NOT_MEASURED, [why_not]))
        elif one.is_baseline:
            rows.append(_baseline_row(one, own, chosen))
        else:
            rows.append(compare(one, own, base, chosen, make=_MAKE[interval], until_precise=until_precise))
    if adjust == "holm":
        rows = _together(rows, margin_pct)
    rows = _with_stalls(rows)
    return table.frame(
        [decide(row, margin_pct, adjust) if isinstance(row, Comparison) else row for row in rows]
    )


def of_study(
    study: Study, records: Sequence[Record], plan: pd.DataFrame, *, looked_at: bool = False
) -> pd.DataFrame:
    """The table of overheads as a study wants it; see `overhead`.

    Args:
        looked_at: whether it was ever measured until intervals were narrow, see `precision.until_precise`.
    """
    return overhead(
        records,
        plan,
        metric=study.metric,
        margin_pct=study.margin_pct,
        adjust=study.adjust,
        interval=study.interval,
        until_precise=precision.until_precise(study, looked_at=looked_at),
    )


def _together(
    rows: Sequence[dict[str, Any] | Comparison], margin_pct: float
) -> list[dict[str, Any] | Comparison]:
    """The rows with the estimates at levels that hold for all of them together."""
    estimates = [row.estimate for row in rows if isinstance(row, Comparison) and row.estimate is not None]
    changed = iter(multiple.adjusted(estimates, margin_pct))
    return [
        replace(row, estimate=next(changed))
        if isinstance(row, Comparison) and row.estimate is not None
        else row
        for row in rows
    ]


def _with_stalls(rows: Sequence[dict[str, Any] | Comparison]) -> list[dict[str, Any] | Comparison]:
    """The rows with a note where total times say something else than medians."""
    said = iter(stalls.notes([row.stall for row in rows if isinstance(row, Comparison)]))
    return [
        replace(row, notes=[*([words] if (words := next(said)) else []), *row.notes])
        if isinstance(row, Comparison)
        else row
        for row in rows
    ]
