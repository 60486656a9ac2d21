"""A block on a simulated platform and clock: one record per run, whatever becomes of it, and nothing left running."""

import errno
import os
import signal
import tempfile
from pathlib import Path

import pytest

from tare.measure import block, locks
from tare.measure.attest import attested
from tare.measure.block import Interrupted, Progress, measure_block
from tare.platforms import EngineError
from tare.records import store
from tests.unit.simulated import (
    Behaviour,
    Clock,
    SimulatedPlatform,
    die,
    hang,
    platforms,
    raises,
    says,
    signalled,
    task,
)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path, monkeypatch):
    """Run folders are made here, so that one left behind is seen."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


def records_of(asked):
    """What is on disk at the runs' places: environment -> record."""
    found = {path.stem: store.read(path) for path in store.scan(asked.study_dir)}
    return dict(sorted(found.items()))


def aside(asked, kind):
    """Records that were put aside: environment -> records, in the order of time."""
    found = {}
    for path in sorted((asked.study_dir / kind).rglob("*.json")):
        found.setdefault(path.name.partition(".")[0], []).append(store.read(path))
    return found


def nothing_left(engines):
    """No worker runs, every handle was closed, no run folder is there."""
    for platform in engines.values():
        assert [worker for worker in platform.workers if worker.running or not worker.closed] == []
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
    return True


def no_half_file(asked):
    return not [path for path in asked.study_dir.rglob("*") if ".tmp" in path.name]


# -- a block that goes well ------------------------------------------------------------------------------------------


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


# -- a run that fails -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faults", "status", "stage", "reason", "turns"),
    [
        ({("hello", 1): hang, ("start", 1): hang}, "timeout", "start", "no answer within 30 s", 0),
        ({("hello", 1): die(1)}, "failed", "start", "without a word (exit status 1", 0),
        ({("start", 1): hang}, "timeout", "start", "no answer within 30 s", 0),
        ({("start", 1): says(b"Illegal instruction")}, "failed", "start", "no message", 0),
        ({("start", 1): says({"error": {"reason": "no numpy here"}})}, "failed", "start", "no numpy here", 0),
        ({("warmup", 1): die(139)}, "failed", "warm-up", "exit status 139", 0),
        ({("turn", 3): hang}, "timeout", "turn", "no answer within 30 s", 2),
        ({("turn", 3): die(137)}, "failed", "turn", "it was killed", 2),
        ({("turn", 3): die(0)}, "failed", "turn", "without a word", 2),
        ({("turn", 3): says(b"Epoch 3")}, "failed", "turn", "'Epoch 3'", 2),
        ({("turn", 3): says({"turned": {"settle_s": []}})}, "failed", "turn", "wrong", 2),
        ({("evaluate", 1): hang}, "timeout", "evaluate", "no answer within 30 s", 5),
        ({("evaluate", 1): says({"evaluated": {}})}, "failed", "evaluate", "wrong", 5),
        ({("stop", 1): hang}, "timeout", "stop", "no answer within 30 s", 5),
        ({("stop", 1): says({"stopped": {}})}, "failed", "stop", "did not end when told to", 5),
    ],
)
def test_a_run_that_fails_says_why_and_the_others_go_on(
    tmp_path, clock, faults, status, stage, reason, turns
):  # fmt: skip
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(faults=faults), podman=Behaviour())
    asked = task(tmp_path, ["bare", "docker", "podman"])
    bare, docker, podman = measure_block(asked, engines, clock=clock)
    assert (docker.status, docker.failure.stage, len(docker.turns)) == (status, stage, turns)
    assert reason in docker.failure.reason
    assert docker.failure.reason.endswith(".")
    assert docker.failure.log_tail == "log of docker\n"
    for other in (bare, podman):
        assert (other.status, len(other.turns)) == ("ok", 5)
    assert list(records_of(asked)) == ["bare", "docker", "podman"]
    assert nothing_left(engines)


def test_a_run_whose_engine_refuses(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(refuses="docker says: no space left"))
    bare, docker = measure_block(task(tmp_path), engines, clock=clock)
    assert (docker.status, docker.failure.stage) == ("failed", "start")
    assert docker.failure.reason == "docker says: no space left."
    assert bare.status == "ok"
    assert nothing_left(engines)


def test_a_run_whose_engine_can_not_be_made_ready(tmp_path, clock, monkeypatch):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour())
    monkeypatch.setattr(engines["docker"], "prepare", lambda: raise_(EngineError("docker can't import")))
    bare, docker = measure_block(task(tmp_path), engines, clock=clock)
    assert (docker.failure.stage, docker.failure.reason) == ("prepare", "docker can't import.")
    assert bare.status == "ok"


