"""The t interval against hand-computed values, and its coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.stats.intervals import estimate, half_width
from tare.stats.metrics import STEP_TIME, THROUGHPUT, named

ratios = st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=12)


def test_half_width_by_hand():
    # t(0.975; 2) = 4.302653 from any table; 4.302653 * 0.01 / sqrt(3)
    assert half_width(0.01, 3, 0.95) == pytest.approx(0.0248414, abs=1e-7)


def test_estimate_by_hand():
    found = estimate([0.01, 0.02, 0.03], STEP_TIME)
    assert (found.mean, found.sd, found.blocks) == (pytest.approx(0.02), pytest.approx(0.01), 3)
    low, high = found.interval_pct()
    assert found.pct == pytest.approx(2.020134)
    assert low == pytest.approx(100 * (math.exp(0.02 - 0.0248414) - 1), abs=1e-4)
    assert high == pytest.approx(100 * (math.exp(0.02 + 0.0248414) - 1), abs=1e-4)


def test_equivalence_interval_is_the_90_percent_one():
    found = estimate([0.01, 0.02, 0.03], STEP_TIME)
    # t(0.95; 2) = 2.919986
    assert found.equivalence_interval_pct()[1] == pytest.approx(
        100 * math.expm1(0.02 + 2.919986 * 0.01 / math.sqrt(3)), abs=1e-5
    )


def test_known_answer_of_an_injected_slow_down():
    assert estimate([math.log(1.03)] * 6, THROUGHPUT).pct == pytest.approx(100 * (1 - 1 / 1.03))
    assert estimate([math.log(1.03)] * 6, STEP_TIME).pct == pytest.approx(3.00)


def test_one_block_has_no_interval_and_none_no_estimate():
    assert estimate([0.01], THROUGHPUT).interval_pct() is None
    with pytest.raises(ValueError, match="at least one block"):
        estimate([], THROUGHPUT)


@pytest.mark.parametrize("blocks", [5, 6, 20])
def test_coverage_of_the_95_percent_interval(blocks):
    random = np.random.default_rng(blocks)
    truth, trials = 0.02, 3000
    drawn = random.normal(truth, 0.007, (trials, blocks))
    half = half_width(1.0, blocks, 0.95) * drawn.std(axis=1, ddof=1)
    covered = np.abs(drawn.mean(axis=1) - truth) <= half
    assert 0.93 <= covered.mean() <= 0.97
    # the estimate is the same computation, looked at in percent
    low, high = estimate(list(drawn[0]), STEP_TIME).interval_pct()
    assert (low <= 100 * math.expm1(truth) <= high) == covered[0]


@settings(deadline=None)  # the machine may be busy
@given(ratios)
def test_the_two_metrics_say_the_same(values):
    by_throughput, by_time = estimate(values, THROUGHPUT), estimate(values, STEP_TIME)
    assert (1 - by_throughput.pct / 100) * (1 + by_time.pct / 100) == pytest.approx(1)


@settings(deadline=None)  # the machine may be busy
@given(ratios, st.sampled_from([THROUGHPUT, STEP_TIME]))
def test_the_interval_holds_the_estimate_and_widens_with_the_level(values, metric):
    found = estimate(values, metric)
    if max(values) - min(values) < 1e-12:
        assert found.interval_pct() is found.equivalence_interval_pct() is None
        return
    low, high = found.interval_pct()
    inner_low, inner_high = found.equivalence_interval_pct()
    assert low <= inner_low <= found.pct + 1e-9
    assert found.pct - 1e-9 <= inner_high <= high


@settings(deadline=None)  # the machine may be busy
@given(ratios)
def test_exchanging_platform_and_baseline_turns_the_sign(values):
    assert estimate([-v for v in values], THROUGHPUT).mean == pytest.approx(
        -estimate(values, THROUGHPUT).mean
    )


def test_the_papers_formula():
    assert THROUGHPUT.performance_overhead_pct(200.0, 190.0) == pytest.approx(5.0)
    assert STEP_TIME.performance_overhead_pct(0.10, 0.105) == pytest.approx(5.0)
    assert THROUGHPUT.performance_overhead_pct(200.0, 210.0) == pytest.approx(-5.0)


def test_an_unknown_metric_is_named():
    with pytest.raises(ValueError, match="'images' is not known; choose one of throughput_images_per_sec"):
        named("images")
