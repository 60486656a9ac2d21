"""The table for the terminal."""

from __future__ import annotations

import pytest

from tare.report import text
from tests.unit.factory import study
from tests.unit.report import cases


@pytest.mark.parametrize("make", cases.ALL)
def test_it_fits_the_terminal(make):
    made = text.summary(make().overhead)
    assert max(len(line) for line in made.splitlines()) <= 100
    assert made.isascii()
    assert made.endswith("\n")


def test_one_row_per_cell_and_environment():
    lines = text.summary(cases.full().overhead).splitlines()
    rows = [line for line in lines if line.startswith(tuple(cases.CELLS))]
    assert len(rows) == len(cases.CELLS) * 3
    assert all(word in lines[2] for word in ("cell", "environment", "estimate", "interval", "verdict"))
    assert "99.17 to 99.44 % t interval (Holm, 9 comparisons)" in " ".join(" ".join(lines).split())
    assert not any(" bare " in row for row in rows)


def test_what_was_not_measured_is_said_with_its_reason():
    made = text.summary(cases.mixed().overhead)
    assert "podman not measured in any cell: podman is not installed. Install it with" in made
    assert "vgg16-torch not measured: no V100 here." in made
    assert "lenet-torch, docker: 1 of 6 runs failed: killed for memory." in made
    assert "not comparable" in made
    assert "missing" in made


def test_in_what_each_environment_differs_is_said_in_a_line():
    lines = text.summary(cases.differing().overhead).splitlines()
    assert lines[-2:] == [
        "docker differs from bare in /dev/shm, seccomp and network.",
        "podman differs from bare in /dev/shm.",
    ]


def test_nothing_to_show():
    assert "no other environment is planned" in text.summary(cases.only_bare().overhead)
    assert "Nothing to compare has been measured yet." in text.summary(cases.nowhere().overhead)
    assert "0 of 6 blocks measured" in text.summary(cases.nothing().overhead)


def test_the_baseline_is_named_where_there_are_several():
    header = text.summary(cases.ladder().overhead).splitlines()[2]
    assert header.split()[:3] == ["cell", "environment", "baseline"]


def test_long_names_are_folded_and_square_brackets_are_no_markup():
    long = "inception-v3-with-a-very-long-name-that-no-terminal-has-room-for-torch"
    one = cases.case(*study(cells=[long], factors={"bare": 1, "[red]docker-hardened-without-seccomp": 1.03}))
    made = text.summary(one.overhead)
    assert max(len(line) for line in made.splitlines()) <= 100
    assert "[red]" in made
