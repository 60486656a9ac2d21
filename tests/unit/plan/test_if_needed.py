"""The plan of a study that wishes a precision: the blocks that it may come to are in it, apart from the others."""

from __future__ import annotations

import pytest

from tare.plan import table
from tare.plan.table import IF_NEEDED, MEASURE, Refusal, blocks, build, first_state, next_state, state_of
from tests.unit.studies import matrix, study

WISH = {"precision_pct": 1.0, "max_repetitions": 9}
TWO_CELLS = matrix(framework=["torch", "tensorflow"])
AWAY = Refusal("no V100 here", "Ask for one.")


def begin(one, refused=None, cell_refusals=None):
    return build(one, first_state(one, refused or {}), cell_refusals or {})


def test_how_far_a_study_goes():
    assert study().most_repetitions == 6
    assert study(precision_pct=1.0).most_repetitions == 30
    assert study(precision_pct=1.0, repetitions=40).most_repetitions == 40
    assert study(**WISH).most_repetitions == 9


def test_it_has_the_plan_of_a_study_with_so_many_repetitions():
    wished = begin(study(matrix=TWO_CELLS, **WISH))
    asked = begin(study(matrix=TWO_CELLS, repetitions=9))
    assert wished.drop(columns="status").equals(asked.drop(columns="status"))
    status = wished.groupby("repetition")["status"].unique()
    assert [list(values) for values in status] == [[MEASURE]] * 6 + [[IF_NEEDED]] * 3


def test_blocks_tell_which_are_measured_only_if_needed():
    found = blocks(begin(study(**WISH)))
    assert [block.repetition for block in found] == list(range(1, 10))
    assert [block.if_needed for block in found] == [False] * 6 + [True] * 3


@pytest.mark.parametrize("back", [False, True])
def test_a_wish_that_comes_later_or_goes_changes_nothing_of_the_first_blocks(back):
    plain, wishing = study(matrix=TWO_CELLS), study(matrix=TWO_CELLS, **WISH)
    before, after = (wishing, plain) if back else (plain, wishing)
    state = state_of(begin(before))
    plan = build(after, next_state(after, state, [], {}), {})
    assert plan.equals(begin(after))


def test_it_comes_back_from_disk(tmp_path):
    one = study(matrix=TWO_CELLS, **WISH)
    plan = begin(one)
    table.write(tmp_path / "plan.csv", plan)
    found = table.read(tmp_path / "plan.csv")
    assert state_of(found) == first_state(one, {})
    assert build(one, next_state(one, state_of(found), [], {}), {}).equals(plan)


def test_an_environment_that_comes_later_gets_as_many_of_its_own():
    one = study(environments=["bare", "docker", "podman"], **WISH)
    plan = begin(study(**WISH))
    later = build(one, next_state(one, state_of(plan), ["podman"], {}), {})
    added = later[later["wave"] == 2]
    assert set(added["environment"]) == {"bare", "podman"}
    assert list(added.groupby("repetition")["status"].first()) == [MEASURE] * 6 + [IF_NEEDED] * 3
    assert list(added["repetition"].unique()) == list(range(10, 19))


def test_what_cannot_be_measured_is_told_of_the_first_blocks_only():
    cells = matrix(gpu=["none", "V100"])
    refused = {("lenet-torch-v100", name): AWAY for name in ("bare", "docker")}
    one = study(matrix=cells, environments=["bare", "docker", "podman"], **WISH)
    plan = begin(one, {"podman": AWAY}, refused)
    unusable = plan[plan["status"] == "unusable"]
    assert set(unusable["repetition"]) == set(range(1, 7))
    settled = table.settled(plan)
    assert settled["lenet-torch-cpu", "docker"] is None
    state = next_state(one, state_of(plan), [], {})
    assert build(one, state, refused).equals(plan)
