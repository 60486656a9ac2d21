"""The result as a short table for the terminal."""

from __future__ import annotations

import io
import textwrap

import pandas as pd
from rich.box import Box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tare.report import levels, rows, wording
from tare.stats import verdicts

WIDTH = 100
# Plain letters only: the table also has to come out on a terminal that knows nothing else.
_BOX = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


def summary(overhead: pd.DataFrame) -> str:
    """One row per cell and environment that is compared, and below it what could not be measured and why.

    At most 100 columns wide, plain ASCII as long as the names are.
    """
    lines = rows.lines(overhead)
    compared = [line for line in lines if not line.is_baseline and line.verdict != verdicts.NOT_MEASURED]
    metric = rows.metric_of(overhead)
    parts = []
    if compared:
        what = f"Overhead against {rows.against(overhead)} in {metric.title.lower()}, %"
        parts.append(_wrapped(f"{what}: positive = slower; {levels.intervals(overhead).words} over n blocks"))
        heading = levels.intervals(overhead).heading.replace("CI", "interval")
        parts.append(_table(compared, heading, several=len(rows.baselines_of(overhead)) > 1))
        parts.append(_wrapped(rows.settings_said(overhead)))
    else:
        parts.append(rows.nothing(overhead))
    below = [*rows.differing(compared), *rows.notes(compared), *(gap.text for gap in rows.gaps(lines))]
    parts += [_wrapped(text) for text in below]
    return "\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(
        wording.sentence(" ".join(text.split())), WIDTH, subsequent_indent="  ", break_on_hyphens=False
    )


def _table(lines: list[rows.Line], interval: str, *, several: bool) -> str:
    table = Table(box=_BOX, pad_edge=False, header_style="", show_edge=False)
    for name in ("cell", "environment", *(["baseline"] if several else [])):
        table.add_column(name, overflow="fold")
    for name in ("n", "estimate", interval):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for line in lines:
        names = [line.cell, line.named, *([line.baseline] if several else [])]
        # Text, since a string would be searched for markup in square brackets
        values = [*names, line.blocks, line.estimate, line.interval, line.verdict]
        table.add_row(*(Text(value) for value in values))
    buffer = io.StringIO()
    console = Console(file=buffer, width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    console.print(table)
    return "\n".join(row.rstrip() for row in buffer.getvalue().splitlines())
