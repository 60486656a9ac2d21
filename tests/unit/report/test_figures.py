"""Figures that are fit to print."""

from __future__ import annotations

import re
import zlib

import pytest
from matplotlib.image import imread
from matplotlib.text import Text

from tare.report import dots, figures, forest, style
from tests.unit.report import cases

WIDTHS = [style.COLUMN_IN, style.DOUBLE_COLUMN_IN]


def draw(one: cases.Case, kind: str, width_in: float, figure) -> None:
    if kind == "overhead":
        forest.draw(one.overhead, 2.0, width_in, figure)
    else:
        dots.draw(one.runs, width_in, figure)


def texts(figure) -> list[Text]:
    """The texts that are drawn; ticks beyond the ends of an axis exist but are not."""
    beyond = set()
    for axes in figure.axes:
        low, high = axes.get_xlim()
        ticks = axes.xaxis.get_major_ticks()
        beyond |= {tick.label1 for tick in ticks if not low <= tick.get_loc() <= high}
    found = figure.findobj(Text)
    return [text for text in found if text.get_text().strip() and text.get_visible() and text not in beyond]


@pytest.mark.parametrize("width_in", WIDTHS)
@pytest.mark.parametrize("kind", ["overhead", "throughput"])
@pytest.mark.parametrize("make", cases.ALL)
def test_all_text_is_inside_and_large_enough(make, kind, width_in):
    with style.drawing(width_in, 1) as figure:
        draw(make(), kind, width_in, figure)
        figure.canvas.draw()
        assert figure.get_size_inches()[0] == pytest.approx(width_in)
        box = figure.bbox
        for text in texts(figure):
            extent = text.get_window_extent()
            slack = 0.02 * figure.dpi
            assert extent.x0 >= box.x0 - slack, text.get_text()
            assert extent.x1 <= box.x1 + slack, text.get_text()
            assert extent.y0 >= box.y0 - slack, text.get_text()
            assert extent.y1 <= box.y1 + slack, text.get_text()
            assert text.get_fontsize() >= 6


@pytest.mark.parametrize("make", [cases.mixed, cases.hostile])
def test_the_same_study_gives_the_same_bytes(make, tmp_path):
    for folder in ("a", "b"):
        for ending in ("pdf", "svg", "png"):
            figures.write_overhead(make().overhead, 2.0, [tmp_path / folder / f"overhead.{ending}"])
            figures.write_throughput(make().runs, [tmp_path / folder / f"throughput.{ending}"])
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_formats(tmp_path):
    paths = [tmp_path / f"overhead.{ending}" for ending in ("pdf", "svg", "png")]
    figures.write_overhead(cases.full().overhead, 2.0, paths)
    pdf = paths[0].read_bytes()
    plain = pdf + b"".join(_inflated(pdf))
    assert b"/FontFile2" in plain  # TrueType, embedded
    assert b"/Type3" not in plain
    assert b"CreationDate" not in plain
    svg = paths[1].read_text(encoding="utf-8")
    assert "<dc:date>" not in svg
    assert "<text" not in svg  # outlines: no font is needed to see it
    assert imread(paths[2]).shape[1] == round(3.4 * 300)


def _inflated(pdf: bytes) -> list[bytes]:
    found = []
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            found.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return found


def test_another_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"written as \.pdf, \.svg, \.png"):
        figures.write_overhead(cases.full().overhead, 2.0, [tmp_path / "overhead.jpg"])


def shown(make, kind: str = "overhead") -> str:
    with style.drawing(7.0, 1) as figure:
        draw(make(), kind, 7.0, figure)
        return "\n".join(text.get_text() for text in texts(figure))


def test_what_a_reader_needs_is_said():
    said = shown(cases.full)
    assert "Overhead against bare (%)\npositive = slower" in said
    assert "99.17 to 99.44 % t interval (Holm, 9 comparisons) over n blocks" in said
    assert "margin, ±2 %" in said
    assert "% [CI]" in said
    assert "Overhead against each one's baseline (%)" in shown(cases.ladder)
    throughput = shown(cases.full, "throughput")
    assert "Throughput (images/s)" in throughput
    assert "n runs" in throughput
    assert "median" in throughput


def test_what_was_not_measured_is_said():
    said = shown(cases.mixed)
    assert "not measured: no V100 here" in said
    assert "podman not measured in any cell: podman is not installed." in said
    assert "missing: 0 of 6 blocks measured" in said
    assert "not comparable: software torch is 2.13.0+cpu in bare and 2.12.0 in bubblewrap" in said
    assert "1 run without a result not shown." in shown(cases.mixed, "throughput")
    assert "No run has been measured yet." in shown(cases.nothing, "throughput")
    assert "no other environment is planned" in shown(cases.only_bare)


def test_what_differs_by_nature_is_marked_and_said_in_one_line_for_each_environment():
    said = shown(cases.differing).splitlines()
    assert said.count("docker†") == len(cases.CELLS)
    assert (said.count("podman†"), said.count("podman")) == (1, len(cases.CELLS) - 1)
    assert "† docker differs from bare in /dev/shm, seccomp and network." in said
    assert "† podman differs from bare in /dev/shm." in said
    assert "†" not in shown(cases.full)


def test_noisy_runs_are_hollow_and_it_says_so():
    with style.drawing(style.COLUMN_IN, 1) as figure:
        dots.draw(cases.noisy().runs, style.COLUMN_IN, figure)
        marks = [line for line in figure.axes[0].lines if line.get_linestyle() == "None"]
        hollow = sum(len(line.get_xdata()) for line in marks if line.get_markerfacecolor() == "white")
        assert (hollow, sum(len(line.get_xdata()) for line in marks)) == (2, 12)
        assert any("Hollow: something disturbed the run" in text.get_text() for text in texts(figure))
    with style.drawing(style.COLUMN_IN, 1) as figure:
        dots.draw(cases.full().runs, style.COLUMN_IN, figure)
        assert not any("Hollow" in text.get_text() for text in texts(figure))


def test_dollars_are_no_mathematics():
    assert "a<b>&$c_{d}" in shown(cases.hostile)


def test_a_huge_interval_does_not_dwarf_the_rest():
    overhead = cases.wide().overhead
    assert overhead["ci_high_pct"].max() > 40
    low, high = forest.limits(forest.entries(overhead), 2.0)
    assert high - low < 60
    assert low < -2
    assert high > 2


def test_environments_differ_in_more_than_colour():
    names = ["bare", "bare-again", "chroot", "bubblewrap", "docker", "podman", "apptainer"]
    names += [f"other{n}" for n in range(20)]
    marks = style.marks(names)
    assert len({(mark.colour, mark.marker) for mark in marks.values()}) == len(names)
    assert len({marks[name].marker for name in names[:7]}) == 7


def test_long_text_is_cut_and_wrapped():
    assert style.cut("short", 7, 3) == "short"
    cut = style.cut("a reason that is far too long for its place", 7, 1)
    assert cut.endswith("…")
    assert style.width_of(cut, 7) <= 1
    lines = style.wrap("one two three four five six seven eight nine ten", 7, 1)
    assert len(lines) > 1
    assert " ".join(lines).split()[-1] == "ten"
    assert all(style.width_of(line, 7) <= 1 for line in lines)
