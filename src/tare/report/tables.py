"""The table of overheads as CSV (everything), Markdown and LaTeX (for people)."""

from __future__ import annotations

import io
import re
import textwrap
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tare.records.store import write_atomically
from tare.report import levels, rows, wording
from tare.report.rows import Line

_PER_PAGE = 45
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "…": r"\dots{}",
    "±": r"$\pm$",
    wording.MINUS: "$-$",
    rows.MARK: r"\textdagger{}",
    "–": "--",
}


def write(overhead: pd.DataFrame, out_dir: Path) -> list[Path]:
    """Write overhead.csv, overhead.md and overhead.tex into a folder and return their paths."""
    made = {"csv": to_csv(overhead), "md": to_markdown(overhead), "tex": to_latex(overhead)}
    paths = []
    for suffix, content in made.items():
        paths.append(out_dir / f"overhead.{suffix}")
        write_atomically(paths[-1], content)
    return paths


def to_csv(overhead: pd.DataFrame) -> str:
    """The whole table; `tare.stats.table.read` reads it back."""
    buffer = io.StringIO()
    overhead.to_csv(buffer, index=False, lineterminator="\n")
    return buffer.getvalue()


@dataclass(frozen=True)
class Column:
    """A column of the tables for people.

    Attributes:
        title: without the unit.
        unit: empty where there is none.
        numeric: aligned to the right.
        value: what it shows of a line.
    """

    title: str
    unit: str
    numeric: bool
    value: Callable[[Line], str]

    @property
    def heading(self) -> str:
        """Title and unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def columns(overhead: pd.DataFrame) -> list[Column]:
    """The columns between cell and note; settings, baselines and confidence levels only where there are several."""
    unit, intervals = rows.metric_of(overhead).unit, levels.intervals(overhead)
    against = Column("Against", "", False, lambda line: "" if line.is_baseline else line.baseline)
    settings = Column("Settings", "", False, lambda line: line.settings)
    return [
        Column("Environment", "", False, lambda line: line.named + line.mark),
        *([settings] if len(rows.settings_of(overhead)) > 1 else []),
        *([against] if len(rows.baselines_of(overhead)) > 1 else []),
        Column("Estimate", "%", True, lambda line: line.estimate),
        Column(intervals.heading, "%", True, lambda line: line.interval),
        *([Column("Level", "%", True, lambda line: line.level)] if intervals.vary else []),
        Column("Verdict", "", False, lambda line: line.verdict),
        Column("Blocks", "", True, lambda line: line.blocks),
        Column("Overhead by formula", "%", True, lambda line: line.overhead),
        Column("Baseline", unit, True, lambda line: line.baseline_value),
        Column("Value", unit, True, lambda line: line.value),
    ]


def caption(overhead: pd.DataFrame) -> str:
    """What the table shows, in three or four sentences."""
    metric, intervals = rows.metric_of(overhead), levels.intervals(overhead)
    together = (
        " Levels hold for all comparisons together: where nothing truly differs, at most 1 table in 20 has any "
        "slower or faster."
        if intervals.adjusted
        else ""
    )
    return (
        f"Overhead against {rows.against(overhead)} in {metric.title.lower()} ({metric.unit}); positive "
        f"means slower. The estimate with its {intervals.words} over blocks decides the verdict; the "
        f"overhead by formula is that of the means over runs.{together} {rows.settings_said(overhead)}"
    ).rstrip()


def to_markdown(overhead: pd.DataFrame) -> str:
    """A Markdown table, notes included."""
    shown = columns(overhead)
    made = [
        caption(overhead),
        "",
        _markdown_row(["Cell", *(column.heading for column in shown), "Note"]),
        _markdown_row(
            ["---", *("---:" if column.numeric else "---" for column in shown), "---"], escape=False
        ),
    ]
    for line in rows.lines(overhead):
        made.append(_markdown_row([line.cell, *(column.value(line) for column in shown), line.note]))
    for sentence in rows.differing(rows.lines(overhead)):
        made += ["", f"{rows.MARK} {markdown(sentence)}"]
    return "\n".join(made) + "\n"


def _markdown_row(values: list[str], *, escape: bool = True) -> str:
    return f"| {' | '.join(markdown(value) if escape else value for value in values)} |"


def markdown(text: str) -> str:
    """Text as a Markdown table's cell: one line, nothing in it is markup."""
    return re.sub(r"([\\|*_`<>\[\]~#&])", r"\\\1", " ".join(text.split()))


def latex(text: str) -> str:
    """Text for LaTeX: one line, special characters escaped, what pdflatex has no letter for as `?`."""
    made = []
    for character in " ".join(text.split()):
        if character in _TEX:
            made.append(_TEX[character])
        elif ord(character) < 0x180 and character.isprintable():
            made.append(character)
        else:
            plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
            made.append("".join(_TEX.get(c, c) for c in plain) or "?")
    return "".join(made)


def to_latex(overhead: pd.DataFrame) -> str:
    """A document that compiles by itself; what is between the marks goes into any paper that has booktabs."""
    lines = rows.lines(overhead)
    chunks = [lines[start : start + _PER_PAGE] for start in range(0, len(lines), _PER_PAGE)] or [[]]
    made = [
        r"\documentclass[10pt,a4paper]{article}",
        r"\usepackage[T1]{fontenc}",
        r"\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}",
        r"\usepackage[utf8]{inputenc}",
        r"\usepackage{textcomp}",
        r"\usepackage{booktabs}",
        r"\usepackage[landscape,margin=15mm]{geometry}",
        r"\pagestyle{empty}",
        r"\begin{document}",
        r"\centering\footnotesize",
        rf"{latex(caption(overhead))}\par\medskip",
    ]
    for chunk in chunks:
        made += ["% --- table begins", *_tabular(overhead, chunk), "% --- table ends", ""]
    differing = [f"{rows.MARK} {sentence}" for sentence in rows.differing(lines)]
    notes = [*differing, *rows.notes(lines), *(gap.text for gap in rows.gaps(lines))]
    if notes:
        items = [rf"\item {latex(wording.sentence(note))}" for note in notes]
        made += [r"\raggedright", r"\begin{itemize}", *items, r"\end{itemize}"]
    return "\n".join([*made, r"\end{document}"]) + "\n"


def _tabular(overhead: pd.DataFrame, lines: list[Line]) -> list[str]:
    shown = columns(overhead)
    made = [
        rf"\begin{{tabular}}{{l{''.join('r' if column.numeric else 'l' for column in shown)}}}",
        r"\toprule",
        " & ".join(["Cell", *(_stacked(column) for column in shown)]) + r" \\",
    ]
    cell = None
    for line in lines:
        new = line.cell != cell
        cell = line.cell
        made += [r"\midrule"] if new else []
        values = [latex(cell) if new else ""]
        for column in shown:
            value = column.value(line)
            values.append(latex(wording.typographic(value) if column.numeric else value))
        # {} keeps a name that begins with [ or * from being read as an argument of the line break before it
        made.append("{}" + " & ".join(values) + r" \\")
    return [*made, r"\bottomrule", r"\end{tabular}"]


def _stacked(column: Column) -> str:
    """A heading in several lines, aligned like its column."""
    parts = [latex(part) for part in textwrap.wrap(column.title, 10, break_long_words=False)]
    parts += [latex(f"({column.unit})")] if column.unit else []
    stacked = r" \\ ".join(parts)
    return rf"\shortstack[{'r' if column.numeric else 'l'}]{{{stacked}}}"
