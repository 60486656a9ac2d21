"""A plan in words."""

from __future__ import annotations

import pytest

from tare.campaign.describe import not_measured, plan_text
from tare.campaign.job import duration
from tests.unit.studies import matrix


def test_a_plan_that_is_new(project):
    project.machine.down = {"docker": ("docker does not answer", "Start it."), "podman": ("no podman.", "")}
    optional = [{"name": name, "optional": True} for name in ("docker", "podman")]
    project.write(
        matrix=matrix(model=["lenet", "fcn-r"]),
        environments=["bubblewrap", "bare", *optional],
        repetitions=3,
        time_budget_s=1200,
    )
    assert plan_text(project.look()).splitlines() == [
        "Study small: 2 cells, 6 blocks, 12 runs in bubblewrap, bare.",
        "To be measured now: 6 blocks, 12 runs, about 20 min.",
        "Not measured: docker: docker does not answer. Start it.",
        "Not measured: podman: no podman.",
    ]


def test_a_reason_that_several_share_is_said_once(project):
    project.write(matrix=matrix(gpu=["none", "V100", "A100"]), environments=["bare", "bubblewrap"])
    assert not_measured(project.look()) == [
        "Not measured: bare, bubblewrap in lenet-torch-a100: no A100 here. Run the study on a machine with A100",
        "Not measured: bare, bubblewrap in lenet-torch-v100: no V100 here. Run the study on a machine with V100",
    ]


def test_each_thing_that_is_waited_for_is_named(project):
    project.write(environments=["bare", "docker"], repetitions=1)
    project.begin()
    project.write(environments=["bare", "docker", "podman"], repetitions=1)
    project.begin()
    project.machine.down = {
        "docker": ("no docker", "Start docker."),
        "podman": ("no podman", "Start podman."),
    }
    assert plan_text(project.look()).splitlines()[1:] == [
        "Nothing is to be measured now.",
        "1 block waits for docker: no docker. Start docker.",
        "1 block waits for podman: no podman. Start podman.",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"), (40.4, "40 s"), (89, "89 s"), (90, "2 min"), (360, "6 min"), (900, "15 min"), (5339, "89 min"),
        (5400, "1 h 30 min"), (7800, "2 h 10 min"), (172799, "2 days 0 h"), (273600, "3 days 4 h"),
        (1e8, "1157 days 9 h"),
    ],
)  # fmt: skip
def test_durations(seconds, words):
    assert duration(seconds) == words
