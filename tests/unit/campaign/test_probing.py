"""Asking the engines, and what can't be measured whatever they answer."""

from __future__ import annotations

import pytest

from tare.campaign import probing
from tare.campaign.probing import absent_gpus, cell_refusals, probe, refusals
from tare.plan.matrix import cells
from tare.plan.table import Refusal
from tare.platforms import Availability
from tests.unit.studies import matrix, study

V100 = "Tesla V100-SXM2-16GB"


class Engine:
    """An engine that counts how often it is asked."""

    asked: list[str]

    def __init__(self, name: str, answer: Availability) -> None:
        self.name, self.answer = name, answer

    def probe(self) -> Availability:
        self.asked.append(self.name)
        return self.answer


@pytest.fixture
def engines(monkeypatch):
    answers = {
        "bare": Availability(True),
        "docker": Availability(False, "it does not answer", "Start it."),
        "apptainer": Availability(True, version="1.4"),
    }
    monkeypatch.setattr(Engine, "asked", [], raising=False)
    monkeypatch.setattr(probing.platforms, "create", lambda name: Engine(name, answers[name]))
    return answers


def test_each_engine_is_asked_once(engines):
    found = probe(["bare", "docker", "bare"], apptainer_asked=True)
    assert found == {"bare": engines["bare"], "docker": engines["docker"]}
    assert sorted(Engine.asked) == ["bare", "docker"]
    assert probe([], apptainer_asked=True) == {}


def test_apptainer_is_usable_only_where_snakemake_was_told_to_use_it(engines):
    assert probe(["apptainer"], apptainer_asked=True)["apptainer"].usable
    without = probe(["apptainer"], apptainer_asked=False)["apptainer"]
    assert not without.usable
    assert without.reason == "Snakemake was called without --use-singularity"
    # where it is not there at all, that is the reason
    engines["apptainer"] = Availability(False, "apptainer is not installed", "Install it.")
    assert probe(["apptainer"], apptainer_asked=False)["apptainer"].reason == "apptainer is not installed"


def test_refusals_follow_the_baselines():
    one = study(
        environments=[
            "bare", "docker", {"name": "podman", "baseline": "docker"}, {"name": "bubblewrap", "baseline": "podman"}
        ]
    )  # fmt: skip
    up, down = Availability(True), Availability(False, "no docker", "Start it.")
    found = {"bare": up, "docker": down, "podman": up, "bubblewrap": up}
    assert refusals(one, one.environments, found) == {
        "docker": Refusal("no docker", "Start it."),
        "podman": Refusal("its baseline docker can't be used: no docker", "Start it."),
        "bubblewrap": Refusal("its baseline docker can't be used: no docker", "Start it."),
    }
    assert refusals(one, [], found) == {}


@pytest.mark.parametrize(
    ("axes", "gpus", "reason", "remedy"),
    [
        ({"gpu": "V100"}, [], "no V100 here", "Run the study on a machine with V100."),
        ({"gpu": "V100"}, ["A100"], "no V100 here; here: A100", "Run the study on a machine with V100."),
        ({"gpu": "V100", "gpus_per_learner": 2}, [V100],
         f"no 2 x V100 here; here: {V100}", "Run the study on a machine with 2 x V100."),
        ({"gpu": "V100", "learners": 4}, [V100, V100],
         f"no 4 x V100 here; here: {V100}, {V100}", "Run the study on a machine with 4 x V100."),
        ({"gpu": "V100", "gpus_per_learner": 2}, [V100, V100],
         "several GPUs per learner are not built yet", "Use gpus_per_learner: 1."),
        ({"learners": 2}, [], "several learners are not built yet", "Use learners: 1."),
    ],
)  # fmt: skip
def test_why_a_cell_cannot_be_measured(axes, gpus, reason, remedy):
    one = study(matrix=matrix(**axes), environments=["bare", "bubblewrap"])
    assert set(cell_refusals(one, gpus).values()) == {Refusal(reason, remedy)}
    assert len(cell_refusals(one, gpus)) == 2


@pytest.mark.parametrize("wanted", ["V100", "v100", V100, "Tesla"])
def test_part_of_a_gpus_name_is_enough(wanted):
    one = study(matrix=matrix(gpu=wanted), environments=["bare", "bubblewrap"])
    assert cell_refusals(one, ["A100", V100]) == {}


def test_a_gpu_is_not_passed_into_every_engine():
    one = study(matrix=matrix(gpu=["none", "V100"]), environments=["bare", "bubblewrap", "docker"])
    assert cell_refusals(one, [V100]) == {
        ("lenet-torch-v100", "docker"): Refusal(
            "passing a GPU into docker is not built yet", "Use gpu: none, or bare."
        )
    }


def test_what_is_compared_with_it_is_not_measured_alone():
    one = study(
        matrix=matrix(gpu="V100"),
        environments=["bare", "docker", {"name": "bubblewrap", "baseline": "docker"}],
    )
    assert cell_refusals(one, [V100])["lenet-torch-v100", "bubblewrap"] == Refusal(
        "its baseline docker can't be used: passing a GPU into docker is not built yet",
        "Use gpu: none, or bare.",
    )


def test_what_the_plan_says_stays():
    one = study(matrix=matrix(gpu="V100"), environments=["bare", "bubblewrap", "docker"])
    name = cells(one)[0].name
    old = Refusal("an older reason")
    assert cell_refusals(one, [], {(name, "bare"): None, (name, "docker"): old}) == {(name, "docker"): old}


def test_nvml_is_asked_only_if_a_cell_wants_a_gpu(monkeypatch):
    asked = []
    monkeypatch.setattr(probing.gpu, "names", lambda: asked.append(1) or [])
    assert absent_gpus(cells(study())) == {}
    assert asked == []
    several = cells(study(matrix=matrix(gpu=["V100", "A100"])))
    assert set(absent_gpus(several)) == {"lenet-torch-v100", "lenet-torch-a100"}
    assert asked == [1]
