"""Records as one table."""

from pathlib import Path

import pandas as pd
import pytest

from tare.records.collect import COLUMNS, table
from tests.unit.factory import record, turn

STUDY = Path("results/quick")


def test_one_row_a_run_with_all_columns():
    frame = table([record(), record(environment="docker", repetition=2)], STUDY)
    assert list(frame.columns) == list(COLUMNS)
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == COLUMNS
    assert frame["record"].tolist() == ["runs/lenet-torch/1/bare.json", "runs/lenet-torch/2/docker.json"]


def test_values_of_a_run_that_went_well():
    made = record(step_s=0.02, rounds=4, steps_per_turn=2, phases={"requested": 10.0, "model_built": 13.5})
    row = table([made], STUDY).iloc[0]
    assert (row["turns"], row["steps"], row["status"], row["reason"]) == (4, 8, "ok", "")
    assert row["second_per_batch"] == pytest.approx(0.02)
    assert row["throughput_images_per_sec"] == pytest.approx(3200)
    assert (row["wait_s"], row["framework_version"], row["test_accuracy"]) == (3.5, "2.13.0+cpu", 0.94)
    assert row["noise"] == "not judged"


def test_the_verdict_on_the_noise_is_a_column():
    verdicts = ["quiet", "noisy: 3 MiB were swapped", ""]
    frame = table([record(repetition=n, noise_verdict=said) for n, said in enumerate(verdicts, 1)], STUDY)
    assert frame["noise"].tolist() == ["quiet", "noisy: 3 MiB were swapped", "not judged"]


def test_a_run_without_a_result_has_its_reason_and_missing_values():
    row = table([record(status="timeout", reason="no answer within 30 s.", phases={})], STUDY).iloc[0]
    assert (row["status"], row["reason"], row["turns"]) == ("timeout", "no answer within 30 s.", 0)
    for column in ("second_per_batch", "throughput_images_per_sec", "wait_s", "test_accuracy"):
        assert pd.isna(row[column]), column


def test_a_run_that_failed_half_way_keeps_what_it_had():
    row = table([record(status="failed", turns=[turn([0.01, 0.03])])], STUDY).iloc[0]
    assert row["second_per_batch"] == pytest.approx(0.02)


def test_no_runs_are_a_table_of_the_same_types(tmp_path):
    empty = table([], STUDY)
    assert {name: str(kind) for name, kind in empty.dtypes.items()} == COLUMNS
    empty.to_parquet(tmp_path / "runs.parquet")
    again = pd.read_parquet(tmp_path / "runs.parquet")
    assert {name: str(kind) for name, kind in again.dtypes.items()} == COLUMNS
