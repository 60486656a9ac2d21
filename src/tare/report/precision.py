"""How precise a study is that wished a precision; nothing of it in reports of other studies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tare.plan.study import FEWEST_FOR_PRECISION
from tare.report import wording
from tare.stats import verdicts
from tare.stats.precision import STRETCH, Reached, reached


def _wished(study: Mapping[str, Any]) -> float | None:
    wished = study.get("precision_pct")
    return None if wished is None else float(wished)


def rows(overhead: pd.DataFrame, study: Mapping[str, Any]) -> list[dict[str, str]]:
    """Each comparison that can be made, as text.

    Args:
        study: precision_pct, where a precision was wished.
    """
    wished = _wished(study)
    return [] if wished is None else [_row(one, wished) for one in reached(overhead, wished)]


def _row(one: Reached, wished: float) -> dict[str, str]:
    half = one.half_width_pct
    more = f"over {verdicts.MOST_BLOCKS}" if half is not None else ""
    return {
        "cell": one.cell,
        "environment": one.environment,
        "blocks": str(one.blocks),
        "half_width": wording.pct(half, margin=wished),
        "enough": "yes" if one.enough else "no",
        "more": more if one.more_blocks is None else str(one.more_blocks),
    }


def said(overhead: pd.DataFrame, study: Mapping[str, Any]) -> str:
    """In how many cells what was asked for was reached; empty where nothing was asked for."""
    wished = _wished(study)
    if wished is None:
        return ""
    cells: dict[str, list[bool]] = defaultdict(list)
    for one in reached(overhead, wished):
        cells[one.cell].append(one.enough)
    asked = f"Intervals of at most ±{wished:g} points were asked for"
    if not cells:
        return f"{asked}; nothing can be compared yet."
    lacking = [cell for cell, found in cells.items() if not all(found)]
    done = len(cells) - len(lacking)
    if not lacking:
        return f"{asked}, and reached in {'the one cell' if done == 1 else f'all {done} cells'}."
    return (
        f"{asked}, and reached in {done} of {wording.count(len(cells), 'cell')}; not in {wording.listed(lacking)}. "
        "How many more blocks would be needed supposes that mean and spread stay as they are."
    )


def protocol(study: Mapping[str, Any]) -> list[str]:
    """The paragraph on when measuring stopped."""
    wished = _wished(study)
    if wished is None:
        return []
    first, most = study.get("repetitions"), study.get("max_repetitions")
    until = f" and at most {most}" if most else ""
    return [
        f"Each cell was measured in at least {first} blocks{until}, and went on until its intervals, from "
        f"{FEWEST_FOR_PRECISION} blocks on, were at most ±{wished:g} points wide. Stopping when an interval is "
        "narrow makes intervals too narrow; to make up for it, deviations of blocks from their mean were multiplied by "
        f"1 + {STRETCH:g} / blocks before the interval was made."
    ]
