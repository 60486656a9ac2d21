"""Records that statistics must not be made of, in a real run: one sentence, no table; then it is mended as was said."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tests.workflow.conftest import Project

pytestmark = pytest.mark.workflow
Measured = Callable[[], Project]


def nan(record: dict[str, Any]) -> None:
    record["turns"][1]["durations_s"][0] = float("nan")


def negative(record: dict[str, Any]) -> None:
    record["turns"][0]["durations_s"][0] = -0.01


def newer(record: dict[str, Any]) -> None:
    record["schema_version"] = 2


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (nan, ": turns.1.durations_s.0: Input should be a finite number; move the file away and its block"),
        # each through the script alone is a unit test
        pytest.param(
            negative,
            ": turns.0: a step took -0.01 s, and must take more than none; move the file away",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            newer,
            " has schema version 2, this Tare reads up to 1; install a newer Tare.",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_record_that_is_none_stops_the_tables(
    measured: Measured, spoil: Callable[[dict[str, Any]], None], said: str
) -> None:
    project = measured()
    path = project.record(1, "again")
    content = json.loads(path.read_text())
    spoil(content)
    path.write_text(json.dumps(content))
    done = project.snakemake("--", "results/tiny/overhead.csv", expect=1)
    sentences = [line for line in done.stderr.splitlines() if line.startswith("Tare: ")]
    assert [line for line in sentences if said in line] == sentences[-1:]
    assert "Traceback" not in done.stderr
    assert not (project.results / "overhead.csv").exists()
    path.unlink()
    project.snakemake("--", "results/tiny/overhead.csv")
    assert pd.read_csv(project.results / "overhead.csv")["blocks"].tolist() == [2, 2]


@pytest.mark.slow  # through the script alone it is a unit test
def test_one_block_alone_decides_nothing(measured: Measured) -> None:
    project = measured()
    project.write_study(repetitions=1)
    project.snakemake("--", "results/tiny/overhead.csv")
    row = pd.read_csv(project.results / "overhead.csv").set_index("environment").loc["again"]
    assert (row["blocks"], row["verdict"]) == (1, "inconclusive")
    assert pd.notna(row["estimate_pct"])
    assert pd.isna(row["ci_low_pct"])
    assert row["note"].startswith("1 block gives no interval, at least 2 are needed")


def test_baselines_that_lead_nowhere_stop_the_run_before_it_measures(project: Project) -> None:
    again = {"name": "again", "engine": "bare"}
    for environments, said in (
        ([again], "'again' is compared with 'bare', which is not an environment of the study; add it"),
        (
            [
                "bare",
                {**again, "baseline": "third"},
                {"name": "third", "engine": "bare", "baseline": "again"},
            ],
            "the baselines go in a circle: again -> third -> again; one environment must be its own baseline.",
        ),
    ):
        project.write_study(environments=environments)
        done = project.snakemake(expect=1)
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert not project.results.exists()
