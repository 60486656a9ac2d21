"""A block that a signal or a fault of Tare's own ends: what was measured is kept aside, no worker is left."""

import signal

import pytest

from tare.measure import block, locks
from tare.measure.block import Interrupted, Progress, measure_block
from tare.records import store
from tests.unit.measure.blocks import aside, nothing_left, records_of
from tests.unit.simulated import (
    Behaviour,
    die,
    platforms,
    raises,
    signalled,
    task,
)

pytestmark = pytest.mark.usefixtures("own_temporary_folder")


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
