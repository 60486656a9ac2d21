"""Stopping where the interval is narrow: a short version of benchmarks/optional_stopping.py."""

from __future__ import annotations

import pytest

from benchmarks.optional_stopping import simulate

# the first blocks and the wish at which stopping does most harm, of those that were tried
WORST = {"first": (5,), "wishes_pct": (0.5,)}


def coverage(noise: str, *, stretch: bool) -> tuple[float, float]:
    found, _ = simulate(noise, paths=1500, seed=3, stretch=stretch, **WORST)
    (one,) = found.values()
    return one.share, one.error


@pytest.mark.parametrize("noise", ["normal", "t3"])
def test_intervals_at_the_moment_of_stopping_hold_the_truth_as_often_as_they_say(noise: str) -> None:
    share, error = coverage(noise, stretch=True)
    assert share > 0.95 - 2 * error


def test_without_the_correction_they_would_not() -> None:
    share, error = coverage("normal", stretch=False)
    assert share < 0.95 - 3 * error


def test_without_stopping_both_are_right() -> None:
    for stretch in (False, True):
        _, fixed = simulate("normal", paths=1000, seed=4, stretch=stretch, most=10, **WORST)
        assert fixed.share > 0.95 - 2 * fixed.error
