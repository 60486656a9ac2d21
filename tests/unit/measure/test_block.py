"""A block on a simulated platform and clock that goes well, what it leaves on the disk, and what it finds there."""

import errno
import os
import tempfile
from pathlib import Path

import pytest

from tare.measure import block, locks
from tare.measure.attest import attested
from tare.measure.block import Progress, measure_block
from tare.platforms import EngineError
from tests.unit.measure.blocks import (
    aside,
    no_half_file,
    nothing_left,
    raise_,
    records_of,
)
from tests.unit.simulated import (
    Behaviour,
    platforms,
    task,
)

pytestmark = pytest.mark.usefixtures("own_temporary_folder")


def test_every_run_has_its_record_in_the_order_of_the_slots(tmp_path, clock):
    engines = platforms(clock, docker=Behaviour(step_s=0.012), bare=Behaviour())
    asked = task(tmp_path, ["docker", "bare"])
    records = measure_block(asked, engines, clock=clock)
    assert [(r.environment, r.slot, r.status, len(r.turns)) for r in records] == [
        ("docker", 0, "ok", 5),
        ("bare", 1, "ok", 5),
    ]
    assert records_of(asked) == {r.environment: r for r in records}
    assert {r.second_per_batch for r in records} == {0.01, 0.012}
    assert nothing_left(engines)


def test_what_a_record_holds(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour())
    record = measure_block(task(tmp_path), engines, clock=clock)[1]
    assert record.block == ["bare", "docker"]
    assert record.warmup_s == [0.01] * 4
    assert record.software == {"python": "3.11.0", "torch": "1.2.3"}
    assert record.evidence["marker_files"] == ["/.dockerenv"]
    assert record.evidence["threads"] == {"all": 2, "working": 2, "cpus": [0, 1]}
    assert attested(record.evidence, record.evidence["controller"]) == record.attested == "docker"
    assert record.libraries == {"libm.so.6": "5e" * 16}
    assert record.platform["version"] == "1.0"
    assert record.metrics.steps_trained == 4 + 5 * (1 + 2)
    assert set(record.phases) == {
        "requested", "process_started", "framework_imported", "first_step_done", "warm", "finished", "gone",
    }  # fmt: skip
    assert record.variables["TARE_RUN"].startswith(locks.campaign())
    assert record.load["elapsed_s"] > 0
    assert [turn.settle_s for turn in record.turns] == [[0.01]] * 5


def test_lockstep_turns_of_a_round_are_next_to_each_other(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour())
    bare, docker = measure_block(task(tmp_path), engines, clock=clock)
    order = [{bare.turns[r].position: "bare", docker.turns[r].position: "docker"} for r in range(5)]
    assert all(set(places) == {0, 1} for places in order)
    assert abs(bare.turns[0].started_t - docker.turns[0].started_t) < 0.2
    again = platforms(clock, bare=Behaviour(), docker=Behaviour())
    repeated = measure_block(task(tmp_path), again, clock=clock)
    assert [turn.position for turn in repeated[0].turns] == [turn.position for turn in bare.turns]


def test_workers_get_what_the_study_asks_for(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour())
    measure_block(task(tmp_path, ["bare"], repetition=3, seed=2), engines, clock=clock)
    ((name, start), *_, (last, _)) = engines["bare"].workers[0].lines.sent
    assert (name, last) == ("start", "stop")
    assert start == {
        "framework": "torch",
        "network": "lenet",
        "batch_size": 64,
        "threads": 2,
        "device": "cpu",
        "seed": 20003,
        "data_path": str(tmp_path / "digits.npz"),
        "gc_off": True,
        "injected_pct": None,
    }


@pytest.mark.parametrize(("seconds", "rounds"), [(0.1, 2), (4.5, 2), (1000.0, 5)])
def test_the_time_of_the_block_sets_its_rounds(tmp_path, clock, seconds, rounds):
    # start-up takes 2 s, warming up 0.8 s, a round 1 s, and 1 s is kept for the end
    engines = platforms(clock, bare=Behaviour(step_s=0.1), docker=Behaviour(step_s=0.1))
    for record in measure_block(task(tmp_path, seconds=seconds), engines, clock=clock):
        assert len(record.turns) == rounds


def test_slow_steps_have_turns_of_one(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour(step_s=0.3))
    (record,) = measure_block(task(tmp_path, ["bare"]), engines, clock=clock)
    assert {turn.steps for turn in record.turns} == {1}


def test_turns_on_a_gpu_are_long(tmp_path, clock):
    gpu = {"model": ["lenet"], "framework": ["torch"], "gpu": ["V100"]}
    for asked, steps in (
        (task(tmp_path, ["bare"], matrix=gpu, steps_per_turn=None), 50),
        (task(tmp_path, ["bare"], matrix=gpu, steps_per_turn=2), 2),
        (task(tmp_path, ["bare"], steps_per_turn=None), 2),
    ):
        (record,) = measure_block(asked, platforms(clock, bare=Behaviour(step_s=0.01)), clock=clock)
        assert {turn.steps for turn in record.turns} == {steps}


