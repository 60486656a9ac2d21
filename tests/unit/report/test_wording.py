"""Numbers as text."""

from __future__ import annotations

import pandas as pd
import pytest

from tare.report import wording
from tare.stats import digits


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.234, "1.23"),
        (-0.001, "-0.001"),
        (-1.5, "-1.50"),
        (12.34, "12.3"),
        (250.4, "250"),
        (pd.NA, ""),
        (None, ""),
    ],
)
def test_percentages(value, expected):
    assert wording.pct(value) == expected


def test_intervals_have_the_same_decimals_at_both_ends():
    assert wording.interval(-0.5, 1.25) == "[-0.50, 1.25]"
    assert wording.interval(-0.5, 12.34) == "[-0.5, 12.3]"
    assert wording.interval(pd.NA, 1.0) == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (6393.5, "6,394"),
        (639.35, "639.4"),
        (0.010033, "0.01003"),
        (12.0, "12.00"),
        (1234567.0, "1,234,567"),
        (pd.NA, ""),
    ],
)
def test_quantities_have_four_digits(value, expected):
    assert wording.quantity(value) == expected


def test_sizes_lists_spans_and_sentences():
    assert wording.size(8 * 2**30) == "8 GiB"
    assert wording.size(100) == "100 B"
    assert [wording.listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert (wording.span([3, 3]), wording.span([5, 3])) == ("3", "3 to 5")
    assert (wording.sentence("why"), wording.sentence("why."), wording.sentence("")) == ("why.", "why.", "")
    assert (wording.count(1, "run"), wording.count(0, "run")) == ("1 run", "0 runs")


def test_an_interval_that_excludes_zero_is_not_printed_as_one_that_begins_there():
    assert wording.interval(0.003, 1.2) == "[0.003, 1.200]"
    assert wording.interval(-0.003, 2.6) == "[-0.003, 2.600]"
    assert wording.interval(0.03, 12.0) == "[0.03, 12.00]"
    assert wording.interval(0.0000123, 1.2) == "[0.00001, 1.20000]"
    # rounding of the arithmetic itself
    assert wording.interval(1e-12, 1.2) == "[0.00, 1.20]"


def test_no_rounding_carries_an_interval_over_the_margin_or_onto_it():
    assert wording.interval(0.4, 1.9996, 2.0) == "[0.4000, 1.9996]"
    assert wording.interval(-1.9996, -0.4, 2.0) == "[-1.9996, -0.4000]"
    assert wording.interval(0.4, 2.004, 2.0) == "[0.400, 2.004]"
    assert wording.interval(0.4, 2.0, 2.0) == "[0.40, 2.00]"
    assert wording.interval(0.1, 0.334, 0.333) == "[0.100, 0.334]"
    assert wording.interval(0.4, 1.9996, pd.NA) == "[0.40, 2.00]"
    assert wording.pct(1.2, 0.4, 1.9996, margin=2.0) == "1.2000"
    assert wording.pct(0.9996, margin=1.0) == "0.9996"
    # nor onto a bound that is rounded too, where it is printed beside it
    truth = 100 * (1 - 1 / 1.03)
    assert digits.decimals(2.9127, 3.4, bounds=[truth]) == 4
    assert digits.decimals(2.2, 2.9119, bounds=[truth]) == 3
