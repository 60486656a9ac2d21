"""The forest plot: estimate and interval of every environment in every cell, with the margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tare.report import levels, rows, style, wording
from tare.report.rows import Line
from tare.stats import verdicts

ROW_IN, HEADER_IN, GAP_IN, TEXT_IN = 0.155, 0.16, 0.08, 0.105
INDENT_IN, AXIS_IN, ARROW_IN = 0.08, 0.15, 0.03
_MOST_LABEL = 0.34  # of the figure's width


@dataclass(frozen=True)
class Entry:
    """A line of the plot: a cell's name, an environment of it, or why there is none.

    Attributes:
        kind: `cell`, `estimate` or `text`.
        label: at the left.
        line: of the table.
        value, low, high: percent; the interval is None where there is none.
        text: instead of a mark.
    """

    kind: str
    label: str
    line: Line | None = None
    value: float = 0.0
    low: float | None = None
    high: float | None = None
    text: str = ""


def entries(overhead: pd.DataFrame) -> list[Entry]:
    """The plot's lines; what is measured nowhere has none, since the text below the plot says it once."""
    found: list[Entry] = []
    everywhere = {
        (environment, gap.note)
        for gap in rows.gaps(rows.lines(overhead))
        if gap.everywhere
        for environment in gap.environments
    }
    one_baseline = len(rows.baselines_of(overhead)) == 1
    for cell, part in overhead.groupby("cell", sort=False):
        below = []
        lines = rows.lines(part)
        compared = [line for line in lines if not line.is_baseline]
        if compared and all(line.verdict == verdicts.NOT_MEASURED for line in lines):
            notes = {line.note for line in lines}
            if len(notes) == 1:
                found += [Entry("cell", str(cell)), Entry("text", "", text=f"not measured: {notes.pop()}")]
                continue
        for line, row in zip(lines, part.to_dict("records"), strict=True):
            if not line.is_baseline and (line.environment, line.note) not in everywhere:
                label = line.named if one_baseline else f"{line.named} / {line.baseline}"
                below.append(_entry(label + line.mark, line, row))
        if below:
            found += [Entry("cell", str(cell)), *below]
    return found


def _entry(label: str, line: Line, row: dict[str, Any]) -> Entry:
    if not line.estimate:
        note = line.note.removeprefix(f"{line.verdict}: ")
        return Entry("text", label, line, text=f"{line.verdict}: {note}")
    low, high = (
        float(row[name]) if wording.is_number(row[name]) else None for name in ("ci_low_pct", "ci_high_pct")
    )
    return Entry("estimate", label, line, float(row["estimate_pct"]), low, high)


def limits(found: Sequence[Entry], margin_pct: float) -> tuple[float, float]:
    """Ends of the axis: all estimates and the margin; intervals too, unless they would dwarf the rest."""
    values = [entry.value for entry in found if entry.kind == "estimate"]
    reach = max([3 * margin_pct, *(1.5 * abs(value) for value in values)])
    ends = [end for entry in found for end in (entry.low, entry.high) if end is not None]
    low = min([-1.25 * margin_pct, *values, *(max(end, -reach) for end in ends)])
    high = max([1.25 * margin_pct, *values, *(min(end, reach) for end in ends)])
    pad = 0.06 * (high - low)
    return low - pad, high + pad


def footer(overhead: pd.DataFrame, found: Sequence[Entry], margin_pct: float) -> list[str]:
    """What has to be said below the plot."""
    said = []
    if any(entry.kind == "estimate" for entry in found):
        metric = rows.metric_of(overhead).title.lower()
        said.append(
            f"Mark: estimate in {metric}; bar: {levels.intervals(overhead).words} over n blocks; "
            f"grey band: margin, ±{margin_pct:g} %; arrow: the interval goes on."
        )
    else:
        said.append(rows.nothing(overhead))
    said += [f"{rows.MARK} {sentence}" for sentence in rows.differing(rows.lines(overhead))]
    said += [words] if (words := rows.settings_said(overhead)) else []
    said += [wording.sentence(gap.text) for gap in rows.gaps(rows.lines(overhead)) if gap.everywhere]
    return said


def draw(overhead: pd.DataFrame, margin_pct: float, width_in: float, figure: Figure) -> None:
    """Draw into a figure, whose height is set to what the lines need."""
    found = entries(overhead)
    text_in = width_in - 2 * style.EDGE_IN
    below = [
        line
        for part in footer(overhead, found, margin_pct)
        for line in style.wrap(part, style.SMALL_PT, text_in)
    ]
    label_in = _label_width(found, width_in)
    columns = [("n", _widest(["n", *(e.line.blocks for e in found if e.kind == "estimate" and e.line)]))]
    heading = f"% [{levels.intervals(overhead).heading}]"
    columns.append((heading, _widest([heading, *(numbers(e) for e in found if e.kind == "estimate")])))
    right_in = sum(width for _, width in columns) + 2 * GAP_IN + ARROW_IN + style.EDGE_IN
    rows_in = sum(HEADER_IN if e.kind == "cell" else ROW_IN for e in found) or ROW_IN
    bottom_in = AXIS_IN + 2 * TEXT_IN + GAP_IN + TEXT_IN * len(below) + style.EDGE_IN
    height_in = HEADER_IN + rows_in + bottom_in
    figure.set_size_inches(width_in, height_in)
    plot_in = width_in - label_in - right_in
    axes = figure.add_axes(
        (label_in / width_in, bottom_in / height_in, plot_in / width_in, rows_in / height_in)
    )
    _frame(axes, overhead, limits(found, margin_pct), margin_pct, rows_in)
    _lines(axes, found, columns, plot_in, label_in)
    for number, line in enumerate(reversed(below)):
        figure.text(
            style.EDGE_IN / width_in, (style.EDGE_IN + number * TEXT_IN) / height_in, line,
            fontsize=style.SMALL_PT, color=style.GREY, va="bottom",
        )  # fmt: skip


