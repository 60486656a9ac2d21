"""Which blocks a study goes on with, by the records that are there."""

from __future__ import annotations

import json
import math
from random import Random

import pytest

from tare.campaign import describe, freeze, precision
from tare.campaign.state import Status, states
from tare.plan.errors import StudyError
from tare.plan.study import Study
from tare.stats.precision import Reached
from tests.unit.project import Project

WISH = {"repetitions": 5, "precision_pct": 1.0, "max_repetitions": 8, "time_budget_s": 100}
TWO = {"matrix": {"model": ["lenet"], "framework": ["torch", "tensorflow"]}}


@pytest.fixture
def wishing(project: Project) -> Project:
    project.write(**WISH)
    return project


def measure(project: Project, found, spread: float = 0.1, **other) -> None:
    """Write records in which docker is slower by a factor that changes from block to block."""
    for state in found:
        random = Random(f"{state.block.cell}{state.block.repetition}")
        factor = math.exp(random.gauss(0.05, spread))
        project.measure([state], step_s=0.01, **other)
        for path, name in zip(state.paths, state.block.environments, strict=True):
            if name != "bare":
                content = json.loads(path.read_text())
                for turn in content["turns"]:
                    turn["durations_s"] = [0.01 * factor for _ in turn["durations_s"]]
                path.write_text(json.dumps(content))


def blocks(found) -> list[tuple[str, int]]:
    return [(state.block.cell, state.block.repetition) for state in found]


def test_a_study_without_a_wish_has_no_look(project):
    campaign = project.all_measured()
    assert (campaign.look, campaign.reserve, campaign.possible) == (None, [], [])
    assert describe.going_on(campaign) == describe.imprecise(campaign) == []


def test_before_the_first_block_only_the_first_ones_are_to_be_measured(wishing):
    campaign = wishing.look()
    assert blocks(campaign.to_measure) == [("lenet-torch", r) for r in range(1, 6)]
    assert blocks(campaign.possible) == [("lenet-torch", r) for r in range(6, 9)]
    assert campaign.most_seconds_left == pytest.approx(100)
    assert campaign.most_seconds_beyond == pytest.approx(60)
    assert describe.plan_text(campaign).splitlines() == [
        "Study small: 1 cell, 5 blocks, 10 runs in bare, docker.",
        "To be measured now: 5 blocks, 10 runs, about 2 min.",
        "Cells whose intervals are wider than ±1 points then go on: at most 3 further blocks, 60 s.",
    ]


def test_a_noisy_cell_goes_on_block_by_block_to_its_end(wishing):
    measure(wishing, wishing.begin().to_measure)
    for repetition in (6, 7, 8):
        campaign = wishing.look()
        assert blocks(campaign.to_measure) == [("lenet-torch", repetition)]
        assert len(campaign.states) == repetition
        assert len(campaign.possible) == 8 - repetition
        assert len(campaign.records) == 2 * repetition
        measure(wishing, campaign.to_measure)
    campaign = wishing.look()
    assert campaign.to_measure == campaign.possible == []
    assert len(campaign.states) == 8
    (said,) = describe.imprecise(campaign)
    assert said.startswith("lenet-torch, docker: ±1 points were asked for, ±")
    assert "Precise enough (±1 points): 0 of 1 comparison." in describe.plan_text(campaign)


def test_a_quiet_cell_stops_and_nothing_is_missing(wishing):
    measure(wishing, wishing.begin().to_measure, spread=0.001)
    campaign = wishing.look()
    assert campaign.to_measure == campaign.possible == []
    assert describe.status_counts(campaign)["missing"] == 0
    assert describe.imprecise(campaign) == []
    assert describe.plan_text(campaign).splitlines()[1:] == [
        "Nothing is to be measured now.",
        "Precise enough (±1 points): 1 of 1 comparison.",
    ]


def test_a_cell_whose_first_blocks_are_not_all_measured_waits(wishing):
    first = wishing.begin().to_measure
    measure(wishing, first[:4])
    campaign = wishing.look()
    assert blocks(campaign.to_measure) == [("lenet-torch", 5)]
    assert len(campaign.possible) == 3


def test_cells_go_on_each_by_itself(project):
    project.write(**WISH, **TWO)
    campaign = project.begin()
    for state in campaign.to_measure:
        measure(project, [state], spread=0.1 if state.block.cell == "lenet-torch" else 1e-6)
    assert blocks(project.look().to_measure) == [("lenet-torch", 6)]
    assert blocks(project.look(only="lenet-tensorflow").to_measure) == []
    assert project.look(only="lenet-tensorflow").possible == []


