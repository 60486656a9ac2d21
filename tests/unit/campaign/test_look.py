"""The first look at a study, and every later one."""

from __future__ import annotations

import shutil

import pytest

from tare.campaign.describe import plan_text
from tare.plan.errors import StudyError
from tare.plan.table import to_text
from tests.unit.studies import matrix

NO_DOCKER = ("docker does not answer", "Start it: sudo systemctl start docker.")
TWO_CELLS = matrix(framework=["torch", "tensorflow"])
OPTIONAL_DOCKER = {"name": "docker", "optional": True}
AGAIN = {"name": "bare-again", "engine": "bare", "fallback": True}


def environments(campaign) -> dict[str, str]:
    """Environment -> measure or unusable."""
    return dict(zip(campaign.plan["environment"], campaign.plan["status"], strict=True))


def repetitions(campaign) -> dict[int, tuple[str, ...]]:
    return {s.block.repetition: tuple(sorted(s.block.environments)) for s in campaign.states}


def files(folder) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- the first look ---------------------------------------------------------------------------------------------


def test_a_new_study_is_planned_whole(project):
    campaign = project.look()
    assert not campaign.began
    assert len(campaign.states) == len(campaign.to_measure) == 6
    assert campaign.held_up == []
    assert environments(campaign) == {"bare": "measure", "docker": "measure"}
    assert campaign.study_dir.name == "small"


def test_looking_writes_nothing(project):
    before = files(project.root)
    project.look()
    project.look(redo=True)
    assert files(project.root) == before


def test_an_environment_that_is_insisted_on_stops_the_study(project):
    project.machine.down["docker"] = NO_DOCKER
    with pytest.raises(StudyError) as caught:
        project.look()
    assert str(caught.value) == (
        "The environment 'docker' can't be used: docker does not answer. Start it: sudo systemctl start docker. "
        "(Or mark it `optional: true` in the study, or take it out.)"
    )
    assert not project.study_dir.exists()


def test_an_optional_one_has_rows_that_say_why(project):
    project.machine.down["docker"] = NO_DOCKER
    project.write(environments=["bare", OPTIONAL_DOCKER])
    campaign = project.look()
    assert environments(campaign) == {"bare": "measure", "docker": "unusable"}
    rows = campaign.plan[campaign.plan["status"] == "unusable"]
    assert len(rows) == 6
    assert (set(rows["reason"]), set(rows["remedy"])) == ({NO_DOCKER[0]}, {NO_DOCKER[1]})
    assert [s.block.environments for s in campaign.states] == [("bare",)] * 6


def test_what_is_compared_with_it_cannot_be_used_either(project):
    project.machine.down["docker"] = NO_DOCKER
    ladder = {"name": "podman", "baseline": "docker", "optional": True}
    project.write(environments=["bare", OPTIONAL_DOCKER, ladder])
    rows = project.look().plan.drop_duplicates("environment").set_index("environment")
    assert rows.loc["podman", "status"] == "unusable"
    assert rows.loc["podman", "reason"] == "its baseline docker can't be used: docker does not answer"
    assert rows.loc["podman", "remedy"] == NO_DOCKER[1]
    # an environment that is insisted on stops the study for its baseline's sake, too
    project.write(environments=["bare", OPTIONAL_DOCKER, {"name": "podman", "baseline": "docker"}])
    with pytest.raises(
        StudyError, match="'podman' can't be used: its baseline docker can't be used: docker does"
    ):
        project.look()


def test_apptainer_is_measured_when_snakemake_is_told_to_use_it(project):
    project.write(environments=["bare", {"name": "apptainer", "optional": True}])
    assert environments(project.look())["apptainer"] == "measure"
    without = project.look(apptainer_asked=False)
    assert environments(without)["apptainer"] == "unusable"
    rows = without.plan[without.plan["environment"] == "apptainer"]
    assert set(rows["reason"]) == {"Snakemake was called without --use-singularity"}
    assert "--use-singularity" in rows["remedy"].iloc[0]


# ---- the fallback -----------------------------------------------------------------------------------------------


def test_bare_is_measured_against_itself_where_nothing_else_can_be(project):
    project.machine.down["docker"] = NO_DOCKER
    project.write(environments=["bare", OPTIONAL_DOCKER, AGAIN])
    campaign = project.look()
    assert environments(campaign) == {"bare": "measure", "bare-again": "measure", "docker": "unusable"}
    assert set(campaign.states[0].block.environments) == {"bare", "bare-again"}


def test_and_leaves_no_trace_where_something_else_can_be(project):
    project.write(environments=["bare", OPTIONAL_DOCKER, AGAIN])
    assert environments(project.look()) == {"bare": "measure", "docker": "measure"}
    assert [e.name for e in project.look().study.environments] == ["bare", "docker"]


def test_a_fallback_that_is_not_needed_stops_nothing(project):
    project.machine.down["podman"] = ("no podman", "Install it.")
    project.write(environments=["bare", "docker", {"name": "podman", "fallback": True}])
    assert environments(project.look()) == {"bare": "measure", "docker": "measure"}


