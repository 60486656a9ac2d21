"""Every later look at a study, when it, the machine or what is measured has changed."""

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
