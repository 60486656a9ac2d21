"""The columns of overhead.csv, and reading it back."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from tare.plan.errors import StudyError

_ANEW = "move it away, and `snakemake --cores all` makes it anew"
_NEVER_EMPTY = ("cell", "environment", "engine", "baseline", "metric", "verdict")
# Column and type, in order.
COLUMNS: dict[str, str] = {
    "cell": "string",
    "model": "string",
    "framework": "string",
    "data": "string",
    "batch_size": "Int64",
    "device": "string",
    "gpu": "string",
    "learners": "Int64",
    "gpus_per_learner": "Int64",
    "settings": "string",
    "environment": "string",
    "engine": "string",
    "baseline": "string",
    "metric": "string",
    "unit": "string",
    "blocks": "Int64",
    "baseline_value": "Float64",
    "value": "Float64",
    "performance_overhead_pct": "Float64",
    "estimate_pct": "Float64",
    "ci_low_pct": "Float64",
    "ci_high_pct": "Float64",
    "ci_level_pct": "Float64",
    "ci_method": "string",
    "margin_pct": "Float64",
    "verdict": "string",
    "comparable": "string",
    "note": "string",
}
# The columns that say which cell a row belongs to.
CELL_COLUMNS = list(COLUMNS)[: list(COLUMNS).index("environment")]


def text(value: Any) -> str:
    """A value of a table as text; empty where there is none."""
    return "" if value is None or pd.isna(value) else str(value)


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a frame with the columns and types of `COLUMNS`; a table of no rows has them too."""
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def read(path: Path) -> pd.DataFrame:
    """overhead.csv as a frame with the columns and types of `COLUMNS`; empty text stays empty text.

    Raises:
        StudyError: a column is missing, or a value is none that Tare writes.
    """
    try:
        found = pd.read_csv(path, dtype="string", keep_default_na=False)
    except ValueError as error:  # of pandas and of the encoding
        words = " ".join(str(error).split()).rstrip(".")
        raise StudyError(f"{path} can't be read ({words}); {_ANEW}.") from error
    missing = [name for name in COLUMNS if name not in found.columns]
    if missing:
        raise StudyError(f"{path} has no column {missing[0]!r}, as in older versions; {_ANEW}.")
    for name, kind in COLUMNS.items():
        if kind != "string":
            found[name] = _numbers(path, found[name], kind)
    twice = found[found.duplicated(["cell", "environment"])]
    if len(twice):
        where = f"cell {twice['cell'].iloc[0]}, environment {twice['environment'].iloc[0]}"
        raise StudyError(f"{path} has two rows of {where}; {_ANEW}.")
    for name in _NEVER_EMPTY:
        if (found[name] == "").any():
            raise StudyError(f"{path} has a row without {name}; {_ANEW}.")
    return found[list(COLUMNS)].astype(COLUMNS)


def _numbers(path: Path, column: pd.Series, kind: str) -> pd.Series:
    """A column of text as numbers; empty text is none."""
    try:
        numbers = pd.to_numeric(column.mask(column == ""))
    except ValueError as error:
        raise StudyError(f"{path} has a value in {column.name} that is no number; {_ANEW}.") from error
    told = numbers.dropna()
    if not told.map(math.isfinite).all():
        raise StudyError(f"{path} has a value in {column.name} that is not finite; {_ANEW}.")
    if kind == "Int64" and not told.map(lambda value: float(value).is_integer()).all():
        raise StudyError(f"{path} has a value in {column.name} that is no whole number; {_ANEW}.")
    return numbers.astype(kind)
