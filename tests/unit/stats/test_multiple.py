"""Holm's step-down: by hand, against its textbook form, and the error rate of whole tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats import verdicts
from tare.stats.intervals import estimate
from tare.stats.metrics import STEP_TIME, THROUGHPUT
from tare.stats.multiple import adjusted, step_down

NULLS = 8


def test_by_hand():
    # 0.01 < 0.05 / 4; 0.015 < 0.05 / 3; 0.03 is not below 0.05 / 2, so neither it nor 0.04 is rejected
    rates = step_down([0.04, 0.01, 0.03, 0.015], 0.05)
    assert rates == pytest.approx([0.025, 0.0125, 0.025, 0.05 / 3])


def test_one_test_alone_is_not_corrected():
    assert step_down([0.2], 0.05) == [0.05]
    assert step_down([], 0.05) == []


def textbook(p_values, error):
    """Holm's adjusted p values: the running maximum of (m - rank) p, rejected below the error rate."""
    rejected, worst = set(), 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[index]))
        if worst < error:
            rejected.add(index)
    return rejected


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=20))
def test_it_rejects_what_the_textbook_rejects(p_values):
    rates = step_down(p_values, 0.05)
    ours = {i for i, (p, rate) in enumerate(zip(p_values, rates, strict=True)) if p < rate}
    theirs = textbook(p_values, 0.05)
    # rounding may decide the border itself otherwise
    border = {i for i, (p, rate) in enumerate(zip(p_values, rates, strict=True)) if p == pytest.approx(rate)}
    assert ours == theirs or border


def tables(trials: int, means: list[float], seed: int, blocks: int = 6):
    """Simulated tables: the estimates of `len(means)` comparisons each."""
    drawn = (
        np.random.default_rng(seed).normal(0.0, 0.01, (trials, len(means), blocks)) + np.array(means)[:, None]
    )
    return [[estimate([float(v) for v in row], THROUGHPUT) for row in table] for table in drawn]


def differs(one) -> bool:
    low, high = one.interval_pct()
    return not low <= 0 <= high


def test_a_table_of_true_zeros_errs_in_at_most_one_of_twenty():
    trials = 600
    drawn = tables(trials, [0.0] * NULLS, seed=1)
    plain = sum(any(differs(one) for one in table) for table in drawn) / trials
    held = sum(any(differs(one) for one in adjusted(table, 2.0)) for table in drawn) / trials
    assert 0.28 < plain < 0.40  # 1 - 0.95 ** 8 = 0.34
    assert 0.02 < held < 0.077  # 0.05 and three standard errors


def test_true_differences_do_not_let_the_zeros_err_more():
    trials = 600
    drawn = tables(trials, [0.05] * NULLS + [0.0] * NULLS, seed=2)
    held = [adjusted(table, 2.0) for table in drawn]
    assert sum(any(differs(one) for one in table[NULLS:]) for table in held) / trials < 0.077
    # and they cost the zeros less than Bonferroni's 1 - 0.05 / 16 once the others are found
    assert held[0][-1].level == pytest.approx(1 - 0.05 / NULLS)


def test_equivalence_is_a_family_of_its_own():
    # every true overhead lies on the margin itself: any `equivalent` is wrong
    trials, edge = 600, THROUGHPUT.log_time_ratio(2.0)
    drawn = tables(trials, [edge] * NULLS, seed=3)
    wrong = sum(
        any(verdicts.verdict(one, 2.0) == verdicts.EQUIVALENT for one in adjusted(table, 2.0))
        for table in drawn
    )
    assert wrong / trials < 0.077


@given(st.lists(st.lists(st.floats(-0.1, 0.1), min_size=2, max_size=6), min_size=1, max_size=6))
def test_intervals_and_p_values_decide_alike(ratios):
    for one in adjusted([estimate(values, STEP_TIME) for values in ratios], 2.0):
        p = one.p_difference()
        if p != pytest.approx(1 - one.level, rel=1e-6) and one.sd is not None:
            assert differs(one) == (p < 1 - one.level)


def test_a_single_block_is_no_test_and_costs_the_others_nothing():
    lone, pair = estimate([0.01], THROUGHPUT), estimate([0.010, 0.011, 0.012], THROUGHPUT)
    found = adjusted([lone, pair], 2.0)
    assert found[0] == lone
    assert (found[1].level, found[1].equivalence_level) == pytest.approx((0.95, 0.90))
