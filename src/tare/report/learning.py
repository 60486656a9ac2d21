"""What the networks learned while their speed was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import pandas as pd

from tare.report import wording
from tare.report.dots import environments_of
from tare.stats.chance import at_chance
from tare.stats.planned import natural


@dataclass(frozen=True)
class Lesson:
    """Loss and accuracy of one cell in one environment: medians over its runs."""

    cell: str
    environment: str
    runs: int
    training_loss: str
    test_loss: str
    accuracy: str


def lessons(runs: pd.DataFrame) -> list[Lesson]:
    """One lesson for each cell and environment with a run that ended well."""
    good = runs[runs["status"] == "ok"]
    order = environments_of(good)
    groups = sorted(
        good.groupby(["cell", "environment"], sort=False),
        key=lambda g: (natural(g[0][0]), order.index(g[0][1])),
    )
    return [
        Lesson(
            cell=str(cell),
            environment=str(environment),
            runs=len(part),
            training_loss=_median(part["training_loss"]),
            test_loss=_median(part["test_loss"]),
            accuracy=accuracy(part),
        )
        for (cell, environment), part in groups
    ]


def _values(column: pd.Series) -> list[float]:
    return [float(value) for value in column if wording.is_number(value)]


def _median(column: pd.Series) -> str:
    values = _values(column)
    return f"{median(values):.3g}" if values else ""


def accuracy(runs: pd.DataFrame) -> str:
    """`0.94 after 215 steps`, or `at chance after 215 steps` where the median run is no better than luck."""
    values = _values(runs["test_accuracy"])
    if not values:
        return ""
    steps = f"after {wording.span(_values(runs['steps_trained']))} steps"
    middle, items, classes = median(values), _values(runs["test_items"]), _values(runs["classes"])
    if items and classes and at_chance(middle, int(median(items)), int(median(classes))):
        return f"at chance {steps} ({middle:.2f}; {int(median(classes))} classes)"
    return f"{middle:.2f} {steps}{_spread(values)}"


def _spread(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return "" if low == high else f" ({low} to {high} over {len(values)} runs)"
