"""Whether anything was learned."""

from __future__ import annotations

import pytest

from tare.stats.chance import at_chance


@pytest.mark.parametrize(
    ("accuracy", "items", "classes", "expected"),
    [
        (0.10, 359, 10, True),
        (0.12, 359, 10, True),  # 43 right where 36 are expected: p = 0.13
        (0.16, 359, 10, False),
        (0.94, 359, 10, False),
        (0.0, 359, 10, True),
        (1.0, 1, 10, True),  # one item shows nothing
        (0.5, 100, 2, True),
    ],
)
def test_against_guessing(accuracy, items, classes, expected):
    assert at_chance(accuracy, items, classes) is expected
