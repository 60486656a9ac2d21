"""Throughput: each run a dot, one small panel per cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tare.report import rows, style, wording
from tare.stats.planned import natural
from tare.telemetry.noise_verdict import NOISY

ROW_IN, TITLE_IN, TICKS_IN, GAP_IN, TEXT_IN = 0.19, 0.17, 0.19, 0.2, 0.105
_PANEL_IN = 1.15  # a panel is at least this wide
_VALUE = "throughput_images_per_sec"
_JITTER = 0.24  # of a row, either way


def environments_of(runs: pd.DataFrame) -> list[str]:
    """All environments, baselines first."""
    pairs = runs[["environment", "baseline"]].drop_duplicates().itertuples(index=False)
    return list(dict.fromkeys(e for e, _ in sorted(pairs, key=lambda p: (p[0] != p[1], natural(str(p[0]))))))


def draw(runs: pd.DataFrame, width_in: float, figure: Figure) -> None:
    """Draw into a figure, whose height is set to what the panels need."""
    good = runs[(runs["status"] == "ok") & runs[_VALUE].notna()]
    cells = sorted(good["cell"].unique(), key=natural)
    names = environments_of(good)
    text_in = width_in - 2 * style.EDGE_IN
    below = [line for part in footer(runs, good) for line in style.wrap(part, style.SMALL_PT, text_in)]
    label_in = max((style.width_of(name, style.LABEL_PT) for name in names), default=0.0)
    label_in = min(label_in, 0.3 * width_in) + style.EDGE_IN + 0.05
    short = [style.cut(name, style.LABEL_PT, label_in - style.EDGE_IN - 0.05) for name in names]
    across = max(1, min(len(cells), int((width_in - label_in) // (_PANEL_IN + GAP_IN))))
    down = math.ceil(len(cells) / across)
    panel_in = (width_in - label_in - style.EDGE_IN - GAP_IN * across) / across
    rows_in = ROW_IN * len(names)
    axis_in = TEXT_IN + 0.06 if cells else 0
    bottom_in = style.EDGE_IN + TEXT_IN * len(below) + axis_in + 0.04
    height_in = bottom_in + down * (TITLE_IN + rows_in + TICKS_IN) + style.EDGE_IN
    figure.set_size_inches(width_in, height_in)
    marks = style.marks(names)
    for number, cell in enumerate(cells):
        column, row = number % across, number // across
        x_in = label_in + column * (panel_in + GAP_IN)
        y_in = height_in - style.EDGE_IN - (row + 1) * (TITLE_IN + rows_in + TICKS_IN) + TICKS_IN
        axes = figure.add_axes((x_in / width_in, y_in / height_in, panel_in / width_in, rows_in / height_in))
        _panel(axes, good[good["cell"] == cell], marks)
        axes.set_yticks(range(len(names)), labels=short if column == 0 else [""] * len(names))
        title = style.cut(str(cell), style.LABEL_PT, panel_in + GAP_IN / 2, "bold")
        axes.set_title(title, fontsize=style.LABEL_PT, fontweight="bold", loc="left", pad=2.5)
    if cells:
        middle = label_in + (width_in - label_in - GAP_IN) / 2
        y = (style.EDGE_IN + TEXT_IN * len(below) + 0.05) / height_in
        figure.text(
            middle / width_in, y, "Throughput (images/s)", ha="center", va="bottom", fontsize=style.LABEL_PT
        )
    for number, line in enumerate(reversed(below)):
        figure.text(
            style.EDGE_IN / width_in, (style.EDGE_IN + number * TEXT_IN) / height_in, line,
            fontsize=style.SMALL_PT, color=style.GREY, va="bottom",
        )  # fmt: skip


def is_noisy(runs: pd.DataFrame) -> list[bool]:
    """Of each run, whether its verdict is that something disturbed it."""
    return [bool(noisy) for noisy in runs["noise"].str.startswith(NOISY).fillna(False)]


def footer(runs: pd.DataFrame, good: pd.DataFrame) -> list[str]:
    """What has to be said below the panels."""
    if good.empty:
        return ["No run has been measured yet."]
    said = [
        "Mark: one run (the first at the top of its row); bar: median; at the right: n runs. "
        "Axes do not begin at 0."
    ]
    said.append(rows.settings_said(good))
    if any(is_noisy(good)):
        said.append("Hollow: something disturbed the run; the report says what.")
    bad = len(runs) - len(good)
    return [*said, f"{wording.count(bad, 'run')} without a result not shown."] if bad else said


def _panel(axes: Axes, runs: pd.DataFrame, marks: Mapping[str, style.Mark]) -> None:
    for row, (name, mark) in enumerate(marks.items()):
        part = runs[runs["environment"] == name].sort_values("repetition")
        values = [float(value) for value in part[_VALUE]]
        axes.text(
            1.03, row, str(len(values)), fontsize=style.SMALL_PT, color=style.GREY, va="center",
            transform=axes.get_yaxis_transform(),
        )  # fmt: skip
        if not values:
            continue
        last = max(len(values) - 1, 1)
        offsets = [_JITTER * (2 * i / last - 1) if len(values) > 1 else 0.0 for i in range(len(values))]
        places = list(zip(values, offsets, is_noisy(part), strict=True))
        for noisy in (False, True):
            # hollow where something disturbed the run
            inside, edge, edge_pt = ("white", mark.colour, 0.6) if noisy else (mark.colour, "white", 0.3)
            axes.plot(
                [value for value, _, hollow in places if hollow == noisy],
                [row + offset for _, offset, hollow in places if hollow == noisy],
                mark.marker, markersize=3, linestyle="none", zorder=3,
                markerfacecolor=inside, markeredgecolor=edge, markeredgewidth=edge_pt,
            )  # fmt: skip
        middle = median(values)
        axes.plot([middle, middle], [row - 0.4, row + 0.4], color=mark.colour, linewidth=1.2, zorder=2)
    axes.set_ylim(len(marks) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0, pad=2)
    axes.hlines([row + 0.5 for row in range(len(marks) - 1)], 0, 1, transform=axes.get_yaxis_transform(),
                color=style.LIGHT, linewidth=0.4, zorder=0)  # fmt: skip
    axes.spines[["right", "top"]].set_visible(False)
    axes.margins(x=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=3, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
