"""What makes a record stale, and what does not."""

from __future__ import annotations

import pytest

from tare.plan import specification as module
from tare.plan.matrix import cells
from tare.plan.specification import digest, seed, specification, steps_per_turn, threads
from tests.unit.studies import matrix, study


def spec_hash(environment: str = "docker", repetition: int = 1, **changes) -> str:
    one = study(**changes)
    return digest(specification(one, cells(one)[0], one.environment(environment), repetition))


@pytest.mark.parametrize(
    "changes",
    [
        {"schedule": "sequential"},
        {"threads": 1},
        {"quiet": False},
        {"quiet": {"huge_pages": False}},
        {"quiet": {"short_spin": False}},
        {"matrix": matrix(settings="default")},
        {"warmup_steps": 11},
        {"steps_per_turn": 4},
        {"seed": 2},
        {"matrix": matrix(model="fcn-r")},
        {"matrix": matrix(framework="tensorflow")},
        {"matrix": matrix(batch_size=32)},
        {"matrix": matrix(gpu="V100")},
        {"environments": ["bare", "podman"], "environment": "podman"},
        {"repetition": 2},
    ],
    ids=str,
)
def test_what_is_asked_of_a_run_is_in_the_hash(changes):
    assert spec_hash(**changes) != spec_hash()


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Another"},
        {"repetitions": 60},
        {"time_budget_s": 10},
        {"time_budget_per_environment_s": 10},
        {"rounds": {"min": 1, "max": 2}},
        {"timeout_s": 1},
        {"metric": "second_per_batch"},
        {"margin_pct": 1},
        {"matrix": matrix(batch_size=64)},
        {"environments": ["bare", "podman", {"name": "docker", "optional": True, "baseline": "podman"}]},
    ],
    ids=str,
)
def test_how_much_is_measured_and_how_it_is_judged_is_not(changes):
    assert spec_hash(**changes) == spec_hash()


def test_a_new_version_of_the_work_makes_every_record_stale(monkeypatch):
    before = spec_hash()
    monkeypatch.setattr(module, "WORKLOAD_VERSION", module.WORKLOAD_VERSION + 1)
    assert spec_hash() != before


def test_the_hash_is_the_same_on_every_machine():
    assert digest({"b": 1, "a": [1, 2.5, None, "ü"]}) == digest({"a": [1, 2.5, None, "ü"], "b": 1})
    assert digest({"a": 1}) == "015abd7f5cc57a2d"


def test_all_environments_of_a_block_start_alike_and_repetitions_do_not():
    one = study()
    asked = [
        specification(one, cells(one)[0], e, repetition)["seed"]
        for repetition in (1, 2)
        for e in one.environments
    ]
    assert asked == [10001, 10001, 10002, 10002]
    assert seed(study(seed=3), 7) == 30007


def test_threads_are_the_studys_or_the_cpus_of_this_process(monkeypatch):
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda pid: {0, 3, 5})
    assert threads(study(threads=None)) == 3
    assert threads(study(threads=7)) == 7


def test_long_steps_are_timed_one_by_one():
    assert [steps_per_turn(study(), s) for s in (0.01, 0.2, 0.21)] == [2, 2, 1]
    assert steps_per_turn(study(steps_per_turn=9), 5.0) == 9
