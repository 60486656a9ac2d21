"""How figures look: fit for a printed column, the same bytes each time, legible without colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, product
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

COLUMN_IN = 3.4
DOUBLE_COLUMN_IN = 7.0
LABEL_PT, SMALL_PT = 7.0, 6.0
EDGE_IN = 0.04
GREY, LIGHT, BAND = "#595959", "#d9d9d9", "#ececec"

RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": LABEL_PT,
    "axes.labelsize": LABEL_PT,
    "xtick.labelsize": SMALL_PT,
    "ytick.labelsize": LABEL_PT,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "xtick.major.pad": 2.0,
    "text.parse_math": False,  # names come from users, `$` in them is no mathematics
    "text.usetex": False,
    "axes.unicode_minus": True,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "tare",
    "savefig.facecolor": "white",
    "figure.facecolor": "white",
}
# Without these a file would hold the time at which it was made, and differ each time.
_METADATA: dict[str, dict[str, Any]] = {
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": "Tare"},
    ".svg": {"Date": None, "Creator": "Tare"},
    ".png": {"Software": "Tare"},
}
_PNG_DPI = 300


@dataclass(frozen=True)
class Mark:
    """Colour and shape of an environment."""

    colour: str
    marker: str


# Colours of Okabe and Ito that are dark enough on white; every environment has its own shape besides.
_KNOWN = {
    "bare": Mark("#000000", "o"),
    "bare-again": Mark("#595959", "H"),
    "chroot": Mark("#8c6d00", "P"),
    "bubblewrap": Mark("#d55e00", "^"),
    "docker": Mark("#0072b2", "s"),
    "podman": Mark("#aa4a86", "D"),
    "apptainer": Mark("#007a59", "v"),
}
_OTHERS = tuple(
    Mark(colour, marker)
    for marker, colour in product(
        ("X", "<", ">", "p", "*", "d", "h"), ("#0072b2", "#d55e00", "#007a59", "#aa4a86", "#000000")
    )
)


def marks(environments: Iterable[str]) -> dict[str, Mark]:
    """A mark for each environment; well-known ones have the same in every figure."""
    others = cycle(_OTHERS)
    return {name: _KNOWN.get(name) or next(others) for name in dict.fromkeys(environments)}


@contextmanager
def drawing(width_in: float, height_in: float) -> Iterator[Figure]:
    """A figure of that size, in Tare's style, without any display."""
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(width_in, height_in))
        FigureCanvasAgg(figure)
        yield figure


def save(figure: Figure, paths: Sequence[Path]) -> None:
    """Write the figure in the format of each suffix (pdf, svg, png); the same figure gives the same bytes.

    Raises:
        ValueError: another suffix.
    """
    for path in paths:
        suffix = path.suffix.lower()
        if suffix not in _METADATA:
            raise ValueError(f"{path}: figures are written as {', '.join(_METADATA)}; name one of these.")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format=suffix[1:], dpi=_PNG_DPI, metadata=_METADATA[suffix])


def width_of(text: str, size_pt: float, weight: str = "normal") -> float:
    """Width of a line of text, inches; of the outlines, so that it holds at every resolution."""
    font = FontProperties(family=RC["font.family"], size=size_pt, weight=weight)
    width_pt, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width_pt) / 72


def cut(text: str, size_pt: float, most_in: float, weight: str = "normal") -> str:
    """The text, shortened with an ellipsis until it is no wider than that."""
    if width_of(text, size_pt, weight) <= most_in:
        return text
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        fits = width_of(f"{text[:middle].rstrip()}…", size_pt, weight) <= most_in
        low, high = (middle, high) if fits else (low, middle)
    return f"{text[:low].rstrip(' .,;:')}…"


def wrap(text: str, size_pt: float, most_in: float) -> list[str]:
    """The text in lines no wider than that; a single longer word is cut."""
    found: list[str] = []
    for word in text.split():
        longer = f"{found[-1]} {word}" if found else word
        if found and width_of(longer, size_pt) <= most_in:
            found[-1] = longer
        else:
            found.append(cut(word, size_pt, most_in))
    return found