def test_no_place_for_the_runs_folder_is_a_failure_of_the_run(tmp_path, clock, monkeypatch):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour())
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/x")
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **kwargs: raise_(full))
    records = measure_block(task(tmp_path), engines, clock=clock)
    assert {r.status for r in records} == {"failed"}
    assert records[0].failure.reason == "/tmp/x can't be written: No space left on device."


@pytest.mark.parametrize("engine", ["bubblewrap", "docker", "podman", "apptainer"])
def test_a_run_that_is_not_what_its_label_says(tmp_path, clock, engine):
    pretending = Behaviour(evidence=SimulatedPlatform("bare", clock).describe() | seen_on_the_host())
    engines = platforms(clock, bare=Behaviour(), **{engine: pretending})
    bare, labelled = measure_block(task(tmp_path, ["bare", engine]), engines, clock=clock)
    assert (labelled.status, labelled.failure.stage) == ("failed", "attest")
    assert f"labelled '{engine}'" in labelled.failure.reason
    assert labelled.turns == []
    assert bare.status == "ok"


def test_all_runs_fail(tmp_path, clock):
    dying = Behaviour(faults={("turn", 2): die(137)})
    engines = platforms(clock, bare=dying, docker=Behaviour(faults={("start", 1): hang}))
    records = measure_block(task(tmp_path), engines, clock=clock)
    assert [(r.status, len(r.turns)) for r in records] == [("failed", 1), ("timeout", 0)]
    assert nothing_left(engines)


def test_all_runs_fail_before_anything_is_timed(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour(refuses="no"), docker=Behaviour(refuses="no"))
    for schedule in ("lockstep", "sequential"):
        records = measure_block(task(tmp_path, schedule=schedule), engines, clock=clock)
        assert [r.status for r in records] == ["failed", "failed"]


def test_a_run_that_failed_is_ended_at_once(tmp_path, clock):
    failing = Behaviour(faults={("turn", 1): says(b"garbage")})
    engines = platforms(clock, bare=Behaviour(), docker=failing)
    ended = []

    class Told(Progress):
        def round(self, done, most, elapsed_s):
            ended.append(not engines["docker"].workers[0].running)

    measure_block(task(tmp_path), engines, progress=Told(), clock=clock)
    assert ended[0], "a gone-wild worker would disturb the others' turns"


def test_an_engine_that_dies_with_its_run_is_no_failure_of_the_others(tmp_path, clock, monkeypatch):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(faults={("turn", 2): die(1)}))
    for name in ("kill", "close"):
        monkeypatch.setattr(
            "tests.unit.simulated.SimulatedWorker." + name, refusing_for("docker", name), raising=True
        )
    told = []
    progress = Progress()
    progress.say = told.append
    bare, docker = measure_block(task(tmp_path), engines, progress=progress, clock=clock)
    assert (bare.status, docker.status) == ("ok", "failed")
    assert told == ["Warning: the daemon is gone"]
    assert not engines["bare"].workers[0].running


# -- a block that is broken off ---------------------------------------------------------------------------------------

STOPS = {
    "ctrl-c": signalled(signal.SIGINT),
    "term": signalled(signal.SIGTERM),
    "hangup": signalled(signal.SIGHUP),
    "keyboard interrupt": raises(KeyboardInterrupt()),
}


@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS)
@pytest.mark.parametrize("when", [("hello", 1), ("start", 1), ("warmup", 1), ("turn", 3), ("evaluate", 1)])
def test_a_signal_ends_the_block_with_partial_records_aside(tmp_path, clock, stop, when):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(faults={when: stop}))
    asked = task(tmp_path)
    with pytest.raises(Interrupted, match=r"The block was interrupted"):
        measure_block(asked, engines, clock=clock)
    assert records_of(asked) == {}
    partial = aside(asked, "interrupted")
    assert {name: [r.status for r in records] for name, records in partial.items()} == {
        "bare": ["interrupted"],
        "docker": ["interrupted"],
    }
    if when == ("turn", 3):
        assert sorted({len(r.turns) for (r,) in partial.values()}) in ([2], [2, 3])
    assert [worker for p in engines.values() for worker in p.workers if worker.running] == []
    assert engines["docker"].swept == [locks.campaign()] * 2, "once before, once for what the signal cut off"


def test_what_can_not_be_removed_after_a_signal_is_told(tmp_path, clock):
    told = []
    progress = Progress()
    progress.say = told.append
    stopped = Behaviour(faults={("turn", 1): signalled(signal.SIGINT)}, unremovable="docker can't remove x")
    engines = platforms(clock, bare=Behaviour(), docker=stopped)
    asked = task(tmp_path)
    with pytest.raises(Interrupted):
        measure_block(asked, engines, progress=progress, clock=clock)
    assert told == ["Warning: docker can't remove x"]
    assert set(aside(asked, "interrupted")) == {"bare", "docker"}


