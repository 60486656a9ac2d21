"""Verdicts on the runs of a block, on a simulated platform and clock."""

from dataclasses import replace
from itertools import count

import pytest

from tare.measure import watch
from tare.measure.block import measure_block
from tare.records import store
from tare.telemetry import noise
from tare.telemetry.procfs import CpuTimes
from tests.unit.simulated import Behaviour, Clock, die, hang, platforms, task


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def host(monkeypatch):
    """Ten seconds pass from one reading of the host to the next, and so many CPU seconds are used."""
    real, number = noise.read_host({0}), count()
    used_s = {"busy": 0.0}

    def read(cpus):
        n = next(number)
        return replace(
            real, t=10.0 * n, cpus=tuple(sorted(cpus)), cpu=CpuTimes(used_s["busy"] * n, 0, 0), paging={},
            heat_events=None, throttling={}, own_cpu_s=0.0,
        )  # fmt: skip

    monkeypatch.setattr(watch.noise, "read_host", read)
    return used_s


def verdicts(records):
    return {record.environment: record.noise_verdict for record in records}


def test_quiet_runs(tmp_path, clock, host):
    asked = task(tmp_path, ["docker", "bare"])
    records = measure_block(asked, platforms(clock, docker=Behaviour(), bare=Behaviour()), clock=clock)
    assert verdicts(records) == {"docker": "quiet", "bare": "quiet"}
    assert records[0].noise["window_s"] == 10
    assert records[0].noise["waiting_cpu_pct"] == 0
    for path in store.scan(asked.study_dir):
        assert store.read(path).noise_verdict == "quiet"


def test_other_processes_disturb_all_runs(tmp_path, clock, host):
    host["busy"] = 8.0
    records = measure_block(
        task(tmp_path), platforms(clock, bare=Behaviour(), docker=Behaviour()), clock=clock
    )
    for verdict in verdicts(records).values():
        assert verdict.startswith("noisy: other processes used ")


def test_what_one_run_meets_is_its_own(tmp_path, clock, host):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(used={"major_faults": 25}))
    assert verdicts(measure_block(task(tmp_path), engines, clock=clock)) == {
        "bare": "quiet",
        "docker": "noisy: 25 of its pages had to be read from a disk",
    }


def test_a_worker_that_is_not_idle_while_it_waits_disturbs_the_others(tmp_path, clock, host):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(waiting_cpu=1.0))
    found = verdicts(measure_block(task(tmp_path), engines, clock=clock))
    assert found["docker"].startswith("noisy: it was not idle while it waited for its turn: ")
    assert found["bare"].startswith("noisy: another worker of the block was not idle while it waited")


def test_a_worker_that_spins_for_good_is_named_however_many_threads_there_are(
    tmp_path, clock, host, monkeypatch
):
    """With many threads a wait may be shorter than what all of them may spin in a settling step."""
    monkeypatch.setattr(watch, "threads", lambda study: 64)
    monkeypatch.setattr(watch.os, "sched_getaffinity", lambda pid: set(range(8)))
    engines = platforms(clock, docker=Behaviour(waiting_cpu=1.0), bare=Behaviour())
    asked = task(tmp_path, ["docker", "bare"], steps_per_turn=2, warmup_steps=20)
    docker, bare = measure_block(asked, engines, clock=clock)
    assert (docker.noise["waiting_cpu_pct"], docker.noise["idle_cpu_pct"]) == (0, 12.5)
    said = "noisy: it was not idle between its warm-up and its first turn: 12 % of the CPUs"
    assert docker.noise_verdict == said
    assert "idle_cpu_pct" not in bare.noise, "it is the last one of the block, and waits for nobody"


def test_one_that_hangs_at_the_very_end_hides_nobody(tmp_path, clock, host, monkeypatch):
    """It is given up after the window, and what it used by then is no part of it."""
    host["busy"] = 15.0
    monkeypatch.setattr("tare.measure.run.Run.cpu_s_from_outside", lambda run: 1.0)
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(faults={("usage", 2): hang}))
    bare, docker = measure_block(task(tmp_path), engines, clock=clock)
    assert docker.status == "timeout"
    assert bare.noise_verdict.startswith("noisy: other processes used ")


def test_runs_in_sequence_are_judged_each_by_itself(tmp_path, clock, host):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(used={"major_faults": 25}))
    asked = task(tmp_path, schedule="sequential", steps_per_turn=2)
    assert verdicts(measure_block(asked, engines, clock=clock)) == {
        "bare": "quiet",
        "docker": "noisy: 25 of its pages had to be read from a disk",
    }


@pytest.mark.parametrize("fault", [hang, die(137)])
@pytest.mark.parametrize("when", [("usage", 1), ("turn", 3), ("usage", 2)])
def test_a_run_that_fails_leaves_the_others_their_verdict(tmp_path, clock, host, fault, when):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(faults={when: fault}))
    bare, docker = measure_block(task(tmp_path), engines, clock=clock)
    assert (bare.status, bare.noise_verdict) == ("ok", "quiet")
    assert docker.status in ("failed", "timeout")
    assert docker.failure.stage == "turn"


def test_nothing_is_judged_of_a_run_that_never_took_a_turn(tmp_path, clock, host):
    engines = platforms(clock, bare=Behaviour(), docker=Behaviour(faults={("warmup", 1): die(1)}))
    found = measure_block(task(tmp_path), engines, clock=clock)
    assert verdicts(found) == {"bare": "quiet", "docker": ""}
    assert found[1].noise == {}
