"""CSV, Markdown and LaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.report import tables
from tare.stats import table
from tests.unit.factory import study
from tests.unit.report import cases


@pytest.mark.parametrize("make", cases.ALL)
def test_every_table_has_every_row(make, tmp_path):
    one = make()
    paths = tables.write(one.overhead, tmp_path)
    assert [path.name for path in paths] == ["overhead.csv", "overhead.md", "overhead.tex"]
    pd.testing.assert_frame_equal(table.read(paths[0]), one.overhead)
    markdown = paths[1].read_text(encoding="utf-8").splitlines()
    assert len([line for line in markdown if line.startswith("|")]) == len(one.overhead) + 2
    latex = paths[2].read_text(encoding="utf-8")
    assert latex.count(r" \\" + "\n") == len(one.overhead) + 1
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == 1


def test_columns_are_short_and_have_units():
    lines = tables.to_markdown(cases.full().overhead).splitlines()
    assert lines[2] == (
        "| Cell | Environment | Estimate (%) | CI (%) | Level (%) | Verdict | Blocks | Overhead by formula (%) | "
        "Baseline (images/s) | Value (images/s) | Note |"
    )
    docker = next(line for line in lines if "| docker |" in line)
    assert docker == (
        r"| fcn-r-torch | docker | 2.50 | \[0.95, 4.02\] | 99.29 | slower | 6 | 2.55 | 6,392 | 6,229 |  |"
    )
    assert "Against" in tables.to_markdown(cases.ladder().overhead)


def test_what_differs_by_nature_is_marked_with_one_line_below_for_each_environment():
    one = cases.differing().overhead
    lines = tables.to_markdown(one).splitlines()
    assert len([line for line in lines if "| docker† |" in line]) == len(cases.CELLS)
    assert len([line for line in lines if "| podman† |" in line]) == 1
    assert lines[-4:] == [
        "",
        "† docker differs from bare in /dev/shm, seccomp and network.",
        "",
        "† podman differs from bare in /dev/shm.",
    ]
    latex = tables.to_latex(one)
    assert latex.count(r"docker\textdagger{} &") == len(cases.CELLS)
    assert r"\item \textdagger{} docker differs from bare in /dev/shm, seccomp and network." in latex
    assert "†" not in latex
    assert "†" not in tables.to_markdown(cases.full().overhead)
    assert set(one.loc[one["environment"] == "docker", "comparable"]) == {
        "differs: /dev/shm 64 MiB in docker and 12 GiB in bare; seccomp filter in docker and off in bare; "
        "network of its own in docker and the host's in bare"
    }


def test_markdown_cells_stay_in_their_cell():
    lines = tables.to_markdown(cases.hostile().overhead).splitlines()[2:]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert not re.search(r"(?<!\\)<script", "\n".join(lines))


def test_long_tables_are_cut_into_pages():
    records, planned = study(cells=[f"net{n}-torch" for n in range(50)], repetitions=2, rounds=2)
    latex = tables.to_latex(cases.case(records, planned).overhead)
    assert latex.count(r"\begin{tabular}") == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b & 50 %", r"a\_b \& 50 \%"),
        ("{$x^2$} #1 ~", r"\{\$x\textasciicircum{}2\$\} \#1 \textasciitilde{}"),
        (r"C:\dir", r"C:\textbackslash{}dir"),
        ("Größe − ±…", r"Größe $-$ $\pm$\dots{}"),
        ("line\nbreak", "line break"),
        ("容器 ﬁ", "?? fi"),
    ],
)
def test_latex_escapes(text, expected):
    assert tables.latex(text) == expected


@settings(deadline=None)  # the machine may be busy
@given(st.text())
def test_latex_leaves_no_special_character(text):
    made = tables.latex(text)
    for command in (*tables._TEX.values(), r"$\pm$", "$-$"):
        made = made.replace(command, "")
    assert not set(made) & set("\\{}$&#%_^~<>|\"'`\n")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("make", [cases.mixed, cases.hostile, cases.ladder, cases.differing])
def test_latex_compiles_by_itself(make, tmp_path):
    tables.write(make().overhead, tmp_path)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "overhead.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
