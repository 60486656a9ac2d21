"""overhead.csv: every kind of row."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tare.stats import table
from tare.stats.intervals import Estimate
from tare.stats.metrics import STEP_TIME
from tare.stats.overhead import compare, decide, of_study
from tare.stats.planned import Measured, read_plan
from tests.unit import studies
from tests.unit.factory import SOFTWARE, plan, record, study, turn
from tests.unit.stats.tables import NO_DOCKER, row, run


def quiet(**other):
    """A study with next to no noise: every number is known. With none at all there would be no interval."""
    return study(**({"process_noise": 1e-9, "turn_noise": 0.0} | other))


def test_the_columns_and_the_order_of_the_rows():
    frame = run(*study(cells=["lenet-torch", "fcn-r-torch"]))
    assert frame.dtypes.astype(str).to_dict() == table.COLUMNS
    assert list(zip(frame["cell"], frame["environment"], strict=True)) == [
        ("fcn-r-torch", "bare"),
        ("fcn-r-torch", "docker"),
        ("lenet-torch", "bare"),
        ("lenet-torch", "docker"),
    ]


def test_rows_are_in_an_order_for_people_whatever_the_order_of_measuring():
    environments = {"bare": "bare", "chroot": "bare", "apptainer": "chroot", "bare-again": "bare"}
    planned = plan(["a-b16", "a-b2"], environments).sample(frac=1, random_state=3)
    frame = run([], planned)
    assert list(frame["cell"].unique()) == ["a-b2", "a-b16"]
    assert list(frame["environment"][:4]) == ["bare", "bare-again", "chroot", "apptainer"]


@pytest.mark.parametrize("schedule", ["lockstep", "sequential"])
def test_known_answer_of_an_injected_slow_down(schedule):
    records, planned = quiet(schedule=schedule)
    by_throughput = row(run(records, planned))
    assert by_throughput["estimate_pct"] == pytest.approx(2.912621)
    assert by_throughput["performance_overhead_pct"] == pytest.approx(2.912621)
    assert by_throughput["baseline_value"] == pytest.approx(6400)
    assert by_throughput["value"] == pytest.approx(6400 / 1.03)
    assert (by_throughput["unit"], by_throughput["blocks"]) == ("images/s", 6)
    assert by_throughput["verdict"] == "slower"
    by_time = row(run(records, planned, "second_per_batch"))
    assert by_time["estimate_pct"] == pytest.approx(3.0)
    assert by_time["performance_overhead_pct"] == pytest.approx(3.0)
    assert by_time["unit"] == "s"


def test_a_noisy_study_finds_it_within_its_interval():
    found = row(run(*study(repetitions=20, rounds=30)))
    assert found["ci_low_pct"] < 2.912621 < found["ci_high_pct"]
    assert found["ci_high_pct"] - found["ci_low_pct"] < 1


def test_the_baseline_has_a_row_of_its_own():
    found = row(run(*quiet()), "bare")
    assert found["verdict"] == "baseline"
    assert found["value"] == found["baseline_value"] == pytest.approx(6400)
    assert found[["estimate_pct", "ci_low_pct", "ci_high_pct"]].isna().all()
    assert (found["comparable"], found["note"], found["blocks"]) == ("yes", "", 6)


def test_means_are_over_the_shared_blocks_only():
    records, planned = quiet(repetitions=3)
    # bare was twice as fast in a block that docker failed in
    records = [r for r in records if r.repetition < 3]
    records += [
        record(repetition=3, step_s=0.005),
        record(environment="docker", repetition=3, status="failed"),
    ]
    found = row(run(records, planned))
    assert found["blocks"] == 2
    assert found["baseline_value"] == pytest.approx(6400)
    assert found["note"] == "1 of 3 runs failed: the worker was killed for memory"


def test_failed_runs_of_the_baseline_are_counted_in_both_rows():
    records, planned = quiet()
    records[0] = record(status="timeout", reason="no answer within 60 s.")
    frame = run(records, planned)
    assert row(frame, "bare")["note"] == "1 of 6 runs timed out: no answer within 60 s"
    assert row(frame)["note"] == "1 of 6 runs of bare timed out: no answer within 60 s"
    assert row(frame)["blocks"] == 5


def test_different_reasons_are_all_said():
    records, planned = quiet(repetitions=4)
    reasons = {1: "disk full", 2: "killed", 3: "killed"}
    records = [
        record(environment="docker", repetition=r.repetition, status="failed", reason=reasons[r.repetition])
        if r.environment == "docker" and r.repetition in reasons
        else r
        for r in records
    ]
    note = row(run(records, planned))["note"]
    assert "3 of 4 runs failed: killed (2 times); disk full" in note
    assert "1 block gives no interval, at least 2 are needed" in note


def test_a_study_that_is_under_way():
    records, planned = quiet()
    found = row(run([r for r in records if r.repetition <= 4], planned))
    assert found["blocks"] == 4
    assert found["note"] == "4 of 6 blocks measured"
    assert found["verdict"] == "slower"


def test_nothing_measured_yet():
    frame = run([], plan())
    assert list(frame["verdict"]) == ["missing", "missing"]
    assert list(frame["note"]) == ["0 of 6 runs measured", "0 of 6 blocks measured"]
    assert list(frame["blocks"]) == [0, 0]


def test_all_runs_failed():
    records = [record(repetition=n) for n in range(1, 7)]
    records += [record(environment="docker", repetition=n, status="failed") for n in range(1, 7)]
    found = row(run(records, plan()))
    assert found["verdict"] == "missing"
    assert found["note"] == "6 of 6 runs failed: the worker was killed for memory"


def test_one_block_is_inconclusive_without_interval():
    found = row(run(*quiet(repetitions=1)))
    assert found["verdict"] == "inconclusive"
    assert found["estimate_pct"] == pytest.approx(2.912621)
    assert pd.isna(found["ci_low_pct"])
    assert "at least 2 are needed" in found["note"]


def test_an_inconclusive_row_says_how_many_blocks_it_would_take():
    found = row(run(*study(factors={"bare": 1, "docker": 1.0}, process_noise=0.06, seed=5)))
    assert found["verdict"] == "inconclusive"
    assert re.fullmatch(r"for a verdict a new study of about \d+ blocks would be needed", found["note"])


def test_an_unusable_environment_says_why_and_what_to_do():
    frame = run([record(repetition=n) for n in range(1, 7)], plan(unusable={"docker": NO_DOCKER}))
    found = row(frame)
    assert found["verdict"] == "not measured"
    assert found["note"] == "docker does not answer. Start it with `systemctl start docker`"
    assert (found["blocks"], found["comparable"]) == (0, "")
    assert row(frame, "bare")["verdict"] == "baseline"


def test_a_cell_that_no_machine_here_can_measure():
    frame = run([], plan(["lenet-torch"], unusable_cells={"lenet-torch": ("no V100 here", "")}))
    assert list(frame["verdict"]) == ["not measured"] * 2
    assert list(frame["note"]) == ["no V100 here"] * 2


def test_an_environment_whose_own_baseline_is_unusable_or_not_planned():
    environments = {"bare": "bare", "chroot": "bare", "docker": "chroot"}
    frame = run([], plan(environments=environments, unusable={"chroot": ("not root", "Use sudo.")}))
    assert row(frame)["verdict"] == "not measured"
    assert row(frame)["note"] == "its baseline chroot can't be used here: not root. Use sudo"
    frame = run([], plan(environments={"bare": "bare", "docker": "chroot"}))
    assert row(frame)["note"] == "its baseline chroot is not planned for this cell"


def test_each_environment_is_compared_with_its_own_baseline():
    records, planned = quiet(
        factors={"bare": 1.0, "chroot": 1.02, "docker": 1.02 * 1.03}, baselines={"docker": "chroot"}
    )
    frame = run(records, planned)
    assert row(frame, "chroot")["verdict"] == "slower, within margin"
    assert row(frame, "docker")["estimate_pct"] == pytest.approx(2.912621)
    assert row(frame, "docker")["baseline_value"] == pytest.approx(row(frame, "chroot")["value"])


def test_what_was_measured_stays_when_the_engine_is_gone_later():
    records, planned = quiet()
    planned.loc[planned["environment"] == "docker", ["status", "reason"]] = [
        "unusable",
        "docker does not answer",
    ]
    found = row(run([r for r in records if r.repetition <= 4], planned))
    assert (found["verdict"], found["blocks"]) == ("slower", 4)
    assert found["note"] == "4 of 6 blocks measured; docker does not answer"


def test_an_environment_added_later_uses_the_blocks_that_hold_both():
    records, planned = quiet(factors={"bare": 1.0, "docker": 1.03, "podman": 1.01})
    is_podman = planned["environment"] == "podman"
    planned = planned[~is_podman | (planned["repetition"] > 4)]
    frame = run([r for r in records if r.environment != "podman" or r.repetition > 4], planned)
    assert (row(frame, "podman")["blocks"], row(frame, "podman")["note"]) == (2, "")
    assert row(frame, "docker")["blocks"] == 6


def test_what_differs_by_nature_is_told_and_the_estimate_is_made():
    records, planned = study()
    told = [
        one.model_copy(
            update={"evidence": {"shm_bytes": (64 if one.environment == "docker" else 1024) << 20}}
        )
        for one in records
    ]
    plain, found = row(run(records, planned)), row(run(told, planned))
    assert found["comparable"] == "differs: /dev/shm 64 MiB in docker and 1 GiB in bare"
    assert plain["comparable"] == "yes"
    assert found["estimate_pct"] == plain["estimate_pct"] > 0
    assert (found["verdict"], found["note"]) == (plain["verdict"], plain["note"])


def test_incomparable_runs_decide_nothing():
    records, planned = quiet()
    records[1] = records[1].model_copy(update={"software": SOFTWARE | {"torch": "2.12.0"}})
    found = row(run(records, planned))
    assert found["verdict"] == "not comparable"
    assert "torch is 2.13.0+cpu in bare and 2.12.0 in docker" in found["comparable"]
    assert pd.isna(found["estimate_pct"])
    assert pd.isna(found["performance_overhead_pct"])
    assert found["value"] == pytest.approx(6400 / 1.03)


def test_records_of_another_specification_are_not_mixed_in():
    records, planned = quiet()
    records[0] = records[0].model_copy(update={"spec_hash": "older"})
    found = row(run(records, planned))
    assert found["blocks"] == 5
    assert found["note"] == (
        "1 run not used: made for other settings or repetitions than planned; 5 of 6 blocks measured"
    )


def test_records_of_repetitions_that_are_no_longer_planned_are_not_used():
    records, planned = quiet()
    found = row(run(records, planned[planned["repetition"] <= 4]))
    assert found["blocks"] == 4
    assert found["note"] == "4 runs not used: made for other settings or repetitions than planned"


def test_a_half_replaced_block_is_not_used():
    records, planned = quiet()
    records[1] = records[1].model_copy(update={"block_id": "another day's"})
    found = row(run(records, planned))
    assert found["blocks"] == 5
    assert found["note"] == "1 block not used: the two runs were not measured side by side"


def test_records_outside_the_plan_change_nothing():
    records, planned = quiet()
    more = [record(environment="podman"), record(cell="fcn-r-torch")]
    pd.testing.assert_frame_equal(run(records, planned), run(records + more, planned))


def test_the_order_of_the_records_does_not_matter():
    records, planned = study()
    shuffled = list(records)
    random.Random(5).shuffle(shuffled)
    pd.testing.assert_frame_equal(run(records, planned), run(shuffled, planned))


@pytest.mark.parametrize("factor", [0.25, 3.0])
def test_the_unit_of_time_does_not_matter(factor):
    one, planned = study()
    other, _ = study(step_s=0.01 * factor)
    columns = ["performance_overhead_pct", "estimate_pct", "ci_low_pct", "ci_high_pct"]
    np.testing.assert_allclose(
        run(one, planned)[columns].astype(float), run(other, planned)[columns].astype(float), rtol=1e-6
    )


def test_a_plan_read_from_disk_with_its_empty_fields(tmp_path):
    records, planned = study()
    planned.to_csv(tmp_path / "plan.csv", index=False)
    for options in ({}, {"dtype": str, "keep_default_na": False}):
        read = pd.read_csv(tmp_path / "plan.csv", **options)
        pd.testing.assert_frame_equal(run(records, read), run(records, planned))


def test_an_empty_plan_is_an_empty_table():
    frame = run([], plan([]))
    assert len(frame) == 0
    assert frame.dtypes.astype(str).to_dict() == table.COLUMNS


def test_clear_refusals():
    records, planned = quiet()
    with pytest.raises(
        ValueError, match="two records of cell lenet-torch, environment bare, repetition 1; keep one"
    ):
        run([*records, records[0]], planned)
    with pytest.raises(ValueError, match="lacks the column 'baseline'"):
        run(records, planned.drop(columns="baseline"))
    with pytest.raises(ValueError, match="margin_pct is 0"):
        run(records, planned, margin_pct=0)


def test_blocks_of_different_software_are_not_one_estimate():
    records, planned = quiet()
    newer = [
        r.model_copy(update={"software": {**r.software, "torch": "2.14.0"}}) if r.repetition > 3 else r
        for r in records
    ]
    found = row(run(newer, planned))
    assert found["verdict"] == "not comparable"
    assert "software torch changed between blocks of bare: 2.13.0+cpu, 2.14.0" in found["comparable"]


def test_blocks_of_different_machines_are_not_one_estimate():
    records, planned = quiet()
    moved = [
        r.model_copy(update={"host": {**r.host, "kernel": "6.2"}}) if r.repetition == 1 else r
        for r in records
    ]
    assert "host kernel changed between blocks" in row(run(moved, planned))["comparable"]


def test_stalls_that_the_median_leaves_out_are_told():
    steps = [0.01] * 9 + [0.03]
    records, planned = study(factors={"bare": 1.0, "docker": 1.0}, repetitions=6)
    stalled = [
        r.model_copy(
            update={
                "turns": [
                    turn([s * (1 + r.repetition * 1e-5 * (s > 0.02))], round=i)
                    for i, s in enumerate(steps if r.environment == "docker" else [0.01] * 10)
                ]
            }
        )
        for r in records
    ]
    found = row(run(stalled, planned))
    assert abs(found["estimate_pct"]) < 0.01
    assert "by total time the overhead is 16.7 %" in found["note"]
    assert "which the median over rounds leaves out" in found["note"]


def test_each_verdict_has_the_margin_that_it_was_held_against():
    records, planned = study()
    frame = run(records, planned, margin_pct=0.5)
    assert row(frame)["margin_pct"] == 0.5
    assert pd.isna(frame.loc[frame["environment"] == "bare", "margin_pct"]).all()


ENVIRONMENTS = {"bare": 1.0, "bubblewrap": 1.0, "docker": 1.03, "podman": 1.001}


def test_levels_are_those_of_the_whole_table():
    records, planned = study(cells=["lenet-torch", "fcn-r-torch"], factors=ENVIRONMENTS)
    together, alone = run(records, planned), run(records, planned, adjust="none")
    compared = together["environment"] != "bare"
    assert set(alone.loc[compared, "ci_level_pct"]) == {95.0}
    assert set(alone.loc[compared, "ci_method"]) == {"t"}
    assert set(together.loc[compared, "ci_method"]) == {"t, Holm"}
    levels = together.loc[compared, "ci_level_pct"]
    # six comparisons: the clearest is held against 5 % / 6
    assert levels.max() == pytest.approx(100 - 5 / 6)
    assert levels.min() < levels.max()
    width, plain = (
        (frame.loc[compared, "ci_high_pct"] - frame.loc[compared, "ci_low_pct"])
        for frame in (together, alone)
    )
    assert (width > plain).all()
    pd.testing.assert_series_equal(together["estimate_pct"], alone["estimate_pct"])
    assert together.loc[~compared, ["ci_level_pct"]].isna().all().all()


def test_bca_is_a_choice_and_refused_with_few_blocks():
    records, planned = study(repetitions=24)
    found = row(run(records, planned, interval="bca", adjust="none"))
    assert (found["ci_method"], found["verdict"]) == ("BCa", "slower")
    few = row(run([r for r in records if r.repetition < 20], planned, interval="bca", adjust="none"))
    assert few["verdict"] == "inconclusive"
    assert pd.isna(few["ci_low_pct"]) and pd.isna(few["ci_level_pct"]) and few["ci_method"] == ""
    assert few["note"].startswith("19 blocks give no BCa interval, at least 20 are needed")


def test_blocks_that_are_all_the_same_give_no_interval():
    """Measured times never are: an interval without width would be a certainty that nobody has."""
    found = row(run(*study(repetitions=6, process_noise=0.0, turn_noise=0.0)))
    assert found["verdict"] == "inconclusive"
    assert pd.isna(found["ci_low_pct"]) and found["estimate_pct"] == pytest.approx(2.912621)
    assert found["note"] == "all 6 blocks have the very same ratio, which gives no interval"


def compared(mean, sd, blocks=12, **levels):
    found = replace(Estimate(mean, sd, blocks, STEP_TIME), **levels)
    records, planned = study(repetitions=2)
    made = compare(
        read_plan(planned)["lenet-torch", "docker"],
        Measured({r.repetition: r for r in records if r.environment == "docker"}),
        Measured({r.repetition: r for r in records if r.environment == "bare"}),
        STEP_TIME,
        make=lambda *_: found,
    )
    return decide(replace(made, notes=[]), 2.0, "holm")


def test_which_interval_decides_on_equivalence_is_told_where_the_printed_one_says_otherwise():
    # by hand: t(0.975, 11) = 2.201, t(0.95, 11) = 1.796; half-widths 2.2 and 1.8 points around 0
    wide = compared(0.0, 0.0098 * math.sqrt(12))
    assert wide["verdict"] == "equivalent" and wide["ci_high_pct"] > 2
    assert re.fullmatch(
        r"what decides on equivalence is the interval of two one-sided tests \(90 %\), \[-1.7\d, 1.7\d\], "
        r"which lies within ±2 %",
        wide["note"],
    )
    # one of many rows: its equivalence is held against less than its difference
    strict = compared(0.0, 0.008 * math.sqrt(12), equivalence_level=0.99)
    assert strict["verdict"] == "inconclusive" and -2 < strict["ci_low_pct"] < strict["ci_high_pct"] < 2
    assert "(99 %), [-2.4" in strict["note"] and strict["note"].endswith("which does not lie within ±2 %")
    assert compared(0.0, 0.005 * math.sqrt(12))["note"] == ""
    assert compared(0.1, 0.005 * math.sqrt(12))["note"] == ""


def test_a_wish_for_precision_that_was_taken_out_leaves_the_intervals_wide():
    records, planned = quiet()
    asked = studies.study(precision_pct=1.0, repetitions=6)
    without = studies.study(repetitions=6)
    frames = [
        row(of_study(asked, records, planned)),
        row(of_study(without, records, planned, looked_at=True)),
        row(of_study(without, records, planned)),
    ]
    assert frames[0]["ci_low_pct"] == frames[1]["ci_low_pct"] < frames[2]["ci_low_pct"]
    assert [frame["ci_method"] for frame in frames] == ["t, stretched, Holm"] * 2 + ["t, Holm"]