def numbers(entry: Entry) -> str:
    """Estimate and interval as text."""
    line = entry.line
    return wording.typographic(f"{line.estimate} {line.interval}".strip()) if line else ""


def _widest(texts: Sequence[str]) -> float:
    return max(style.width_of(text, style.SMALL_PT) for text in texts)


def _label_width(found: Sequence[Entry], width_in: float) -> float:
    widths = [style.width_of(entry.label, style.LABEL_PT) for entry in found if entry.kind != "cell"]
    return min(max(widths, default=0.4), _MOST_LABEL * width_in) + style.EDGE_IN + INDENT_IN + GAP_IN


def _frame(
    axes: Axes, overhead: pd.DataFrame, ends: tuple[float, float], margin_pct: float, height_in: float
) -> None:
    axes.set_xlim(*ends)
    axes.set_ylim(height_in, 0)  # inches from the top
    axes.axvspan(-margin_pct, margin_pct, color=style.BAND, linewidth=0, zorder=0)
    for end in (-margin_pct, margin_pct):
        axes.axvline(end, color=style.LIGHT, linewidth=0.5, zorder=1)
    axes.axvline(0, color=style.GREY, linewidth=0.6, zorder=1)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.set_yticks([])
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: wording.typographic(f"{value:g}")))
    axes.set_xlabel(
        f"Overhead against {rows.against(overhead)} (%)\npositive = slower", labelpad=2, linespacing=1.1
    )


def _lines(
    axes: Axes,
    found: Sequence[Entry],
    columns: Sequence[tuple[str, float]],
    plot_in: float,
    label_in: float,
) -> None:
    marks = style.marks(entry.line.environment for entry in found if entry.line)
    transform = axes.get_yaxis_transform()  # x: fraction of the axes; y: inches from the top
    left = (style.EDGE_IN - label_in) / plot_in
    n_x = 1 + (ARROW_IN + GAP_IN + columns[0][1]) / plot_in
    numbers_x = n_x + (GAP_IN + columns[1][1]) / plot_in
    small: dict[str, Any] = {"fontsize": style.SMALL_PT, "va": "center", "transform": transform}
    if any(entry.kind == "estimate" for entry in found):
        for x, (heading, _) in zip((n_x, numbers_x), columns, strict=True):
            axes.text(x, -HEADER_IN / 2, heading, ha="right", color=style.GREY, **small)
    low, high = axes.get_xlim()
    top = 0.0
    for entry in found:
        height = HEADER_IN if entry.kind == "cell" else ROW_IN
        y, top = top + height / 2, top + height
        if entry.kind == "cell":
            name = style.cut(entry.label, style.LABEL_PT, label_in + plot_in - style.EDGE_IN, "bold")
            axes.text(
                left, y, name, fontsize=style.LABEL_PT, fontweight="bold", va="center", transform=transform
            )
            continue
        label = style.cut(entry.label, style.LABEL_PT, label_in - style.EDGE_IN - INDENT_IN)
        axes.text(
            left + INDENT_IN / plot_in, y, label, fontsize=style.LABEL_PT, va="center", transform=transform
        )
        if entry.kind == "text":
            room = (
                numbers_x * plot_in
                if entry.label
                else (numbers_x * plot_in + label_in - style.EDGE_IN - INDENT_IN)
            )
            words = style.cut(entry.text, style.SMALL_PT, room - 0.02)
            x = 0.0 if entry.label else left + INDENT_IN / plot_in
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            axes.text(x, y, words, style="italic", color=style.GREY, bbox=ground, **small)
            continue
        assert entry.line is not None
        mark = marks[entry.line.environment]
        if entry.low is not None and entry.high is not None:
            axes.plot(
                [max(entry.low, low), min(entry.high, high)],
                [y, y],
                color=mark.colour,
                linewidth=1.1,
                zorder=2,
            )
            for end, edge, arrow in ((entry.low, low, "<"), (entry.high, high, ">")):
                if not low <= end <= high:
                    axes.plot(edge, y, arrow, color=mark.colour, markersize=3, clip_on=False, zorder=2)
        axes.plot(entry.value, y, mark.marker, color=mark.colour, markersize=4.2, markeredgecolor="white",
                  markeredgewidth=0.4, zorder=3)  # fmt: skip
        axes.text(n_x, y, entry.line.blocks, ha="right", **small)
        axes.text(numbers_x, y, numbers(entry), ha="right", **small)
