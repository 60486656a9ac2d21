"""The figures as files. No display is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tare.report import dots, forest, style


def write_overhead(
    overhead: pd.DataFrame, margin_pct: float, paths: Sequence[Path], *, width_in: float = style.COLUMN_IN
) -> None:
    """The forest plot.

    Args:
        overhead: the table of overheads.
        margin_pct: the margin, drawn as a band.
        paths: where to; the suffix says whether as pdf, svg or png.
        width_in: width in inches; 3.4 is a column of a two-column page, 7.0 both.
    """
    with style.drawing(width_in, 1) as figure:
        forest.draw(overhead, margin_pct, width_in, figure)
        style.save(figure, paths)


def write_throughput(runs: pd.DataFrame, paths: Sequence[Path], *, width_in: float = style.COLUMN_IN) -> None:
    """Every run's throughput.

    Args:
        runs: the table of runs (runs.parquet).
        paths, width_in: as in `write_overhead`.
    """
    with style.drawing(width_in, 1) as figure:
        dots.draw(runs, width_in, figure)
        style.save(figure, paths)