def test_a_fallback_never_joins_later_and_never_leaves(project):
    project.write(environments=["bare", OPTIONAL_DOCKER, AGAIN])
    project.begin()
    project.machine.down["docker"] = NO_DOCKER
    assert environments(project.look()) == {"bare": "measure", "docker": "measure"}

    shutil.rmtree(project.study_dir)
    project.measure(project.begin().states[:1])
    project.machine.down.clear()
    assert environments(project.look()) == {"bare": "measure", "bare-again": "measure", "docker": "unusable"}


def test_a_fallback_cannot_be_added(project):
    project.write(environments=["bare", OPTIONAL_DOCKER, AGAIN])
    with pytest.raises(
        StudyError, match=r"^--config add=bare-again: it is a fallback, .* take `fallback: true` away"
    ):
        project.look(add="bare-again")


# ---- later looks ------------------------------------------------------------------------------------------------


def test_a_plan_does_not_change_between_looks(project):
    project.write(matrix=TWO_CELLS, environments=["bare", "podman", OPTIONAL_DOCKER])
    project.machine.down["docker"] = NO_DOCKER
    begun = project.begin()
    before = to_text(begun.plan)
    project.measure(begun.states[:1])
    project.machine.down = {"podman": ("gone", "Start it.")}
    for asked in (True, False):
        campaign = project.look(apptainer_asked=asked)
        assert campaign.began
        assert to_text(campaign.plan) == campaign.plan_text_on_disk == before


def test_what_is_finished_is_not_measured_again(project):
    campaign = project.all_measured()
    assert campaign.to_measure == []
    assert {s.status.value for s in campaign.states} == {"done"}
    assert len(campaign.records) == 12
    assert "Nothing is to be measured now." in plan_text(campaign)


def test_nothing_is_probed_for_a_study_that_is_finished(project):
    project.all_measured()
    project.machine.asked.clear()
    project.look()
    assert project.machine.asked == []


def test_an_engine_that_is_down_later_holds_its_blocks_up(project):
    project.write(environments=["bare", "docker", "podman"])
    campaign = project.begin()
    project.measure(campaign.to_measure[:2])
    project.machine.down["docker"] = NO_DOCKER
    later = project.look()
    assert later.to_measure == []
    assert [s.block.order for s in later.held_up] == [3, 4, 5, 6]
    assert later.down["docker"].reason == NO_DOCKER[0]
    # never measured as something else, and what is there is in the tables
    assert environments(later) == {"bare": "measure", "docker": "measure", "podman": "measure"}
    assert len(later.records) == 6
    assert plan_text(later).endswith(
        "4 blocks wait for docker: docker does not answer. Start it: sudo systemctl start docker."
    )


def test_a_call_without_the_flag_says_why_apptainers_blocks_wait(project):
    project.write(environments=["bare", "apptainer"])
    project.begin()
    later = project.look(apptainer_asked=False)
    assert len(later.held_up) == 6
    assert "Snakemake was called without --use-singularity" in plan_text(later)


def test_only_blocks_that_are_wanted_are_probed_for(project):
    project.write(environments=["bare", "docker"])
    project.begin()
    project.write(environments=["bare", "docker", "podman"])
    project.begin()
    project.machine.asked.clear()
    project.machine.down["docker"] = NO_DOCKER
    later = project.look()
    assert {s.block.environments for s in later.to_measure} == {("bare", "podman"), ("podman", "bare")}
    assert len(later.held_up) == 6


def test_an_environment_added_to_the_study_gets_new_repetitions(project):
    project.all_measured()
    project.write(environments=["bare", "docker", "podman"])
    campaign = project.begin()
    assert repetitions(campaign) == {
        **dict.fromkeys(range(1, 7), ("bare", "docker")),
        **dict.fromkeys(range(7, 13), ("bare", "podman")),
    }
    assert [s.block.repetition for s in campaign.to_measure] == list(range(7, 13))
    assert to_text(project.look().plan) == project.look().plan_text_on_disk


def test_one_added_that_cannot_be_used_stops_or_has_rows(project):
    project.all_measured()
    project.machine.down["podman"] = ("no podman", "Install it.")
    project.write(environments=["bare", "docker", "podman"])
    with pytest.raises(
        StudyError, match=r"^The environment 'podman' can't be used: no podman\. Install it\. \(Or"
    ):
        project.look()
    project.write(environments=["bare", "docker", {"name": "podman", "optional": True}])
    campaign = project.begin()
    assert environments(campaign)["podman"] == "unusable"
    assert campaign.to_measure == []
    # and stays so until it is asked for
    project.machine.down.clear()
    assert environments(project.look())["podman"] == "unusable"


