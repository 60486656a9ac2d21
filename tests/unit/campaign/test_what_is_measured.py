"""What a call measures of a study: by GPU, by threads, by what was asked for, and for how long."""

from __future__ import annotations

import pytest

from tare.campaign.describe import plan_text
from tare.plan.errors import StudyError
from tare.plan.table import to_text
from tests.unit.campaign.looks import (
    NO_DOCKER,
    OPTIONAL_DOCKER,
    TWO_CELLS,
    environments,
    repetitions,
)
from tests.unit.studies import matrix

# ---- GPUs -------------------------------------------------------------------------------------------------------


def test_a_cell_is_measured_only_where_its_gpu_is(project):
    project.write(matrix=matrix(gpu=["none", "V100"]), environments=["bare", "bubblewrap"])
    campaign = project.look()
    rows = campaign.plan[campaign.plan["cell"] == "lenet-torch-v100"]
    assert len(rows) == 12
    assert set(rows["status"]) == {"unusable"}
    assert set(rows["reason"]) == {"no V100 here"}
    assert set(rows["remedy"]) == {"Run the study on a machine with V100."}
    assert {s.block.cell for s in campaign.states} == {"lenet-torch-cpu"}
    assert (
        "Not measured: bare, bubblewrap in lenet-torch-v100: no V100 here. Run the study on a machine with V100."
    ) in plan_text(campaign)

    project.machine.gpus = ["Tesla V100-SXM2-16GB"]
    assert {s.block.cell for s in project.look().states} == {"lenet-torch-cpu", "lenet-torch-v100"}


def test_a_cell_without_any_run_is_measured_once_its_gpu_is_here(project):
    project.write(matrix=matrix(gpu=["none", "V100"]), environments=["bare", "bubblewrap"])
    project.all_measured()
    project.machine.gpus = ["Tesla V100-SXM2-16GB"]
    assert {s.block.cell for s in project.look().to_measure} == {"lenet-torch-v100"}


def test_a_gpu_that_is_away_later_takes_nothing_out_of_the_plan(project):
    project.machine.gpus = ["Tesla V100-SXM2-16GB"]
    project.write(matrix=matrix(gpu=["none", "V100"]), environments=["bare", "bubblewrap"])
    campaign = project.begin()
    project.measure([s for s in campaign.to_measure if s.block.repetition <= 2])
    project.machine.gpus = []
    later = project.look()
    assert to_text(later.plan) == to_text(campaign.plan)
    assert len(later.records) == 2 * 2 * 2 + 4 * 2
    assert {s.block.cell for s in later.to_measure} == {"lenet-torch-cpu"}
    assert {s.block.cell for s in later.held_up} == {"lenet-torch-v100"}
    assert (
        "4 blocks wait for the GPU of lenet-torch-v100: no V100 here. Run the study on a machine with V100."
    ) in plan_text(later)


def test_an_environment_added_while_the_gpu_is_away_joins_its_cells(project):
    project.machine.gpus = ["Tesla V100-SXM2-16GB"]
    project.write(matrix=matrix(gpu="V100"), environments=["bare"])
    project.begin()
    project.machine.gpus = []
    project.write(matrix=matrix(gpu="V100"), environments=["bare", "bubblewrap"])
    campaign = project.look()
    assert repetitions(campaign)[7] == ("bare", "bubblewrap")
    assert len(campaign.held_up) == 12


# ---- threads ----------------------------------------------------------------------------------------------------


def test_threads_are_those_of_the_first_run(project):
    project.machine.cpus = 4
    before = project.begin()
    assert before.study.threads == 4
    project.measure(before.to_measure[:3])
    project.machine.cpus = 8
    more = project.look()
    assert to_text(more.plan) == to_text(before.plan)
    assert len(more.to_measure) == 3
    assert plan_text(more).endswith(
        "Runs have 4 threads, since the study was begun with 4 threads; `threads: 8` in the study measures it anew."
    )


def test_with_fewer_cpus_nothing_is_measured(project):
    project.machine.cpus = 4
    before = project.begin()
    project.measure(before.to_measure[:3])
    project.machine.cpus = 1
    fewer = project.look()
    assert to_text(fewer.plan) == to_text(before.plan)
    assert fewer.to_measure == []
    assert len(fewer.held_up) == 3
    assert len(fewer.records) == 6
    assert plan_text(fewer).endswith(
        "3 blocks wait for CPUs: the study was begun with 4 threads, and this process may use only 1 CPUs. "
        "Give it 4; `threads: 1` in the study measures it anew."
    )


