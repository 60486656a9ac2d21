"""The columns of overhead.csv, and reading it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from tare.plan.errors import StudyError

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
        StudyError: a column is missing.
    """
    found = pd.read_csv(path, dtype="string", keep_default_na=False)
    missing = [name for name in COLUMNS if name not in found.columns]
    if missing:
        raise StudyError(
            f"{path} has no column {missing[0]!r}, as in older versions; `snakemake --cores all` makes it anew."
        )
    for name, kind in COLUMNS.items():
        if kind != "string":
            found[name] = pd.to_numeric(found[name].mask(found[name] == "")).astype(kind)
    return found[list(COLUMNS)].astype(COLUMNS)
