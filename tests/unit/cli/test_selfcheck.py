"""`tare self-check`: through planning, measuring (simulated workers) and the statistics, whole and broken."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import pytest
import yaml

from tare.campaign import freeze
from tare.cli import main
from tare.measure.block import measure_block
from tare.measure.run import Task
from tare.plan.matrix import cells
from tare.plan.table import blocks
from tare.stats import pairs
from tests.unit.simulated import Behaviour, Clock, SimulatedPlatform

OWN = Path(__file__).parents[3] / "config" / "studies" / "self-check.yaml"


@pytest.fixture
def checked(project, capsys):
    """Measures the self-check as it comes with Tare, on a machine whose speed wanders, and runs the command."""

    def command(*, injects: bool = True) -> tuple[int, str]:
        content = yaml.safe_load(OWN.read_text()) | {"threads": 2, "rounds": {"min": 2, "max": 2}}
        studies = project.root / "config" / "studies"
        (studies / "self-check.yaml").write_text(yaml.safe_dump(content))
        campaign = project.look(study="self-check")
        freeze.begin(campaign, say=lambda sentence: None).release()
        study, plan = freeze.read(campaign.study_dir)
        random, clock = Random(1), Clock()
        for block in blocks(plan):
            speed = math.exp(random.gauss(0, 0.15))
            behaviours = [
                Behaviour(step_s=0.01 * speed * math.exp(random.gauss(0, 0.004)), injects=injects)
                for _ in block.environments
            ]
            task = Task(
                study=study, cell=cells(study)[0], repetition=block.repetition,
                environments=tuple(study.environment(name) for name in block.environments), seconds=20,
                data=project.root / "digits.npz", study_dir=campaign.study_dir,
            )  # fmt: skip
            measure_block(task, {"bare": SimulatedPlatform("bare", clock, *behaviours)}, clock=clock)
        status = main(["self-check"])
        return status, capsys.readouterr().out

    return command


def test_a_sound_instrument_passes(checked):
    status, out = checked()
    assert status == 0
    assert "Self-check passed: 3 known answers met." in out
    assert all(truth in out for truth in (" 0.00 ", " 2.91 ", " 9.09 "))


def test_a_turned_sign_is_found(checked, monkeypatch):
    right = pairs.log_time_ratio
    monkeypatch.setattr(
        "tare.stats.overhead.log_time_ratio", lambda pair: None if right(pair) is None else -right(pair)
    )
    status, out = checked()
    assert status == 1
    assert "Self-check FAILED: 2 of 3 known answers not met." in out
    assert "injected-3: the joint interval" in out


def test_broken_pairing_is_found(checked, monkeypatch):
    """Each run is paired with the baseline's run of another block."""

    def shifted(baseline, platform):
        last = max(baseline)
        found = [pairs.Pair(baseline[n % last + 1], platform[n]) for n in sorted(platform)]
        return found, []

    monkeypatch.setattr("tare.stats.overhead.pair_up", shifted)
    monkeypatch.setattr("tare.stats.pairs.measured_together", lambda pair: True)
    status, out = checked()
    assert status == 1
    # two blocks have different seeds, so the comparison is refused before its width would tell
    assert "nothing was estimated: not comparable: spec seed is" in out


def test_an_injection_that_does_not_happen_is_found(checked):
    status, out = checked(injects=False)
    assert status == 1
    assert "misses the truth 2.91" in out
    assert "misses the truth 9.09" in out


def test_there_is_nothing_to_check(project, capsys):
    project.all_measured()
    assert main(["self-check", "small"]) == 1
    assert "has no comparison whose answer is known" in capsys.readouterr().err
    studies = project.root / "config" / "studies"
    (studies / "self-check.yaml").write_text(OWN.read_text())
    assert main(["self-check"]) == 1
    assert "holds no study yet; `make self-check` measures it." in capsys.readouterr().err


def test_an_interrupted_self_check_is_no_pass(project, capsys, checked):
    assert checked()[0] == 0
    for path in (project.root / "results" / "self-check" / "runs").glob("*/*/injected-10.json"):
        path.unlink()
    assert main(["self-check"]) == 1
    assert "injected-10: nothing was estimated" in capsys.readouterr().out
