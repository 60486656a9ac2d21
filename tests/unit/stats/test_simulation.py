"""What is known of simulated runs must come out of the table, and a table made wrongly must be seen to be wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pandas as pd
import pytest
from scipy.stats import norm

from tare.records.schema import Record
from tare.stats import intervals, pairs, verdicts
from tare.stats import overhead as overhead_module
from tare.stats.overhead import overhead
from tare.stats.simulation import Effect, Noise, simulate, study_of, tables

# The machine wanders by 20 % between and within blocks: without the right pairing nothing is found.
WANDERING = Noise(process_pct=1, step_pct=2, shifts=3, shift_pct=20)
EFFECTS = {f"costs-{pct}": Effect(overhead_pct=pct) for pct in (0, 2, 6)}
CELLS, BLOCKS, ROUNDS = 120, 4, 8
DIFFERENT = {verdicts.SLOWER, verdicts.FASTER, verdicts.SLOWER_WITHIN, verdicts.FASTER_WITHIN}
WITHIN = {verdicts.EQUIVALENT, verdicts.SLOWER_WITHIN, verdicts.FASTER_WITHIN}
Simulated = tuple[list[Record], pd.DataFrame]


def rows(simulated: Simulated, metric: str = "throughput_images_per_sec") -> pd.DataFrame:
    records, plan = simulated
    # each comparison by itself: a table of hundreds, adjusted for their number, would tell nothing of one interval
    frame = overhead(records, plan, metric=metric, margin_pct=2.0, adjust="none")
    return frame[frame["environment"] != frame["baseline"]]


def faults(frame: pd.DataFrame) -> list[str]:
    """What a table of the simulated study says wrongly; bounds lie 3 standard errors beyond what is right."""
    if frame["estimate_pct"].isna().any():
        return ["nothing is estimated"]
    found = []
    truth = frame["environment"].map({name: effect.truth_pct for name, effect in EFFECTS.items()})
    covered = ((frame["ci_low_pct"] <= truth) & (truth <= frame["ci_high_pct"])).mean()
    if not 0.91 <= covered <= 0.99:
        found.append(f"{100 * covered:.1f} % of the intervals hold the truth")
    if (half := ((frame["ci_high_pct"] - frame["ci_low_pct"]) / 2).mean()) > 4:
        found.append(f"intervals are {half:.1f} points wide to either side")
    verdict = {pct: frame[frame["environment"] == f"costs-{pct}"]["verdict"] for pct in (0, 2, 6)}
    if (false := verdict[0].isin(DIFFERENT).mean()) > 0.10:
        found.append(f"{100 * false:.1f} % false verdicts")
    if (within := verdict[2].isin(WITHIN).mean()) > 0.10:
        found.append(f"{100 * within:.1f} % wrongly within the margin")
    if (right := (verdict[6] == verdicts.SLOWER).mean()) < 0.8:
        found.append(f"only {100 * right:.1f} % of the large overheads found")
    return found


@pytest.fixture(scope="module")
def wandering() -> Simulated:
    study = study_of(EFFECTS, cells=CELLS, blocks=BLOCKS, rounds=ROUNDS, steps_per_turn=1)
    return simulate(study, WANDERING, EFFECTS, seed=11)


def test_the_table_tells_the_truth(wandering: Simulated) -> None:
    assert faults(rows(wandering)) == []


def test_a_normal_quantile_instead_of_t_is_seen(
    wandering: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        intervals, "half_width", lambda sd, n, level: norm.ppf(0.5 + level / 2) * sd / math.sqrt(n)
    )
    assert any("hold the truth" in fault for fault in faults(rows(wandering)))


def test_a_wrong_sign_is_seen(wandering: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    right = pairs.log_time_ratio
    monkeypatch.setattr(overhead_module, "log_time_ratio", lambda pair: -right(pair))
    said = faults(rows(wandering))
    assert any("hold the truth" in fault for fault in said)
    assert any("large overheads" in fault for fault in said)


def test_blocks_that_are_paired_wrongly_are_seen(
    wandering: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def next_one(baseline, platform):
        numbers = sorted(baseline)
        after = dict(zip(numbers, [*numbers[1:], numbers[0]], strict=True))
        return [pairs.Pair(baseline[after[n]], platform[n]) for n in numbers], []

    monkeypatch.setattr(pairs, "measured_together", lambda pair: True)
    monkeypatch.setattr(overhead_module, "pair_up", next_one)
    # their seeds differ, by which it is found out before anything is estimated
    assert faults(rows(wandering)) == ["nothing is estimated"]
    monkeypatch.setattr(overhead_module, "comparable", lambda pairs: "yes")
    assert any("points wide" in fault for fault in faults(rows(wandering)))


def test_rounds_that_are_paired_wrongly_are_seen(
    wandering: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    right: Callable[[Record], dict[int, float]] = pairs.step_s_by_round
    monkeypatch.setattr(
        pairs,
        "step_s_by_round",
        lambda run: (
            right(run) if run.environment == "bare" else {ROUNDS - 1 - n: s for n, s in right(run).items()}
        ),
    )
    assert any("points wide" in fault for fault in faults(rows(wandering)))


def test_steps_taken_for_runs_are_seen(wandering: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if each round were a block of its own: the classical mistake."""
    right = intervals.half_width
    monkeypatch.setattr(intervals, "half_width", lambda sd, n, level: right(sd, ROUNDS * n, level))
    assert any("hold the truth" in fault for fault in faults(rows(wandering)))