def test_threads_that_the_study_names_are_its_own(project):
    project.machine.cpus = 4
    project.all_measured()
    project.write(threads=8)
    campaign = project.look()
    assert campaign.study.threads == 8
    assert {s.status.value for s in campaign.to_measure} == {"stale"}


def test_a_damaged_study_file_costs_nothing_but_its_threads(project):
    project.begin()
    (project.study_dir / "study.json").write_text('{"threads": "four"')
    assert project.look().study.threads == 2


# ---- what this call measures ------------------------------------------------------------------------------------


def test_only_limits_what_is_measured_never_what_is_planned(project):
    project.write(matrix=TWO_CELLS)
    campaign = project.look(only="*-torch")
    assert {s.block.cell for s in campaign.to_measure} == {"lenet-torch"}
    assert {s.block.cell for s in campaign.states} == {"lenet-torch", "lenet-tensorflow"}
    assert len(project.look(only="*-torch,lenet-tensorflow").to_measure) == 12
    assert to_text(campaign.plan) == to_text(project.look().plan)


@pytest.mark.parametrize("begun", [False, True])
def test_only_must_fit_a_cell(project, begun):
    if begun:
        project.begin()
    with pytest.raises(StudyError, match=r"^--config only=lennet-torch: .* did you mean 'lenet-torch'\?$"):
        project.look(only="lenet*,lennet-torch")
    with pytest.raises(
        StudyError, match=r"^--config only=vgg\*: no cell has that name; there is lenet-torch\.$"
    ):
        project.look(only="vgg*")


def test_redo_measures_again_what_is_finished(project):
    project.write(matrix=TWO_CELLS)
    project.all_measured()
    assert project.look(only="lenet-torch").to_measure == []
    again = project.look(only="lenet-torch", redo=True)
    assert [s.block.cell for s in again.to_measure] == ["lenet-torch"] * 6
    assert len(project.look(redo="true").to_measure) == 12


def test_failed_blocks_are_measured_again_only_when_asked_for(project):
    campaign = project.begin()
    project.measure(campaign.to_measure[1:])
    project.measure(campaign.to_measure[:1], status="failed")
    later = project.look()
    assert later.to_measure == []
    assert len(later.records) == 12
    again = project.look(retry_failed=True)
    assert [s.block for s in again.to_measure] == [campaign.to_measure[0].block]
    assert project.look(retry_failed="false").to_measure == []


# ---- time -------------------------------------------------------------------------------------------------------


def test_each_run_has_its_share_of_the_budget(project):
    project.write(matrix=TWO_CELLS, time_budget_s=900, time_budget_per_environment_s=180)
    campaign = project.look()
    # 2 environments: 360 s for 2 cells x 2 environments x 6 repetitions
    assert campaign.block_seconds(2) == pytest.approx(360 / 24 * 2)
    assert campaign.block_seconds(5) == pytest.approx(360 / 24 * 5)
    assert campaign.most_seconds_left == pytest.approx(360)
    project.begin()
    project.measure(campaign.to_measure[:3])
    assert project.look().most_seconds_left == pytest.approx(360 * 9 / 12)
    assert project.look(only="lenet-torch").most_seconds_left < 360 * 9 / 12


def test_the_budget_is_for_what_can_be_measured(project):
    project.machine.down["docker"] = NO_DOCKER
    project.write(
        matrix=matrix(gpu=["none", "V100"]),
        environments=["bare", OPTIONAL_DOCKER, "podman"],
        time_budget_s=900,
        time_budget_per_environment_s=180,
    )
    assert project.look().block_seconds(2) == pytest.approx(360 / 6)


def test_a_later_wave_measures_as_long_as_the_first(project):
    project.write(time_budget_s=600)
    first = project.all_measured()
    project.write(environments=["bare", "docker", "podman"], time_budget_s=600)
    campaign = project.look()
    assert campaign.block_seconds(2) == first.block_seconds(2) == pytest.approx(100)
    assert campaign.most_seconds_left == pytest.approx(600)


def test_nothing_to_measure_takes_no_time(project):
    project.machine.down["docker"] = NO_DOCKER
    project.write(environments=[{"name": "docker", "baseline": "docker", "optional": True}])
    campaign = project.look()
    assert campaign.states == campaign.records == []
    assert campaign.most_seconds_left == 0
    assert "0 runs in no environment." in plan_text(campaign)


def test_a_plan_of_which_nothing_was_measured_is_made_anew(project):
    project.write(environments=["bare", {"name": "apptainer", "optional": True}])
    without = project.begin(apptainer_asked=False)
    assert environments(without)["apptainer"] == "unusable"
    campaign = project.look()
    assert environments(campaign) == {"bare": "measure", "apptainer": "measure"}
    assert campaign.plan_text_on_disk == to_text(without.plan)
