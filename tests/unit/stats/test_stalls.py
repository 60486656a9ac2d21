"""Stalls are told where the whole table leaves no doubt of them, and where they are large enough to matter."""

from __future__ import annotations

import re

import pytest

from tare.stats import stalls
from tare.stats.metrics import THROUGHPUT
from tare.stats.pairs import pair_up
from tests.unit import factory


def stall(p: float, points: float = 1.0) -> stalls.Stall:
    return stalls.Stall(p, points, f"p is {p}")


def test_all_rows_are_looked_at_together() -> None:
    """Holm by hand: 0.01 / 3, then 0.01 / 2."""
    assert stalls.notes([stall(0.003), None, stall(0.006), stall(0.5)]) == ["p is 0.003", "", "", ""]
    assert stalls.notes([stall(0.003), stall(0.0049), stall(0.5)]) == ["p is 0.003", "p is 0.0049", ""]
    assert stalls.notes([stall(0.009)]) == ["p is 0.009"]
    assert stalls.notes([stall(0.009)] * 2) == ["", ""]
    assert stalls.notes([]) == []


def test_what_is_too_small_to_matter_is_not_told() -> None:
    assert stalls.notes([stall(1e-9, 0.09)]) == [""]
    assert stalls.notes([stall(1e-9, -0.11)]) != [""]


def test_too_few_blocks_or_no_spread_tell_of_none() -> None:
    records, _ = factory.study(repetitions=2)
    runs = [{r.repetition: r for r in records if r.environment == name} for name in ("bare", "docker")]
    assert stalls.look(pair_up(*runs)[0], THROUGHPUT) is None
    records, _ = factory.study(repetitions=6, process_noise=0.0, turn_noise=0.0)
    runs = [{r.repetition: r for r in records if r.environment == name} for name in ("bare", "docker")]
    assert stalls.look(pair_up(*runs)[0], THROUGHPUT) is None


def test_its_interval_is_stretched_where_measuring_stops_by_the_width() -> None:
    records, _ = factory.study(repetitions=6)
    runs = [{r.repetition: r for r in records if r.environment == name} for name in ("bare", "docker")]
    plain, wide = (stalls.look(pair_up(*runs)[0], THROUGHPUT, until_precise=how) for how in (False, True))
    assert plain is not None and wide is not None
    widths = []
    for found in (plain, wide):
        low, high = re.search(r"\[(.*), (.*)\]", found.words).groups()
        widths.append(float(high) - float(low))
    assert widths[1] == pytest.approx(widths[0] * (1 + 2 / 6), abs=0.011)
    assert (plain.p, plain.points) == (wide.p, wide.points)


def test_what_is_said() -> None:
    records, _ = factory.study(repetitions=6)
    runs = [{r.repetition: r for r in records if r.environment == name} for name in ("bare", "docker")]
    found = stalls.look(pair_up(*runs)[0], THROUGHPUT)
    assert found is not None
    assert found.words.startswith("by total time the overhead is 2.54 %")
    assert "(by itself: 95 % t interval [" in found.words
    assert found.points == pytest.approx(0, abs=0.1)
