"""The BCa bootstrap: refused with few blocks, the t interval's neighbour with normal ones, skewed with skewed ones."""

from __future__ import annotations

import numpy as np
import pytest

from tare.plan.study import FEWEST_FOR_BCA
from tare.stats.bootstrap import bca_estimate
from tare.stats.intervals import estimate
from tare.stats.metrics import STEP_TIME, THROUGHPUT


def normal(blocks: int, seed: int = 4, mean: float = 0.02) -> list[float]:
    return [float(v) for v in np.random.default_rng(seed).normal(mean, 0.01, blocks)]


def test_refused_below_20_blocks():
    few = bca_estimate(normal(FEWEST_FOR_BCA - 1), THROUGHPUT)
    assert few.interval_pct() is None
    assert few.p_difference() == 1
    assert few.pct == pytest.approx(estimate(normal(FEWEST_FOR_BCA - 1), THROUGHPUT).pct)


def test_near_the_t_interval_where_blocks_are_normal():
    values = normal(60)
    bca, t = bca_estimate(values, THROUGHPUT), estimate(values, THROUGHPUT)
    assert bca.method == "BCa"
    assert bca.interval_pct() == pytest.approx(t.interval_pct(), abs=0.06)
    assert bca.equivalence_interval_pct() == pytest.approx(t.equivalence_interval_pct(), abs=0.06)
    assert bca.interval_pct() == bca_estimate(values, THROUGHPUT).interval_pct()


def test_a_tail_to_the_right_moves_it_there():
    values = [float(v) for v in np.random.default_rng(5).exponential(0.02, 40)]
    found = bca_estimate(values, STEP_TIME)
    low, high = found.log_interval(0.95)
    assert high - found.mean > 1.15 * (found.mean - low)


def test_p_values_go_with_the_intervals():
    found = bca_estimate(normal(24, seed=6, mean=0.005), THROUGHPUT)
    p = found.p_difference()
    assert 0.0005 < p < 0.2
    low, high = found.log_interval(1 - p)
    assert min(abs(low), abs(high)) < 2e-5
    assert found.p_equivalence(0.01) > 0.5
    assert found.p_equivalence(50) < 1e-4


def test_far_from_zero_p_is_as_small_as_resampling_can_tell():
    assert bca_estimate(normal(30, mean=0.5), THROUGHPUT).p_difference() == pytest.approx(1e-4, rel=0.1)


def test_no_spread():
    found = bca_estimate([0.02] * 25, STEP_TIME)
    assert found.interval_pct() is None
    assert (found.p_difference(), found.p_equivalence(5.0)) == (1.0, 1.0)


def test_more_blocks_are_planned_by_the_t_interval():
    found = bca_estimate(normal(24), THROUGHPUT).with_blocks(100)
    assert (found.method, found.blocks) == ("t", 100)


def test_no_block():
    with pytest.raises(ValueError, match="at least one block"):
        bca_estimate([], THROUGHPUT)