def test_sequential_runs_follow_one_another(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour())
    bare, docker = measure_block(task(tmp_path, schedule="sequential"), engines, clock=clock)
    assert bare.turns[-1].started_t < docker.turns[0].started_t
    turns = [*bare.turns, *docker.turns]
    assert [len(turn.settle_s) for turn in turns] == [1] * len(turns)
    assert {turn.steps for turn in turns} == {200}  # 2 s of 10 ms
    assert nothing_left(engines)


def test_sequential_runs_share_the_time(tmp_path, clock):
    # 10 s a run: start-up 1 s, warming up 4 s, turns of 4 s
    engines = platforms(clock, bare=Behaviour(step_s=1.0), docker=Behaviour(step_s=1.0))
    asked = task(tmp_path, schedule="sequential", seconds=30, steps_per_turn=4, rounds={"min": 1, "max": 9})
    # each turn begins with an untimed step
    assert [len(r.turns) for r in measure_block(asked, engines, clock=clock)] == [1, 1]


def test_the_same_engine_twice_is_two_runs(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour())
    again = {"name": "bare-again", "engine": "bare", "baseline": "bare"}
    records = measure_block(task(tmp_path, ["bare", again]), engines, clock=clock)
    assert [r.status for r in records] == ["ok", "ok"]
    assert len({r.variables["TARE_RUN"] for r in records}) == 2
    assert len({r.variables["HOME"] for r in records}) == 2


def test_progress_is_told(tmp_path, clock):
    told = []

    class Told(Progress):
        def doing(self, what):
            told.append(what)

        def round(self, done, most, elapsed_s):
            told.append((done, most))

    engines = platforms(clock, bare=Behaviour())
    measure_block(task(tmp_path, ["bare"]), engines, progress=Told(), clock=clock)
    assert [what for what in told if isinstance(what, str)] == [
        "starting the workers",
        "warming up",
        "testing what was learned",
    ]
    assert (5, 5) in told


def test_all_runs_of_a_block_carry_its_name(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour())
    first, second = (measure_block(task(tmp_path), engines, clock=clock) for _ in range(2))
    assert len({r.block_id for r in first}) == len({r.block_id for r in second}) == 1
    assert first[0].block_id != second[0].block_id


def test_a_block_measured_again_keeps_the_old_records_aside(tmp_path, clock):
    asked = task(tmp_path)
    first = measure_block(asked, platforms(clock, bare=Behaviour(), docker=Behaviour()), clock=clock)
    slower = Behaviour(step_s=0.02)
    second = measure_block(asked, platforms(clock, bare=slower, docker=slower), clock=clock)
    assert records_of(asked) == {r.environment: r for r in second}
    assert aside(asked, "superseded") == {r.environment: [r] for r in first}


@pytest.mark.parametrize("fails_at", ["first", "second"])
def test_a_full_disk_leaves_the_old_block_whole(tmp_path, clock, monkeypatch, fails_at):
    asked = task(tmp_path)
    measure_block(asked, platforms(clock, bare=Behaviour(), docker=Behaviour()), clock=clock)
    before = records_of(asked)
    syncs = []

    def fsync(descriptor):
        syncs.append(descriptor)
        if len(syncs) == {"first": 1, "second": 2}[fails_at]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    engines = platforms(clock, bare=Behaviour(step_s=0.02), docker=Behaviour(step_s=0.02))
    with pytest.raises(OSError, match="No space left"):
        measure_block(asked, engines, clock=clock)
    assert records_of(asked) == before
    assert aside(asked, "superseded") == {}
    assert no_half_file(asked)
    assert nothing_left(engines)


def test_the_log_begins_anew_with_each_block(tmp_path, clock):
    asked = task(tmp_path, ["bare"])
    for _ in range(2):
        measure_block(asked, platforms(clock, bare=Behaviour()), clock=clock)
    log = asked.study_dir / "logs" / asked.cell.name / "1" / "bare.log"
    assert log.read_text(encoding="utf-8") == "log of bare\n"


def test_leftovers_are_swept_before_anything_is_started(tmp_path, clock):
    folders = [
        Path(tempfile.gettempdir()) / f"tare-run-{name}" for name in (locks.campaign() + "-x", "other-x")
    ]
    for folder in folders:
        folder.mkdir()
    engines = platforms(clock, bare=Behaviour())
    measure_block(task(tmp_path, ["bare"]), engines, clock=clock)
    assert engines["bare"].swept == [locks.campaign()]
    assert [folder.exists() for folder in folders] == [False, True]


def test_what_can_not_be_swept_stops_the_block(tmp_path, clock, monkeypatch):
    engines = platforms(clock, bare=Behaviour())
    monkeypatch.setattr(
        engines["bare"], "sweep", lambda campaign: raise_(EngineError("docker can't remove x"))
    )
    with pytest.raises(EngineError, match="can't remove x"):
        measure_block(task(tmp_path, ["bare"]), engines, clock=clock)
    assert engines["bare"].workers == []


def test_somebodys_link_in_the_temporary_folder_is_left_alone(tmp_path, clock):
    precious = tmp_path / "precious"
    precious.mkdir()
    names = {"link": precious, "dangling": tmp_path / "nowhere"}
    for name, target in names.items():
        (Path(tempfile.gettempdir()) / f"tare-run-{locks.campaign()}-{name}").symlink_to(target)
    block.sweep({}, locks.campaign())
    assert precious.exists()