def test_the_reason_names_the_signal(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour(faults={("turn", 1): signalled(signal.SIGTERM)}))
    with pytest.raises(Interrupted, match=r"The block was interrupted by SIGTERM\."):
        measure_block(task(tmp_path, ["bare"]), engines, clock=clock)


def test_an_interrupted_block_never_takes_the_place_of_a_finished_one(tmp_path, clock):
    asked = task(tmp_path)
    measure_block(asked, platforms(clock, bare=Behaviour(), docker=Behaviour()), clock=clock)
    finished = records_of(asked)
    # docker fails before the signal comes: its failure belongs to the block that was broken off
    stopped = Behaviour(faults={("turn", 3): signalled(signal.SIGINT)})
    engines = platforms(clock, bare=stopped, docker=Behaviour(faults={("turn", 1): die(1)}))
    with pytest.raises(Interrupted):
        measure_block(asked, engines, clock=clock)
    assert records_of(asked) == finished
    assert aside(asked, "superseded") == {}
    assert [r.status for r in aside(asked, "interrupted")["docker"]] == ["failed"]
    assert nothing_left(engines)


def test_further_signals_do_not_keep_workers_from_being_discarded(tmp_path, clock, monkeypatch):
    engines = platforms(
        clock, bare=Behaviour(), docker=Behaviour(faults={("turn", 2): signalled(signal.SIGINT)})
    )
    close = block.Run.discard

    def discard(run):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        close(run)

    monkeypatch.setattr(block.Run, "discard", discard)
    asked = task(tmp_path)
    with pytest.raises(Interrupted, match="SIGINT"):
        measure_block(asked, engines, clock=clock)
    assert nothing_left(engines)
    assert set(aside(asked, "interrupted")) == {"bare", "docker"}


def test_a_signal_that_comes_when_all_is_measured_loses_nothing(tmp_path, clock, monkeypatch):
    write = store.write_all
    monkeypatch.setattr(store, "write_all", lambda *a: (signal.raise_signal(signal.SIGTERM), write(*a))[1])
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour())
    asked = task(tmp_path)
    assert [r.status for r in measure_block(asked, engines, clock=clock)] == ["ok", "ok"]
    assert list(records_of(asked)) == ["bare", "docker"]


def test_signals_are_as_before_afterwards(tmp_path, clock, monkeypatch):
    def mine(number, frame):
        pass

    before = signal.signal(signal.SIGTERM, mine)
    try:
        measure_block(task(tmp_path, ["bare"]), platforms(clock, bare=Behaviour()), clock=clock)
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_signal_that_is_ignored_stays_ignored(tmp_path, clock):
    """`nohup make run` goes on after the terminal is gone."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        hung_up = Behaviour(faults={("turn", 2): lambda w: (signal.raise_signal(signal.SIGHUP), die(1)(w))})
        engines = platforms(clock, bare=Behaviour(), docker=hung_up)
        bare, docker = measure_block(task(tmp_path), engines, clock=clock)
        assert (bare.status, docker.status) == ("ok", "failed")
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_bug_of_tare_leaves_no_worker_either(tmp_path, clock):
    engines = platforms(
        clock, bare=Behaviour(), docker=Behaviour(faults={("turn", 2): raises(ZeroDivisionError())})
    )
    with pytest.raises(ZeroDivisionError):
        measure_block(task(tmp_path), engines, clock=clock)
    assert nothing_left(engines)


# -- what is on the disk ----------------------------------------------------------------------------------------------


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


# -- what an earlier campaign left ------------------------------------------------------------------------------------


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


def raise_(error):
    raise error


def seen_on_the_host():
    from tests.unit.simulated import seen_inside

    return seen_inside("bare")


def refusing_for(engine, name):
    from tests.unit.simulated import SimulatedWorker

    usual = getattr(SimulatedWorker, name)

    def method(worker):
        if worker.engine == engine:
            worker.closed += name == "close"
            raise EngineError("the daemon is gone")
        usual(worker)

    return method


def test_a_fault_of_tares_own_loses_nothing_that_was_measured(tmp_path, clock, monkeypatch):
    def faulty(self):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("tare.measure.run.Run.finish", faulty)
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour())
    asked = task(tmp_path)
    with pytest.raises(ZeroDivisionError):
        measure_block(asked, engines, clock=clock)
    kept = [store.read(path) for path in sorted((asked.study_dir / "interrupted").rglob("*.json"))]
    assert [record.status for record in kept] == ["interrupted"] * 2
    assert all(record.turns and "ZeroDivisionError: a bug" in record.failure.reason for record in kept)
    assert not (asked.study_dir / "runs").exists()


def test_all_runs_of_a_block_carry_its_name(tmp_path, clock):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour())
    first, second = (measure_block(task(tmp_path), engines, clock=clock) for _ in range(2))
    assert len({r.block_id for r in first}) == len({r.block_id for r in second}) == 1
    assert first[0].block_id != second[0].block_id
