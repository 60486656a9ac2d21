"""The last self-check, read where it is there and never needed."""

from __future__ import annotations

import json

import pytest

from tare.campaign import selfcheck
from tests.unit.factory import HOST

ENVIRONMENTS = ["bare", {"name": "bare-again", "engine": "bare"}]


@pytest.fixture
def checked(project):
    project.name = selfcheck.NAME
    project.write(environments=ENVIRONMENTS)
    campaign = project.all_measured()
    for state in campaign.states:
        for path, name in zip(state.paths, state.block.environments, strict=True):
            if name == "bare-again":  # blocks that are all the same would give no interval
                content = json.loads(path.read_text())
                for turn in content["turns"]:
                    turn["durations_s"] = [
                        s * (1 + 1e-6 * (-1) ** state.block.repetition) for s in turn["durations_s"]
                    ]
                path.write_text(json.dumps(content))
    return project


def test_it_is_read(checked):
    check = selfcheck.last(checked.root / "results", HOST)
    assert check is not None
    assert (check.day, check.passed) == ("2026-01-02", True)
    assert [(a.environment, a.truth_pct) for a in check.answers] == [("bare-again", 0)]


def test_that_of_another_machine_says_nothing_of_this_one(checked):
    assert selfcheck.last(checked.root / "results", HOST | {"kernel": "6.2.0"}) is None


def test_none_is_needed(project):
    project.all_measured()
    assert selfcheck.last(project.root / "results", HOST) is None


def test_a_damaged_one_is_as_good_as_none(checked):
    next((checked.study_dir / "runs").glob("*/*/bare.json")).write_text("{")
    assert selfcheck.last(checked.root / "results", HOST) is None
    (checked.study_dir / "study.json").write_text("{")
    assert selfcheck.last(checked.root / "results", HOST) is None


def test_one_that_was_begun_and_holds_no_record_is_none(project):
    project.name = selfcheck.NAME
    project.write(environments=ENVIRONMENTS)
    project.begin()
    assert selfcheck.last(project.root / "results", HOST) is None
