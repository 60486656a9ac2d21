"""Which comparisons are precise enough, and what the others would need."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean, stdev

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from tare.plan.study import FEWEST_FOR_PRECISION
from tare.stats import verdicts
from tare.stats.intervals import Estimate, estimate
from tare.stats.metrics import METRICS, STEP_TIME, THROUGHPUT
from tare.stats.overhead import overhead
from tare.stats.precision import (
    STRETCH,
    Reached,
    blocks_needed,
    enough,
    half_width_pct,
    note,
    reached,
    stretched,
    with_notes,
)
from tests.unit import factory

RATIOS = [0.010, 0.014, 0.002, 0.021, 0.008, 0.017]
ratios = st.lists(st.floats(-0.2, 0.2), min_size=2, max_size=30)


def stretched_estimate(values, metric) -> Estimate:
    return replace(estimate(stretched(values), metric), stretch=STRETCH)


def table(**other) -> pd.DataFrame:
    records, plan = factory.study(**other)
    return overhead(records, plan, metric=THROUGHPUT.name, margin_pct=2.0, until_precise=True)


@given(ratios)
def test_stretching_keeps_the_mean_and_makes_the_spread_larger_by_a_known_factor(values):
    made = stretched(values)
    assert fmean(made) == pytest.approx(fmean(values), abs=1e-12)
    assert stdev(made) == pytest.approx((1 + STRETCH / len(values)) * stdev(values), abs=1e-12)


def test_one_block_is_not_stretched():
    assert stretched([0.1]) == [0.1]
    assert stretched([]) == []


def test_the_rule():
    assert enough(0.9, FEWEST_FOR_PRECISION, 1.0)
    assert enough(1.0, FEWEST_FOR_PRECISION, 1.0)
    assert not enough(1.001, 100, 1.0)
    assert not enough(0.0, FEWEST_FOR_PRECISION - 1, 1.0)
    assert not enough(None, 100, 1.0)


@pytest.mark.parametrize("metric", [THROUGHPUT, STEP_TIME])
@pytest.mark.parametrize("wished_pct", [0.2, 0.5, 2.0])
def test_the_smallest_number_of_blocks_that_is_enough(metric, wished_pct):
    found = stretched_estimate(RATIOS, metric)
    needed = blocks_needed(found, wished_pct)
    assert needed is not None

    def half_pct(blocks: int) -> float:
        # by hand: t(n - 1) * sd * (1 + 2 / n) / sqrt(n), back to percent
        half = student.ppf(0.975, blocks - 1) * stdev(RATIOS) * (1 + 2 / blocks) / math.sqrt(blocks)
        low, high = (metric.overhead_pct(fmean(RATIOS) + sign * half) for sign in (-1, 1))
        return (high - low) / 2

    assert half_pct(needed) <= wished_pct
    assert needed == FEWEST_FOR_PRECISION or half_pct(needed - 1) > wished_pct


def test_what_no_number_of_blocks_would_do_is_told():
    assert blocks_needed(estimate([0.01], THROUGHPUT), 1.0) is None
    assert blocks_needed(estimate([-0.5, 0.5], THROUGHPUT), 0.01) is None
    assert blocks_needed(estimate([0.01] * 6, THROUGHPUT), 0.01) is None  # no spread to go by


@pytest.mark.parametrize("metric", list(METRICS))
def test_of_the_table_it_needs_the_printed_interval_only(metric):
    records, plan = factory.study(factors={"bare": 1.0, "docker": 1.03}, process_noise=0.01)
    frame = overhead(records, plan, metric=metric, margin_pct=2.0, until_precise=True)
    row = frame[frame["environment"] == "docker"].iloc[0]
    (one,) = reached(frame, 0.4)
    assert (one.cell, one.environment, one.baseline, one.blocks) == ("lenet-torch", "docker", "bare", 6)
    assert one.half_width_pct == pytest.approx((row["ci_high_pct"] - row["ci_low_pct"]) / 2)
    assert not one.enough
    # as many as the estimate itself says
    values = []
    for repetition in range(1, 7):
        base, own = (
            next(r for r in records if (r.repetition, r.environment) == (repetition, name))
            for name in ("bare", "docker")
        )
        logs = [math.log(o.timed_s / b.timed_s) for o, b in zip(own.turns, base.turns, strict=True)]
        values.append(float(pd.Series(logs).median()))
    needed = blocks_needed(stretched_estimate(values, METRICS[metric]), 0.4)
    assert one.more_blocks == needed - 6
    assert reached(frame, one.half_width_pct)[0].enough
    assert reached(frame, one.half_width_pct)[0].more_blocks == 0


def test_a_level_that_the_table_names_is_used():
    frame = table(process_noise=0.01)
    wider = frame.assign(ci_level_pct=99.5)
    # the same interval, at a higher level, comes from less spread, which fewer blocks bring down
    assert reached(wider, 0.3)[0].more_blocks < reached(frame, 0.3)[0].more_blocks


def test_intervals_are_wider_where_measuring_stops_by_them():
    records, plan = factory.study()
    halves = []
    for until_precise in (False, True):
        frame = overhead(
            records, plan, metric=STEP_TIME.name, margin_pct=2.0, until_precise=until_precise
        ).set_index("environment")
        halves.append(half_width_pct(frame.loc["docker", "ci_low_pct"], frame.loc["docker", "ci_high_pct"]))
    assert halves[1] == pytest.approx(halves[0] * (1 + STRETCH / 6), rel=1e-3)


def test_what_cannot_be_compared_asks_for_nothing():
    # nothing measured, not measurable, not comparable
    records, plan = factory.study(factors={"bare": 1.0, "docker": 1.0})
    gone = [r for r in records if r.environment == "bare"]
    frame = overhead(gone, plan, metric=THROUGHPUT.name, margin_pct=2.0)
    assert set(frame["verdict"]) == {verdicts.BASELINE, verdicts.MISSING}
    assert reached(frame, 0.01) == []
    other = [r.model_copy(update={"threads": 1}) if r.environment == "docker" else r for r in records]
    frame = overhead(other, plan, metric=THROUGHPUT.name, margin_pct=2.0)
    assert verdicts.NOT_COMPARABLE in set(frame["verdict"])
    assert reached(frame, 0.01) == []
    plan = factory.plan(unusable={"docker": ("no docker here", "Install it.")})
    frame = overhead(gone, plan, metric=THROUGHPUT.name, margin_pct=2.0)
    assert verdicts.NOT_MEASURED in set(frame["verdict"])
    assert reached(frame, 0.01) == []


def test_one_block_asks_for_more():
    (one,) = reached(table(repetitions=1), 50.0)
    assert one == Reached("lenet-torch", "docker", "bare", 1, None, False, None)
    assert note(one, 50.0) == "±50 points were asked for, and 1 block gives no interval"


def test_few_blocks_are_not_judged_however_well_they_agree():
    (one,) = reached(table(repetitions=3, process_noise=1e-6, turn_noise=0.0), 1.0)
    assert (one.enough, one.more_blocks) == (False, 2)
    assert note(one, 1.0) == "±1 points were asked for, which is judged from 5 blocks on"


def test_notes_stand_before_what_else_is_said():
    frame = table(process_noise=0.02)
    frame = frame.assign(note=pd.array(["", "something else"], dtype="string"))
    made = with_notes(frame, 0.5).set_index("environment")
    assert made.loc["bare", "note"] == ""
    said = made.loc["docker", "note"]
    assert said.startswith("±0.5 points were asked for, ±")
    assert said.endswith("more blocks would be needed for that width; something else")
    assert list(with_notes(frame, 90.0)["note"]) == ["", "something else"]
    assert dict(with_notes(frame, 90.0).dtypes) == dict(frame.dtypes)


def test_a_number_beyond_reason_is_told_as_one():
    assert note(Reached("c", "e", "b", 6, 9.0, False, None), 0.001).endswith(
        "over 10000 blocks would be needed for that width"
    )
    assert note(Reached("c", "e", "b", 6, 1.5, False, 1), 1.4).endswith(
        "about 1 more block would be needed for that width"
    )
    assert note(Reached("c", "e", "b", 6, 1.0, True, 0), 1.0) == ""


def test_of_a_verdict_too_the_widening_is_counted_once():
    """More blocks are stretched less: as many as a study from the start would say."""
    values = [0.03 * (-1) ** n + 0.012 for n in range(8)]
    found = stretched_estimate(values, STEP_TIME)
    more = found.with_blocks(40)
    assert more.sd == pytest.approx(stdev(values) * (1 + STRETCH / 40))
    assert found.with_blocks(8).sd == pytest.approx(found.sd)
    assert verdicts.blocks_needed(found, 2.0) < verdicts.blocks_needed(replace(found, stretch=0.0), 2.0)