def test_blocks_that_were_begun_stay_in_the_study(wishing):
    measure(wishing, wishing.begin().to_measure)
    measure(wishing, wishing.look().to_measure)
    # a wish that is met now does not take away what is measured
    wishing.write(**{**WISH, "precision_pct": 90.0})
    campaign = wishing.look()
    assert len(campaign.states) == 6
    assert campaign.to_measure == []
    # one of its two records is gone: the block is measured again
    campaign.states[-1].paths[0].unlink()
    assert blocks(wishing.look().to_measure) == [("lenet-torch", 6)]
    # both are gone: nothing is missing
    campaign.states[-1].paths[1].unlink()
    assert wishing.look().to_measure == []


def test_runs_that_failed_count_as_tried_and_comparisons_that_cannot_be_made_ask_for_nothing(wishing):
    campaign = wishing.begin()
    for state in campaign.to_measure:
        wishing.measure([state], status="failed")
    campaign = wishing.look()
    assert {state.status for state in campaign.states} == {Status.FAILED}
    assert campaign.to_measure == campaign.possible == []


def test_what_an_engine_that_is_down_needs_is_held_up(wishing):
    measure(wishing, wishing.begin().to_measure)
    wishing.machine.down["docker"] = ("no docker daemon answers", "Start it.")
    campaign = wishing.look()
    assert campaign.to_measure == []
    assert blocks(campaign.held_up) == [("lenet-torch", 6)]
    assert any("1 block waits for docker" in text for text in describe.waiting(campaign))


def test_redo_measures_again_what_is_measured(wishing):
    measure(wishing, wishing.begin().to_measure)
    measure(wishing, wishing.look().to_measure)
    assert [r for _, r in blocks(wishing.look(redo=True).to_measure)] == [1, 2, 3, 4, 5, 6, 7]


def look_and_keep(project: Project) -> tuple[Study, precision.Look]:
    study, plan = freeze.read(project.study_dir)
    every = states(project.study_dir, plan)
    look = precision.judge(study, project.study_dir, plan, every)
    assert look is not None
    done = sum(state.status.finished for state in every)
    precision.write(precision.file_of(project.study_dir, done), look, study, every)
    return study, look


def test_a_look_is_kept_and_taken_while_nothing_changed(wishing, monkeypatch):
    measure(wishing, wishing.begin().to_measure)
    _, look = look_and_keep(wishing)
    path = precision.file_of(wishing.study_dir, 5)
    assert precision.further(path) == list(look.further) == [("lenet-torch", 6)]
    content = json.loads(path.read_text())
    assert (content["wished_half_width_pct"], content["blocks"]) == (1.0, 5)
    assert content["comparisons"][0]["environment"] == "docker"

    def never(*given):
        raise AssertionError("the records were read again")

    with monkeypatch.context() as patched:
        patched.setattr(precision, "_reached", never)
        assert wishing.look().look == look
        # the wish is another
        wishing.write(**{**WISH, "precision_pct": 2.0})
        with pytest.raises(AssertionError, match="read again"):
            wishing.look()
        wishing.write(**WISH)
        # a record is another
        record = wishing.look().states[0].paths[0]
        record.write_text(record.read_text() + " ")
        with pytest.raises(AssertionError, match="read again"):
            wishing.look()
    path.write_text("{")
    assert wishing.look().look == look


def test_a_damaged_record_is_one_sentence(wishing):
    measure(wishing, wishing.begin().to_measure)
    record = wishing.look().states[0].paths[0]
    content = json.loads(record.read_text())
    record.write_text(json.dumps({**content, "turns": "none"}))
    with pytest.raises(StudyError, match="turns"):
        wishing.look()


def test_each_comparison_goes_on_in_blocks_that_hold_both(project):
    project.write(**WISH)
    measure(project, project.begin().to_measure, spread=1e-6)
    project.write(**WISH, environments=["bare", "docker", "podman"])
    campaign = project.begin()
    assert [r for _, r in blocks(campaign.to_measure)] == [9, 10, 11, 12, 13]
    measure(project, campaign.to_measure)
    campaign = project.look()
    assert blocks(campaign.to_measure) == [("lenet-torch", 14)]
    assert set(campaign.to_measure[0].block.environments) == {"bare", "podman"}


def test_one_block_serves_several_comparisons_and_none_goes_beyond_the_plan(wishing):
    every = states(wishing.study_dir, wishing.begin().plan)
    measure(wishing, every[:5])
    every = states(wishing.study_dir, wishing.look().plan)
    lacks = [Reached("lenet-torch", "docker", "bare", 5, 3.0, False, 9)] * 2
    assert precision.next_blocks(lacks, every) == [("lenet-torch", 6)]
    assert precision.next_blocks([], every) == []
    measure(wishing, every[5:])
    assert precision.next_blocks(lacks, states(wishing.study_dir, wishing.look().plan)) == []


def test_a_look_that_was_kept_tells_that_it_was_measured_until_precise(wishing):
    assert not precision.looked_at(wishing.look().study_dir)
    path = precision.file_of(wishing.look().study_dir, 6)
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert precision.looked_at(wishing.look().study_dir)
