"""benchmarks/switching.py: an effect is found at its place in the turn, whatever the length; what is missing."""

import pytest
import switching

from tare.records import store
from tare.records.schema import Turn
from tests.unit.factory import record


def a_turn(number, durations_s, settle_s):
    return Turn(round=number, position=0, steps=len(durations_s), settle_s=[settle_s], durations_s=durations_s,
                started_t=float(number))  # fmt: skip


def run(environment, repetition, *, settle=1.0, first=1.0, steady=1.0, schedule="lockstep"):
    """A run with turns of all lengths; settling step, first timed step and the others so many times 10 ms."""
    turns, number = [], 0
    for length in switching.LENGTHS:
        for _ in range(3):
            turns.append(a_turn(number, [0.01 * first, *[0.01 * steady] * (length - 1)], 0.012 * settle))
            number += 1
    return record(environment=environment, repetition=repetition, turns=turns, schedule=schedule)


def blocks(**factors):
    return {n: {"bare": run("bare", n), "docker": run("docker", n, **factors)} for n in (1, 2, 3)}


def pct(values):
    return switching.estimate(values, switching.THROUGHPUT).pct


def test_an_effect_of_switching_sits_at_its_place():
    found = switching.effects(blocks(settle=1.25), {}, "docker")
    assert pct(found.places.pop("settling step")) == pytest.approx(20.0)
    assert all(pct(values) == pytest.approx(0.0) for values in found.places.values())
    assert all(pct(values) == pytest.approx(0.0) for values in found.lengths.values())


def test_an_effect_in_the_first_timed_step_fades_with_the_length():
    found = switching.effects(blocks(first=1.25), {}, "docker")
    assert pct(found.places["step 1"]) == pytest.approx(20.0)
    assert pct(found.places["step 2"]) == pytest.approx(0.0)
    assert pct(found.places["steps 2 to 4"]) == pytest.approx(0.0)
    assert pct(found.lengths[1]) > pct(found.lengths[4]) > pct(found.lengths[16]) > 0


def test_an_effect_of_every_step_does_not_depend_on_the_length():
    found = switching.effects(blocks(settle=1.03, first=1.03, steady=1.03), {}, "docker")
    for values in (*found.places.values(), *found.lengths.values()):
        assert pct(values) == pytest.approx(100 * (1 - 1 / 1.03))


def test_failed_runs_and_half_blocks_are_left_out():
    some = blocks()
    some[1].pop("docker")
    some[2]["docker"] = record(environment="docker", repetition=2, status="failed")
    assert len(switching.pairs(some, "docker")) == 1


def test_what_is_missing_is_measured_kinds_in_turn(tmp_path):
    assert switching.missing(tmp_path, ["bare"], 2) == [
        ("lockstep", 1), ("sequential", 1), ("lockstep", 2), ("sequential", 2),
    ]  # fmt: skip
    store.write(tmp_path / "lockstep", run("bare", 1))
    assert ("lockstep", 1) not in switching.missing(tmp_path, ["bare"], 2)
    # a further environment needs its blocks with bare beside it
    assert ("lockstep", 1) in switching.missing(tmp_path, ["bare", "docker"], 2)


def test_the_report_has_all_tables(tmp_path):
    for number, block in blocks(settle=1.25).items():
        store.write_all(tmp_path / "lockstep", list(block.values()))
        store.write_all(
            tmp_path / "sequential",
            [run(name, number, steady=1.0 + number / 100, schedule="sequential") for name in block],
        )
    text = switching.report(tmp_path, ["bare", "docker"])
    # blocks that are all the same give no interval
    assert "| docker | +20.00 | +0.00 |" in text
    assert "turns of 16" in text
    assert "lockstep less sequential" in text
    assert "6 runs, 0 failed" in text
