"""What a block's records say of it, and which records the tables rest on."""

from __future__ import annotations

import json

import pytest

from tare.campaign import freeze
from tare.campaign.describe import plan_text, status_counts
from tare.campaign.state import Status, current_records, states
from tare.records import store
from tests.unit.factory import record


@pytest.fixture
def measured(project):
    """A study of one block that was measured: the campaign that did it."""
    project.write(repetitions=1)
    campaign = project.begin()
    project.measure(campaign.to_measure)
    return campaign


def status(project) -> Status:
    (state,) = project.look().states
    return state.status


def change(path, **values) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def path_of(campaign, environment: str):
    (state,) = campaign.states
    return state.paths[state.block.environments.index(environment)]


def test_done(project, measured):
    assert status(project) is Status.DONE
    assert project.look().to_measure == []


def test_missing(project, measured):
    path_of(measured, "docker").unlink()
    assert status(project) is Status.MISSING
    # measured again whole: what is left of it is no comparison
    assert len(project.look().to_measure[0].paths) == 2


@pytest.mark.parametrize("ended", ["failed", "timeout"])
def test_failed(project, measured, ended):
    project.measure(measured.states, status=ended)
    assert status(project) is Status.FAILED
    assert project.look().to_measure == []


def test_interrupted(project, measured):
    project.measure(measured.states, status="interrupted")
    assert status(project) is Status.INTERRUPTED
    assert len(project.look().to_measure) == 1
    assert "Interrupted, to be measured again whole: 1 block." in plan_text(project.look())


def test_interrupted_before_it_had_records(project, measured):
    for path in measured.states[0].paths:
        path.unlink()
    values = {"environment": "bare", "block": ("bare", "docker"), "status": "interrupted"}
    store.write_interrupted(project.study_dir, record(cell=measured.states[0].block.cell, **values))
    assert status(project) is Status.INTERRUPTED


def test_stale(project, measured):
    change(path_of(measured, "docker"), spec_hash="another")
    assert status(project) is Status.STALE
    assert "Measured again because the study asks for something else of them now: 1 block" in plan_text(
        project.look()
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "5",
        "null",
        "{}",
        '{"status": "ok"}',
        b"\xff",
        '{"spec_hash": "x", "status": "fine"}',
        "[",
    ],
)
def test_unreadable(project, measured, text):
    path_of(measured, "docker").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert status(project) is Status.UNREADABLE
    assert "With damaged records, to be measured again: 1 block." in plan_text(project.look())


def test_a_folder_is_no_record(project, measured):
    path = path_of(measured, "docker")
    path.unlink()
    path.mkdir()
    assert status(project) is Status.UNREADABLE


def test_the_worst_of_its_runs_decides(project, measured):
    project.measure(measured.states, status="failed")
    change(path_of(measured, "docker"), spec_hash="another")
    assert status(project) is Status.STALE


def test_only_a_final_state_is_finished():
    assert {s for s in Status if s.finished} == {Status.DONE, Status.FAILED}


def test_states_come_in_the_order_of_measuring(project):
    campaign = project.begin()
    assert [s.block.order for s in states(project.study_dir, campaign.plan)] == [1, 2, 3, 4, 5, 6]


def test_counts_name_every_state(project):
    campaign = project.begin()
    project.measure(campaign.to_measure[:2])
    project.measure(campaign.to_measure[2:3], status="failed")
    project.measure(campaign.to_measure[3:4], status="interrupted")
    assert status_counts(project.look()) == {
        "done": 2, "failed": 1, "missing": 2, "interrupted": 1, "stale": 0, "unreadable": 0
    }  # fmt: skip


def test_tables_rest_on_final_records_of_what_is_asked_for_now(project):
    campaign = project.begin()
    one, two, three, four, *_ = campaign.to_measure
    project.measure([one])
    project.measure([two], status="failed")
    project.measure([three], status="interrupted")
    project.measure([four], spec_hash="another")
    _, plan = freeze.read(project.study_dir)
    found = list(current_records(project.study_dir, plan))
    assert [(r.repetition, r.status) for r in found] == [
        (one.block.repetition, "ok"), (one.block.repetition, "ok"),
        (two.block.repetition, "failed"), (two.block.repetition, "failed"),
    ]  # fmt: skip


def test_records_outside_the_plan_are_not_in_the_tables(project):
    project.write(environments=["bare", "docker", "podman"], repetitions=2)
    project.all_measured()
    project.write(environments=["bare", "podman"], repetitions=1)
    project.begin()
    _, plan = freeze.read(project.study_dir)
    assert {(r.environment, r.repetition) for r in current_records(project.study_dir, plan)} == {
        ("bare", 1), ("podman", 1)
    }  # fmt: skip


def test_a_record_at_anothers_place_is_not_counted_under_its_name(project):
    """bare and bare-again have the same specification, so that the hash does not tell them apart."""
    project.write(environments=["bare", {"name": "bare-again", "engine": "bare"}], repetitions=1)
    campaign = project.begin()
    project.measure(campaign.to_measure)
    bare, again = (path_of(campaign, name) for name in ("bare", "bare-again"))
    again.write_bytes(bare.read_bytes())
    _, plan = freeze.read(project.study_dir)
    with pytest.raises(store.BadRecord) as caught:
        list(current_records(project.study_dir, plan))
    assert str(caught.value).endswith(
        "bare-again.json is the record of cell lenet-torch, repetition 1, environment bare; "
        "move it away and its block is measured again."
    )


def test_a_block_of_two_measurings_is_measured_again_whole(project):
    """As a crash between the renames of its records leaves it: each run is fine, but they were not together."""
    campaign = project.begin()
    state = campaign.to_measure[0]
    project.measure([state])
    path = state.paths[0]
    path.write_text(path.read_text().replace('"block_id": "', '"block_id": "other'))
    assert project.look().states[0].status is Status.INTERRUPTED
    assert state.block == project.look().to_measure[0].block
