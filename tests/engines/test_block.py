"""A short block of the real worker, through `measure_block`, on each engine: measured, attested, recorded, gone."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tare import platforms
from tare.data import digits
from tare.measure import locks
from tare.measure.attest import attested
from tare.measure.block import Progress, measure_block
from tare.records import store
from tare.stats.comparable import comparable
from tare.stats.pairs import Pair
from tests.engines.conftest import ENGINES, containers, processes, program, usable
from tests.unit.simulated import task

pytestmark = pytest.mark.engine


class Killing(Progress):
    """Kills one environment's worker, as the kernel does for want of memory, when two rounds are done."""

    def __init__(self, environment):
        self.environment = environment
        self.tokens = {}

    def round(self, done, most, elapsed_s):
        if done == 2:
            for pid in processes(self.tokens[self.environment]):
                if "python" in program(pid):
                    os.kill(pid, 9)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "digits.npz"
    digits.write(path)
    return path


@pytest.fixture
def data(prepared, tmp_path):
    return shutil.copy(prepared, tmp_path / "digits.npz")


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "bare"])
def test_a_block_with_a_worker_that_is_killed_half_way(engine, tmp_path, data, monkeypatch):
    usable(engine)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    killed = {"name": "killed", "engine": engine, "baseline": "bare"}
    measured = {"name": "measured", "engine": engine, "baseline": "bare"}
    asked = task(
        tmp_path, ["bare", measured, killed],
        rounds={"min": 5, "max": 5}, threads=None, warmup_steps=2, steps_per_turn=1, timeout_s=120,
    )  # fmt: skip
    progress = Killing("killed")
    engines = {name: platforms.create(name) for name in {"bare", engine}}
    for platform in engines.values():
        monkeypatch.setattr(platform, "start", noting(platform.start, progress.tokens))
    bare, good, bad = measure_block(asked, engines, progress=progress)

    for record in (bare, good):
        assert record.failure is None
        assert (record.status, len(record.turns), record.timed_steps) == ("ok", 5, 5)
        assert record.metrics.steps_trained == 2 + 5 * 2
        assert record.metrics.test_items == 360
        assert list(record.phases)[:2] == ["requested", "process_started"]
        assert record.phases["requested"] < record.phases["warm"] < record.phases["finished"]
    assert good.platform["engine"] == engine
    assert good.software == bare.software
    assert good.resources == bare.resources, "the same CPUs, threads and memory in each environment"
    assert good.libraries == bare.libraries
    assert [name for name in good.libraries if name.startswith("libtorch_cpu")]
    assert (bare.attested, good.attested) == ("bare", engine)
    for record in (bare, good):
        assert attested(record.evidence, record.evidence["controller"]) == record.attested
        assert record.resources["data_filesystem"] == record.evidence["data_mount"]["type"]
    said = comparable([Pair(bare, good)])
    assert said.startswith("differs: ")
    assert f" in {good.environment} and " in said
    assert good.metrics.training_loss == pytest.approx(bare.metrics.training_loss, rel=1e-3)
    if engine in ("docker", "podman"):
        assert good.evidence["cgroup"] != bare.evidence["cgroup"]

    assert (bad.status, bad.failure.stage, bad.failure.exit_status) == ("failed", "turn", 137)
    assert "it was killed" in bad.failure.reason
    assert len(bad.turns) == 2

    assert {path.stem for path in store.scan(asked.study_dir)} == {"bare", "measured", "killed"}
    assert list(folder.iterdir()) == []
    for token in progress.tokens.values():
        assert processes(token) == []
    assert [name for name in containers(engine) if locks.campaign() in name] == []


def noting(start, tokens):
    """The platform's `start`, which notes each environment's token by the name of its log."""

    def noted(launch):
        tokens[Path(launch.log).stem] = launch.token
        return start(launch)

    return noted