@pytest.mark.parametrize("tails", ["t3", "bursts"])
@pytest.mark.parametrize("schedule", ["lockstep", "sequential"])
def test_heavy_tails_do_not_make_intervals_too_narrow(schedule, tails) -> None:
    effects = {"costs-3": Effect(overhead_pct=3)}
    study = study_of(effects, cells=150, blocks=5, schedule=schedule, rounds=6, steps_per_turn=1)
    frame = rows(simulate(study, Noise(process_pct=1, step_pct=3, tails=tails), effects, seed=3))
    assert ((frame["ci_low_pct"] <= 3) & (frame["ci_high_pct"] >= 3)).mean() > 0.897  # 3 standard errors


# -- the simulation itself ---------------------------------------------------------------------------------------------


NONE = Noise(process_pct=0, step_pct=0)


@pytest.mark.parametrize("schedule", ["lockstep", "sequential"])
def test_without_noise_the_truth_comes_out(schedule) -> None:
    study = study_of(EFFECTS, cells=2, blocks=4, schedule=schedule)
    frame = rows(simulate(study, NONE, EFFECTS, seed=1))
    expected = [effect.truth_pct for effect in EFFECTS.values()] * 2
    assert list(frame["estimate_pct"]) == pytest.approx(expected)
    assert list(frame["performance_overhead_pct"]) == pytest.approx(expected)
    by_time = rows(simulate(study, NONE, EFFECTS, seed=1), "second_per_batch")
    assert by_time["estimate_pct"].iloc[1] == pytest.approx(100 * (1 / 0.98 - 1))


def test_what_a_machine_does_to_all_cancels_in_lockstep_and_not_in_sequential() -> None:
    noise = Noise(process_pct=1e-3, step_pct=0, shifts=1, shift_pct=20, campaign_drift_pct=10)
    spread = {}
    for schedule in ("lockstep", "sequential"):
        study = study_of(EFFECTS, cells=5, blocks=6, schedule=schedule)
        frame = rows(simulate(study, noise, EFFECTS, seed=1))
        spread[schedule] = (frame["ci_high_pct"] - frame["ci_low_pct"]).mean()
    assert spread["lockstep"] < 0.1 < 10 < spread["sequential"]


@pytest.mark.parametrize("schedule", ["lockstep", "sequential"])
def test_a_drift_is_spread_over_the_whole_block(schedule) -> None:
    study = study_of({"costs-0": Effect()}, cells=1, blocks=1, schedule=schedule, steps_per_turn=1)
    drifting = Noise(process_pct=0, step_pct=0, block_drift_pct=10)
    records, _ = simulate(study, drifting, {}, seed=1)
    turns = sorted((turn.started_t, math.log(turn.timed_s)) for run in records for turn in run.turns)
    steps = [after[1] - before[1] for before, after in pairwise(turns)]
    assert steps == pytest.approx([0.10 / (2 * 20 - 1)] * (2 * 20 - 1))


def test_order_and_slots_are_the_planners_and_the_records_are_valid() -> None:
    study = study_of(EFFECTS, cells=3, blocks=4, steps_per_turn=2)
    records, plan = simulate(study, WANDERING, EFFECTS, seed=1)
    planned = plan.set_index(["cell", "repetition", "environment"])
    assert len(records) == len(plan) == 3 * 4 * 4
    positions = set()
    for record in records:
        row = planned.loc[record.cell.name, record.repetition, record.environment]
        assert (record.slot, record.spec_hash, record.block[record.slot]) == (
            row["slot"], row["spec_hash"], record.environment
        )  # fmt: skip
        assert Record.model_validate_json(record.model_dump_json()) == record
        positions |= {(record.environment, turn.position) for turn in record.turns}
    assert len(positions) == 4 * 4
    began = {
        (record.started_at, int(planned.loc[record.cell.name, record.repetition, "bare"]["order"]))
        for record in records
    }
    assert [order for _, order in sorted(began)] == sorted(order for _, order in began)


def test_one_seed_is_one_simulation() -> None:
    study = study_of(EFFECTS, cells=2, blocks=2)
    one, again, other = (simulate(study, WANDERING, EFFECTS, seed=seed)[0] for seed in (5, 5, 6))
    assert one == again
    assert one != other


def test_each_noise_is_as_large_as_it_says() -> None:
    study = study_of({}, cells=250, blocks=2, rounds=1, steps_per_turn=1)

    def spread(**noise) -> float:
        records, _ = simulate(study, Noise(**({"process_pct": 0, "step_pct": 0} | noise)), {}, seed=2)
        return 100 * float(pd.Series([math.log(run.timed_s) for run in records]).std())

    assert spread(process_pct=3) == pytest.approx(3, rel=0.12)
    assert spread(step_pct=3) == pytest.approx(3, rel=0.12)
    assert spread(step_pct=3, tails="t3") == pytest.approx(3, rel=0.3)
    assert spread(shift_pct=10) == pytest.approx(10, rel=0.12)
    # two blocks, 4 % apart
    assert spread(campaign_drift_pct=4) == pytest.approx(2, rel=0.01)
    assert spread(tails="bursts") > 2


def test_a_study_is_cut_into_tables() -> None:
    study = study_of(EFFECTS, cells=5, blocks=2)
    simulated = simulate(study, WANDERING, EFFECTS, seed=1)
    parts = [rows(part) for part in tables(*simulated, 2)]
    assert [len(part) for part in parts] == [6, 6, 3]
    whole = rows(simulated).sort_values(["cell", "environment"], ignore_index=True)
    together = pd.concat(parts).sort_values(["cell", "environment"], ignore_index=True)
    pd.testing.assert_frame_equal(together, whole)