def test_add_measures_what_could_not_be_used_at_first(project):
    project.machine.down["docker"] = NO_DOCKER
    project.write(environments=["bare", OPTIONAL_DOCKER, "podman"])
    project.all_measured()
    with pytest.raises(
        StudyError, match=r"^--config add=docker: it can't be used: docker does not answer\. Start"
    ):
        project.look(add="docker")
    project.machine.down.clear()
    campaign = project.begin(add="docker")
    assert repetitions(campaign)[6] == ("bare", "podman")
    assert repetitions(campaign)[7] == ("bare", "docker")
    assert [s.block.repetition for s in campaign.to_measure] == list(range(7, 13))
    # it is in the plan from now on, and asking again changes nothing
    assert to_text(project.look().plan) == to_text(project.look(add="docker").plan) == to_text(campaign.plan)


def test_add_insists_at_the_first_look_too(project):
    project.machine.down["docker"] = NO_DOCKER
    project.write(environments=["bare", OPTIONAL_DOCKER])
    with pytest.raises(StudyError, match=r"^--config add=docker: it can't be used: docker does not answer"):
        project.look(add="docker")


@pytest.mark.parametrize("begun", [False, True])
def test_add_must_name_an_environment(project, begun):
    if begun:
        project.begin()
    with pytest.raises(
        StudyError, match=r"^--config add=dokcer: .* no such environment; did you mean 'docker'\?$"
    ):
        project.look(add="dokcer")


def test_one_that_is_insisted_on_from_now_on_is_asked_again(project):
    project.machine.down["docker"] = NO_DOCKER
    project.write(environments=["bare", OPTIONAL_DOCKER])
    project.measure(project.begin().states[:1])
    project.write(environments=["bare", "docker"])
    with pytest.raises(StudyError, match="'docker' can't be used: docker does not answer"):
        project.look()
    project.machine.down.clear()
    assert repetitions(project.look())[7] == ("bare", "docker")


def test_the_reason_of_another_engine_is_not_kept(project):
    project.machine.down = {"docker": NO_DOCKER, "podman": ("no podman", "Install it.")}
    project.write(environments=["bare", {"name": "engine", "engine": "docker", "optional": True}])
    project.begin()
    project.write(environments=["bare", {"name": "engine", "engine": "podman", "optional": True}])
    campaign = project.look()
    row = campaign.plan[campaign.plan["environment"] == "engine"].iloc[0]
    assert (row["engine"], row["status"], row["reason"]) == ("podman", "unusable", "no podman")
    project.machine.down.clear()
    assert environments(project.look())["engine"] == "measure"


def test_a_study_under_the_name_of_another(project):
    own = project.root / "config" / "studies" / "small.yaml"
    other = project.root / "mine.yaml"
    other.write_text("name: small\n" + own.read_text())
    with pytest.raises(
        StudyError, match=r"mine.yaml is named 'small', as .*small.yaml is, and both would have the"
    ):
        project.look(study=str(other))
    assert project.look(study=str(own)).study.name == "small"  # by its path, the same


def test_another_engine_under_the_same_name_makes_its_records_stale(project):
    project.write(environments=["bare", {"name": "engine", "engine": "docker"}])
    project.all_measured()
    project.write(environments=["bare", {"name": "engine", "engine": "podman"}])
    campaign = project.look()
    assert {s.status.value for s in campaign.states} == {"stale"}
    assert len(campaign.to_measure) == 6


def test_another_baseline_gets_blocks_that_hold_both(project):
    project.all_measured()
    project.write(environments=["bare", "docker", "podman"])
    project.all_measured()
    ladder = ["bare", "docker", {"name": "podman", "baseline": "docker"}]
    project.write(environments=ladder)
    campaign = project.begin()
    assert repetitions(campaign)[13] == ("docker", "podman")
    assert [s.block.repetition for s in campaign.to_measure] == list(range(13, 19))
    assert to_text(project.look().plan) == to_text(campaign.plan)


def test_a_removed_environment_leaves_what_was_measured_of_the_others(project):
    project.write(environments=["bare", "docker", "podman"])
    project.all_measured()
    project.write(environments=["bare", "podman"])
    campaign = project.look()
    assert campaign.to_measure == []
    assert set(repetitions(campaign).values()) == {("bare", "podman")}
    assert len(campaign.records) == 12


def test_repetitions_raised_and_lowered(project):
    project.all_measured()
    project.write(repetitions=8)
    assert [s.block.repetition for s in project.begin().to_measure] == [7, 8]
    project.write(repetitions=4)
    lowered = project.begin()
    assert lowered.to_measure == []
    assert len(lowered.records) == 8
    project.write(repetitions=6)
    assert project.look().to_measure == []


def test_a_new_cell_is_in_every_wave(project):
    project.all_measured()
    project.write(matrix=TWO_CELLS)
    campaign = project.look()
    assert {s.block.cell for s in campaign.to_measure} == {"lenet-tensorflow"}
    assert len(campaign.to_measure) == 6


def test_a_plan_that_is_no_plan_says_what_to_do(project):
    project.begin()
    (project.study_dir / "plan.csv").write_text("")
    with pytest.raises(
        StudyError, match=r"plan\.csv can't be read \(.*\); delete it to plan the study anew\.$"
    ):
        project.look()


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
