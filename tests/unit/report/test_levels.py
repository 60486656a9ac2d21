"""How intervals and their levels are told."""

from __future__ import annotations

import pytest

from tare.report import levels, protocol, tables, wording
from tare.report.levels import Intervals
from tare.stats.metrics import THROUGHPUT
from tare.stats.overhead import overhead
from tests.unit.factory import study
from tests.unit.report import cases


@pytest.mark.parametrize(
    ("pct", "shown"),
    [(95.0, "95"), (90, "90"), (97.5, "97.5"), (98.75, "98.75"), (99.6875, "99.69"), (99.9995, "99.9995")],
)
def test_a_level_is_never_rounded_to_100(pct, shown):
    assert wording.level(pct) == shown


def test_one_comparison_alone_is_at_95_percent():
    records, planned = study(cells=["lenet-torch"])
    found = levels.intervals(overhead(records, planned, metric="second_per_batch", margin_pct=2.0))
    assert found == Intervals("t", True, 95.0, 95.0, 1)
    assert (found.heading, found.words) == ("95 % CI", "95 % t interval")


def test_without_correction_all_are_at_95_percent():
    records, planned = study(cells=["lenet-torch", "fcn-r-torch"])
    table = overhead(records, planned, metric="second_per_batch", margin_pct=2.0, adjust="none")
    assert set(table["ci_method"]) == {"t", ""}
    found = levels.intervals(table)
    assert (found.heading, found.words, found.adjusted) == ("95 % CI", "95 % t interval", False)
    assert "95 % CI" in tables.to_markdown(table)
    assert "Holm" not in " ".join(protocol.paragraphs({}, [], THROUGHPUT, found))


def test_a_table_of_one_level_says_it_in_the_heading():
    found = Intervals("BCa", True, 99.6875, 99.6875, 16)
    assert (found.heading, found.words) == ("99.69 % CI", "99.69 % BCa interval (Holm, 16 comparisons)")


def test_a_table_without_intervals_promises_nothing_odd():
    found = levels.intervals(cases.nothing().overhead)
    assert (found.words, found.adjusted) == ("95 % t interval", False)


def test_the_report_says_what_the_levels_mean():
    found = levels.intervals(cases.full().overhead)
    assert "Holm" in " ".join(protocol.paragraphs({}, [], THROUGHPUT, found))
    assert "Holm" in dict(protocol.verdict_meanings({}, found))["equivalent"]
