"""The one number that a block gives."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.stats.pairs import Pair, log_time_ratio, pair_up
from tests.unit.factory import record, turn

times = st.lists(st.floats(0.001, 1.0), min_size=1, max_size=9)


def pair(baseline_s, platform_s, **other) -> Pair:
    return Pair(record(step_s=baseline_s, **other), record(environment="docker", step_s=platform_s, **other))


def test_lockstep_takes_the_median_over_rounds():
    # ratios 1.01, 1.02, 1.50: a burst in the last round does not move the median
    assert log_time_ratio(pair([1, 1, 1], [1.01, 1.02, 1.5])) == pytest.approx(math.log(1.02))


def test_sequential_takes_the_ratio_of_the_runs():
    found = log_time_ratio(pair([1, 1, 1], [1.01, 1.02, 1.5], schedule="sequential"))
    assert found == pytest.approx(math.log(3.53 / 3))


def test_only_shared_rounds_count():
    baseline = record(turns=[turn([1.0], round=r) for r in (0, 1, 2, 3)])
    platform = record(
        environment="docker", turns=[turn([s], round=r) for r, s in ((1, 1.1), (3, 1.1), (4, 9.0))]
    )
    assert log_time_ratio(Pair(baseline, platform)) == pytest.approx(math.log(1.1))


def test_turns_of_one_round_are_taken_together():
    baseline = record(turns=[turn([1.0, 1.0], round=0)])
    platform = record(environment="docker", turns=[turn([1.0, 1.0], round=0), turn([1.3], round=0)])
    assert log_time_ratio(Pair(baseline, platform)) == pytest.approx(math.log(1.1))


def test_no_shared_round_no_number():
    one = record(turns=[turn(round=0), turn(round=1)])
    other = record(environment="docker", turns=[turn(round=2), turn(round=3)])
    assert log_time_ratio(Pair(one, other)) is None


@pytest.mark.parametrize("schedule", ["lockstep", "sequential"])
def test_runs_of_different_measurings_of_a_block_make_no_pair(schedule):
    then = record(schedule=schedule, block_id="monday")
    now = record(schedule=schedule, block_id="tuesday", environment="docker")
    assert log_time_ratio(Pair(then, now)) is None
    assert pair_up({1: then}, {1: now}) == ([], [Pair(then, now)])


@pytest.mark.parametrize(
    "platform",
    [
        {"block_id": "block-1", "block": ("docker", "bare")},
        {"block_id": "block-1", "schedule": "sequential"},
        {"block_id": "block-1", "slot": 0},
        {"block_id": ""},
    ],
)
def test_runs_that_can_t_be_of_one_measuring_make_no_pair(platform):
    assert log_time_ratio(Pair(record(), record(environment="docker"))) == 0
    assert log_time_ratio(Pair(record(), record(environment="docker", **platform))) is None


def test_runs_that_do_not_tell_their_measuring_make_no_pair():
    assert log_time_ratio(Pair(record(block_id=""), record(environment="docker", block_id=""))) is None


def test_pairing_uses_only_runs_that_ended_well_in_the_same_block():
    baseline = {1: record(), 2: record(repetition=2), 3: record(repetition=3, status="failed")}
    platform = {
        n: record(environment="docker", repetition=n, status=status)
        for n, status in ((1, "ok"), (2, "timeout"), (3, "ok"), (4, "ok"))
    }
    pairs, apart = pair_up(baseline, platform)
    assert [p.platform.repetition for p in pairs] == [1]
    assert apart == []


@settings(deadline=None)  # the machine may be busy
@given(times, st.floats(0.5, 2.0))
def test_a_constant_factor_is_found_exactly(baseline_s, factor):
    assert log_time_ratio(pair(baseline_s, [factor * s for s in baseline_s])) == pytest.approx(
        math.log(factor), abs=1e-9
    )


@settings(deadline=None)  # the machine may be busy
@given(times)
def test_exchanged_runs_give_the_opposite_number(baseline_s):
    platform_s = [s * (1 + i / 10) for i, s in enumerate(baseline_s)]
    assert log_time_ratio(pair(platform_s, baseline_s)) == pytest.approx(
        -log_time_ratio(pair(baseline_s, platform_s))
    )
