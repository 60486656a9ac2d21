"""The first look at a study."""

from __future__ import annotations

import shutil

import pytest

from tare.plan.errors import StudyError
from tests.unit.campaign.looks import (
    AGAIN,
    NO_DOCKER,
    OPTIONAL_DOCKER,
    environments,
    files,
)


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
