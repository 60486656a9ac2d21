"""Known answers, and that a broken instrument is found out."""

from __future__ import annotations

import math

import pytest

from tare.plan.study import parse
from tare.stats import known, metrics, pairs
from tests.unit import factory

ENVIRONMENTS = [
    "bare",
    {"name": "bare-again", "engine": "bare"},
    {"name": "injected-3", "engine": "bare", "injected": 3},
    {"name": "injected-10", "engine": "bare", "injected": 10},
    {"name": "injected-on-top", "engine": "bare", "injected": 10, "baseline": "injected-3"},
    {"name": "bubblewrap", "optional": True},
]
FACTORS = {
    "bare": 1.0, "bare-again": 1.0, "injected-3": 1.03, "injected-10": 1.10, "injected-on-top": 1.10, "bubblewrap": 1.2,
}  # fmt: skip


def study(**other):
    content = {
        "name": "self-check",
        "matrix": {"model": "lenet", "framework": "torch"},
        "environments": ENVIRONMENTS,
    }
    return parse(content | other, "a test")


def measured(**other):
    given = {
        "factors": FACTORS,
        "baselines": {"injected-on-top": "injected-3"},
        "repetitions": 12,
        "rounds": 40,
    }
    return factory.study(**(given | other))


def problems(records, plan, asked=None):
    return {a.environment: a.problem for a in known.answers(records, plan, asked or study()) if a.problem}


def test_truths_are_those_of_the_specification():
    found = {a.environment: a.truth_pct for a in known.answers(*measured(), study())}
    assert found == pytest.approx(
        {
            "bare-again": 0,
            "injected-3": 100 * (1 - 1 / 1.03),
            "injected-10": 100 * (1 - 1 / 1.1),
            "injected-on-top": 100 * (1 - 1.03 / 1.1),
        }
    )
    times = {a.environment: a.truth_pct for a in known.answers(*measured(), study(metric="second_per_batch"))}
    assert times == pytest.approx(
        {"bare-again": 0, "injected-3": 3, "injected-10": 10, "injected-on-top": 100 * (1.1 / 1.03 - 1)}
    )


def test_what_differs_otherwise_has_no_known_answer():
    asked = {e.name: e for e in study().environments}
    assert known.log_truth(asked["bubblewrap"], asked["bare"]) is None
    assert known.log_truth(asked["injected-3"], asked["bare"]) == pytest.approx(math.log(1.03))


@pytest.mark.parametrize("metric", list(metrics.METRICS))
@pytest.mark.parametrize("schedule", ["lockstep", "sequential"])
def test_a_sound_instrument_meets_them(metric, schedule):
    assert problems(*measured(schedule=schedule), study(metric=metric)) == {}


def test_a_turned_sign_is_found(monkeypatch):
    right = pairs.log_time_ratio
    monkeypatch.setattr(
        "tare.stats.overhead.log_time_ratio", lambda pair: None if right(pair) is None else -right(pair)
    )
    found = problems(*measured())
    assert set(found) == {"injected-3", "injected-10", "injected-on-top"}
    assert all("misses the truth" in problem for problem in found.values())


def test_broken_pairing_is_found():
    """A machine whose speed changes from block to block, and each run paired with that of the next block."""
    records, plan = measured(process_noise=0.002)
    speed = [1.0, 1.3, 0.9, 1.2, 1.1, 0.8, 1.4, 1.0, 1.3, 0.7, 1.2, 1.0]

    def at_speed(record, place):
        turns = [
            t.model_copy(update={"durations_s": [d * speed[place] for d in t.durations_s]})
            for t in record.turns
        ]
        return record.model_copy(update={"turns": turns})

    together = [at_speed(r, r.repetition - 1) for r in records]
    assert problems(together, plan) == {}
    apart = [at_speed(r, (r.repetition - 1 + (r.environment != "bare")) % 12) for r in records]
    found = problems(apart, plan)
    assert {"bare-again", "injected-3", "injected-10"} <= set(found)
    assert all("points wide" in problem or "misses" in problem for problem in found.values())


def test_an_injection_that_does_not_happen_is_found():
    found = problems(*measured(factors=FACTORS | {"injected-3": 1.0, "injected-on-top": 1.03 * 1.1 / 1.03}))
    assert "misses the truth 2.91" in found["injected-3"]


def test_what_is_not_measured_is_a_problem():
    records, plan = measured()
    without = [r for r in records if r.environment != "injected-3"]
    found = problems(without, plan)
    assert found["injected-3"].startswith("nothing was estimated: 0 of 12 blocks measured")
    assert "bare-again" not in found
    some = [r for r in records if r.environment != "bare-again" or r.repetition > 2]
    assert problems(some, plan) == {"bare-again": "only 10 of 12 blocks have both runs"}


def test_one_block_gives_no_interval():
    records, plan = measured(repetitions=1)
    assert problems(records, plan)["bare-again"] == "one block gives no interval"


def test_what_is_to_be_said_of_the_blocks_is_said_beside_an_answer_that_is_met():
    records, plan = measured()
    noisy = [
        r.model_copy(update={"noise_verdict": "noisy: the hypervisor took 9 % of the CPUs (steal)"})
        if r.environment == "bare-again" and r.repetition < 4
        else r
        for r in records
    ]
    again = known.answers(noisy, plan, study())[0]
    assert (again.environment, again.problem) == ("bare-again", "")
    assert again.notes.startswith("3 of 12 runs noisy: ")


def test_wide_intervals_are_a_problem():
    found = problems(*measured(process_noise=0.05, seed=3))
    assert found and all("wide" in problem or "misses" in problem for problem in found.values())
