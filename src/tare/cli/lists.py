"""`tare overhead`: the user's own numbers."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict

from tare.cli import numbers
from tare.plan.errors import StudyError, shown
from tare.report import wording
from tare.stats.lists import ListOverhead, overhead_of_values

_SHOWN = 5


def overhead(arguments: Namespace) -> int:
    """Print what two files of numbers say.

    Raises:
        StudyError: a file or an option is wrong.
    """
    base, own = (
        numbers.read(path, arguments.column, arguments.pair)
        for path in (arguments.baseline, arguments.platform)
    )
    _check_columns(base, own, arguments.metric)
    values, notes = _paired(base, own)
    try:
        found = overhead_of_values(
            *values, metric=arguments.metric, paired=base.pairs is not None,
            margin_pct=arguments.margin_pct, level=arguments.level,
        )  # fmt: skip
    except ValueError as error:
        raise StudyError(str(error)) from error
    notes = [part for part in (found.note, *notes) if part]
    if arguments.json:
        columns = {"baseline_column": base.column, "platform_column": own.column}
        told = asdict(found) | columns | {"note": "; ".join(notes)}
        print(json.dumps(told, indent=1, allow_nan=False))
    else:
        # with the columns' names, so that nobody's first value passes for a header unseen
        print(f"Overhead of {_named(own)} against {_named(base)} in {found.metric}; positive = slower.")
        _print(arguments, found, notes)
    return 0


def _check_columns(base: numbers.Numbers, own: numbers.Numbers, metric: str) -> None:
    """Refuse columns that by their names hold different things, or something else than what was asked for.

    Raises:
        StudyError: so they do.
    """
    names = [one.column or "" for one in (base, own)]
    kinds = [numbers.kind_of(name) for name in names]
    for one, name, kind in zip((base, own), names, kinds, strict=True):
        if kind and kind != metric:
            raise StudyError(
                f"{one.path} has its values in the column {shown(name)}, which sounds like a {kind}, not a {metric}; "
                f"rename the column if it holds a {metric}, else say --metric {kind}."
            )
    if all(kinds) and names[0].casefold() != names[1].casefold():
        raise StudyError(
            f"{base.path} has its values in the column {shown(names[0])} and {own.path} in {shown(names[1])}; "
            "if both are the same measure in the same unit, give them one name."
        )


def _named(one: numbers.Numbers) -> str:
    return str(one.path) if one.column is None else f"{one.path} (column {one.column})"


def _paired(base: numbers.Numbers, own: numbers.Numbers) -> tuple[tuple[list[float], list[float]], list[str]]:
    """The values to compare, those of a pair at the same place, and what has to be said of others."""
    if base.pairs is None and own.pairs is None:
        return (base.values, own.values), []
    if base.pairs is None or own.pairs is None:
        one, other = (base, own) if own.pairs is None else (own, base)
        raise StudyError(
            f"{one.path} has a column of pairs and {other.path} has none; give both one, or take it out of both."
        )
    theirs, ours = (dict(zip(n.pairs or (), n.values, strict=True)) for n in (base, own))
    common = [name for name in theirs if name in ours]
    if not common:
        raise StudyError(f"{base.path} and {own.path} have no pair in common.")
    notes = []
    for one, names in (
        (base, [n for n in theirs if n not in ours]),
        (own, [n for n in ours if n not in theirs]),
    ):
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            notes.append(f"not used, since only {one.path} has them: pairs {', '.join(names[:_SHOWN])}{more}")
    return ([theirs[name] for name in common], [ours[name] for name in common]), notes


def _print(arguments: Namespace, found: ListOverhead, notes: list[str]) -> None:
    interval = wording.interval(found.ci_low_pct, found.ci_high_pct, arguments.margin_pct)
    runs = (
        wording.count(found.platform_runs, "pair")
        if found.paired
        else f"{found.baseline_runs} and {found.platform_runs} independent values"
    )
    estimate = wording.pct(
        found.estimate_pct, found.ci_low_pct, found.ci_high_pct, margin=arguments.margin_pct
    )
    print(f"Estimate: {estimate} % {interval or '(no interval)'}, {100 * found.level:g} % t interval, {runs}")
    print(
        f"By the papers' formula: {wording.pct(found.performance_overhead_pct)} %, "
        f"from the means {wording.quantity(found.baseline_value)} and {wording.quantity(found.value)}"
    )
    print(f"Verdict: {found.verdict} (margin {arguments.margin_pct:g} %)")
    for note in notes:
        print(wording.sentence(f"Note: {note}"))
