"""Runs of a block that fail: each has its record, the others go on, and nothing is left running."""

import errno
import os
import tempfile

import pytest

from tare.measure.block import Progress, measure_block
from tare.platforms import EngineError
from tests.unit.measure.blocks import (
    nothing_left,
    raise_,
    records_of,
    refusing_for,
    seen_on_the_host,
)
from tests.unit.simulated import (
    Behaviour,
    SimulatedPlatform,
    die,
    hang,
    platforms,
    says,
    task,
)

pytestmark = pytest.mark.usefixtures("own_temporary_folder")


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
        ({("turn", 3): die(135)}, "failed", "turn", "(a bus error, as where /dev/shm is full; it has ", 2),
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


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([3, 3], "it was killed by somebody; the kernel has killed nothing for want of memory"),
        ([3, 4], "it was killed, and meanwhile the kernel has killed for want of memory"),
        ([None, None], "it was killed: by somebody, or by the kernel for want of memory"),
    ],
)
def test_who_killed_a_run_by_the_kernels_own_count(tmp_path, clock, monkeypatch, counts, said):
    left = iter([*[counts[0]] * 2, *[counts[1]] * 9])
    monkeypatch.setattr("tare.measure.run.procfs.oom_kills", lambda: next(left))
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(faults={("turn", 3): die(137)}))
    _, docker = measure_block(task(tmp_path), engines, clock=clock)
    assert docker.failure.reason.endswith(f"({said}).")
