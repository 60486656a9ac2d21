"""Each verdict from the table, its borders, and the number of blocks that would be needed."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.stats import verdicts
from tare.stats.intervals import Estimate, half_width
from tare.stats.metrics import STEP_TIME, THROUGHPUT
from tare.stats.verdicts import blocks_needed, verdict


def around(low_pct: float, high_pct: float, blocks: int = 6) -> Estimate:
    """An estimate whose 95 % interval in step time is the one given."""
    low, high = (math.log1p(pct / 100) for pct in (low_pct, high_pct))
    return Estimate((low + high) / 2, (high - low) / 2 / half_width(1.0, blocks, 0.95), blocks, STEP_TIME)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (2.5, 4.0, "slower"),
        (0.1, 2.1, "slower"),  # not 0, but perhaps outside the margin
        (0.1, 1.9, "slower, within margin"),
        (-4.0, -2.5, "faster"),
        (-2.1, -0.1, "faster"),
        (-1.9, -0.1, "faster, within margin"),
        (-1.0, 1.0, "equivalent"),
        (-1.0, 2.1, "equivalent"),  # the 90 % interval ends at 1.67
        (-1.0, 4.0, "inconclusive"),
        (-4.0, 1.0, "inconclusive"),
        (-9.0, 9.0, "inconclusive"),
    ],
)
def test_the_table(low, high, expected):
    assert verdict(around(low, high), 2.0) == expected


def test_every_verdict_of_the_table_is_among_the_six():
    assert len(verdicts.DECIDED_BY_ESTIMATE) == 6
    assert {name for name, _ in verdicts.TABLE} | {"inconclusive"} == set(verdicts.DECIDED_BY_ESTIMATE)


def test_a_wider_margin_makes_the_same_interval_smaller_than_it():
    assert verdict(around(2.5, 4.0), 5.0) == "slower, within margin"


def test_without_an_interval_it_is_inconclusive():
    lone = Estimate(0.05, None, 1, THROUGHPUT)
    assert verdict(lone, 2.0) == "inconclusive"
    assert blocks_needed(lone, 2.0) is None


def test_no_spread_at_all():
    assert verdict(Estimate(0.0, 0.0, 2, THROUGHPUT), 2.0) == "equivalent"
    assert verdict(Estimate(0.05, 0.0, 2, THROUGHPUT), 2.0) == "slower"


@pytest.mark.parametrize("margin", [0, -1, math.nan])
def test_a_margin_that_nothing_lies_within_is_refused(margin):
    with pytest.raises(ValueError, match="set it above 0"):
        verdict(around(-1, 1), margin)


def test_blocks_needed_by_hand():
    # with mean 0.01 and sd 0.02 of the log ratios, by the table of t:
    # 0 is excluded where t(0.975; n - 1) * 0.02 / sqrt(n) < 0.01: 0.01028 at 17, 0.00995 at 18;
    # equivalent where t(0.95; n - 1) * 0.02 / sqrt(n) < log(1.02) - 0.01: 0.00989 at 13, 0.00947 at 14
    assert blocks_needed(Estimate(0.01, 0.02, 3, STEP_TIME), 2.0) == 14


def test_on_the_margin_itself_zero_is_what_can_be_excluded():
    found = Estimate(math.log(1.02), 0.04, 3, STEP_TIME)
    needed = blocks_needed(found, 2.0)
    assert half_width(0.04, needed, 0.95) < found.mean <= half_width(0.04, needed - 1, 0.95)


def test_more_blocks_than_anyone_has():
    assert blocks_needed(Estimate(0.0, 2.0, 3, STEP_TIME), 0.5) is None


@settings(deadline=None)  # the machine may be busy
@given(st.floats(-0.05, 0.05), st.floats(0.001, 0.1), st.sampled_from([THROUGHPUT, STEP_TIME]))
def test_the_needed_number_decides_and_one_less_does_not(mean, sd, metric):
    found = Estimate(mean, sd, 2, metric)
    needed = blocks_needed(found, 2.0)
    if verdict(found, 2.0) == "inconclusive" and needed is not None:
        assert verdict(replace(found, blocks=needed), 2.0) != "inconclusive"
        assert verdict(replace(found, blocks=needed - 1), 2.0) == "inconclusive"


@settings(deadline=None)  # the machine may be busy
@given(st.floats(-0.05, 0.05), st.floats(0.0, 0.05), st.integers(2, 30))
def test_the_mirror_image_has_the_mirror_verdict(mean, sd, blocks):
    mirror = {"slower": "faster", "slower, within margin": "faster, within margin"}
    mirror |= {b: a for a, b in mirror.items()}
    # in log time the margin is not symmetric to the last digit, so a margin that nothing comes near
    one = verdict(Estimate(mean, sd, blocks, STEP_TIME), 99.0)
    other = verdict(Estimate(-mean, sd, blocks, STEP_TIME), 99.0)
    assert other == mirror.get(one, one)
