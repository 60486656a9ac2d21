"""Measuring until intervals are narrow enough: what each comparison has reached, and what it would still need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import pandas as pd

from tare.plan.study import FEWEST_FOR_PRECISION, Study
from tare.stats import digits, verdicts
from tare.stats.intervals import Estimate, half_width
from tare.stats.metrics import named
from tare.stats.notes import count
from tare.stats.table import text

# Stopping when an interval is narrow prefers moments at which the spread came out too small. Deviations from the mean
# that are multiplied by 1 + STRETCH / blocks make up for it: benchmarks/optional_stopping.py shows with and without.
STRETCH = 2.0


@dataclass(frozen=True)
class Reached:
    """How precise one comparison is.

    Attributes:
        blocks: the blocks that it rests on.
        half_width_pct: half the width of its interval, points; None where there is no interval.
        enough: whether it needs no more blocks.
        more_blocks: how many more would be needed, should mean and spread stay as they are; 0 where it is enough,
            None where that can't be told or is beyond `verdicts.MOST_BLOCKS`.
    """

    cell: str
    environment: str
    baseline: str
    blocks: int
    half_width_pct: float | None
    enough: bool
    more_blocks: int | None

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


def until_precise(study: Study, *, looked_at: bool) -> bool:
    """Whether a study's blocks stopped, or may have stopped, where intervals were narrow.

    Args:
        looked_at: whether it was ever measured so: that the wish was taken out of the study later does not take the
            stopping out of its blocks.
    """
    return study.precision_pct is not None or looked_at


def stretched(log_time_ratios: Sequence[float]) -> list[float]:
    """The blocks' log ratios, with the deviations from their mean made larger, as stopping by the width needs it."""
    if len(log_time_ratios) < 2:
        return list(log_time_ratios)
    mean, factor = fmean(log_time_ratios), 1 + STRETCH / len(log_time_ratios)
    return [mean + factor * (value - mean) for value in log_time_ratios]


def half_width_pct(low_pct: float | None, high_pct: float | None) -> float | None:
    """Half the width of an interval, points; None where there is none."""
    if low_pct is None or high_pct is None or pd.isna(low_pct) or pd.isna(high_pct):
        return None
    return (high_pct - low_pct) / 2


def enough(half_pct: float | None, blocks: int, wished_pct: float) -> bool:
    """The rule by which a comparison stops.

    Args:
        half_pct: half the width of its interval, points; None where there is none.
        blocks: the blocks that it rests on.
        wished_pct: the half-width that is wished, points.
    """
    return half_pct is not None and blocks >= FEWEST_FOR_PRECISION and half_pct <= wished_pct


def reached(overhead: pd.DataFrame, wished_pct: float) -> list[Reached]:
    """Each comparison that can be made, in the order of the table.

    What is not comparable, not measured at all or not measurable here is not among them: more blocks would not help.

    Args:
        overhead: the table of overheads, its intervals as they are printed.
        wished_pct: the half-width that is wished, points.
    """
    return [
        _reached(row, wished_pct)
        for row in overhead.to_dict("records")
        if text(row["verdict"]) in verdicts.DECIDED_BY_ESTIMATE
    ]


def _reached(row: dict[str, Any], wished_pct: float) -> Reached:
    blocks, half_pct = int(row["blocks"]), half_width_pct(row["ci_low_pct"], row["ci_high_pct"])
    done = enough(half_pct, blocks, wished_pct)
    needed = None
    if half_pct is not None and not done:
        needed = blocks_needed(_estimate(row), wished_pct)
    return Reached(
        cell=text(row["cell"]),
        environment=text(row["environment"]),
        baseline=text(row["baseline"]),
        blocks=blocks,
        half_width_pct=half_pct,
        enough=done,
        more_blocks=0 if done else None if needed is None else max(needed - blocks, 1),
    )


def _estimate(row: dict[str, Any]) -> Estimate:
    """The t interval that is as wide as the row's."""
    metric, blocks = named(text(row["metric"])), int(row["blocks"])
    low, high = (metric.log_time_ratio(float(row[name])) for name in ("ci_low_pct", "ci_high_pct"))
    level = float(row["ci_level_pct"]) / 100
    sd = (high - low) / 2 / half_width(1.0, blocks, level)
    return Estimate((low + high) / 2, sd, blocks, metric, level, stretch=STRETCH)


def blocks_needed(estimate: Estimate, wished_pct: float) -> int | None:
    """The smallest number of blocks whose interval has the wished half-width, should mean and spread stay as they are.

    Args:
        estimate: one that is stretched as it is to be.
        wished_pct: the half-width that is wished, points.

    Returns:
        None where there is no spread yet to go by, or where even `verdicts.MOST_BLOCKS` would not do.
    """
    if estimate.sd is None or not math.isfinite(estimate.sd):
        return None

    def suffices(blocks: int) -> bool:
        interval = estimate.with_blocks(blocks).interval_pct()
        return interval is not None and enough(half_width_pct(*interval), blocks, wished_pct)

    return verdicts.smallest(suffices, FEWEST_FOR_PRECISION, verdicts.MOST_BLOCKS)


def note(one: Reached, wished_pct: float) -> str:
    """A phrase on a comparison that is not precise enough; empty where it is."""
    if one.enough:
        return ""
    asked = f"±{wished_pct:g} points were asked for"
    if one.half_width_pct is None:
        return (
            f"{asked}, and {count(one.blocks, 'block')} {'gives' if one.blocks == 1 else 'give'} no interval"
        )
    if one.half_width_pct <= wished_pct:
        return f"{asked}, which is judged from {FEWEST_FOR_PRECISION} blocks on"
    places = digits.decimals(one.half_width_pct, bounds=[wished_pct])
    has = f"{asked}, ±{digits.fixed(one.half_width_pct, places)} were reached"
    if one.more_blocks is None:
        return f"{has}: over {verdicts.MOST_BLOCKS} blocks would be needed for that width"
    return f"{has}: about {count(one.more_blocks, 'more block')} would be needed for that width"


def with_notes(overhead: pd.DataFrame, wished_pct: float) -> pd.DataFrame:
    """The table of overheads, with a note in each row that is not as precise as was wished."""
    said = {(r.cell, r.environment): note(r, wished_pct) for r in reached(overhead, wished_pct)}
    keys = zip(overhead["cell"], overhead["environment"], overhead["note"], strict=True)
    notes = ["; ".join(part for part in (said.get((c, e), ""), text(old)) if part) for c, e, old in keys]
    return overhead.assign(note=pd.array(notes, dtype="string"))
