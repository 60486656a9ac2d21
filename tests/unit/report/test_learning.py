"""Losses and accuracies."""

from __future__ import annotations

import pandas as pd

from tare.report.learning import accuracy, lessons
from tests.unit.report import cases


def runs(accuracies, steps=(215,), items=359, classes=10) -> pd.DataFrame:
    size = len(accuracies)
    return pd.DataFrame(
        {
            "test_accuracy": accuracies,
            "steps_trained": list(steps) * (size // len(steps)),
            "test_items": [items] * size,
            "classes": [classes] * size,
        }
    )


def test_accuracy_after_steps():
    assert accuracy(runs([0.94, 0.94])) == "0.94 after 215 steps"
    assert accuracy(runs([0.92, 0.94, 0.95])) == "0.94 after 215 steps (0.92 to 0.95 over 3 runs)"
    assert accuracy(runs([0.94, 0.94], steps=(210, 220))) == "0.94 after 210 to 220 steps"


def test_chance_is_shown_as_what_it_is():
    assert accuracy(runs([0.09, 0.11])) == "at chance after 215 steps (0.10; 10 classes)"


def test_what_is_not_known_is_left_out():
    assert accuracy(runs([pd.NA])) == ""
    assert accuracy(runs([0.10], items=pd.NA)) == "0.10 after 215 steps"


def test_one_lesson_per_cell_and_environment_in_order():
    found = lessons(cases.mixed().runs)
    assert [(x.cell, x.environment) for x in found[:3]] == [
        ("fcn-r-torch", "bare"),
        ("fcn-r-torch", "bubblewrap"),
        ("lenet-tensorflow", "bare"),
    ]
    assert found[0].accuracy.startswith("at chance after 215 steps")
    assert (found[2].accuracy, found[2].training_loss, found[2].runs) == ("0.94 after 215 steps", "0.21", 6)
    assert lessons(cases.nothing().runs) == []
