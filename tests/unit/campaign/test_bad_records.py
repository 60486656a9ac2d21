"""Records and plans that statistics must not be made of, as their reader meets them: by the script of the rule
`overhead`, which Snakemake runs, and by `tare self-check`. One sentence that names the file, and no number."""

from __future__ import annotations

import json
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from tare.cli import main
from tare.records import store
from tare.stats import table

SCRIPT = Path(__file__).resolve().parents[3] / "workflow" / "scripts" / "overhead.py"
AGAIN = {"name": "bare-again", "engine": "bare"}
CELL, AWAY = "lenet-torch", "move the file away and its block is measured again."


@pytest.fixture
def measured(project):
    """A study with known answers, all of it measured."""
    project.write(environments=["bare", AGAIN])
    project.measure(project.begin().to_measure)
    return project


@pytest.fixture
def make(measured, capsys) -> Callable[[], tuple[int, str]]:
    """Runs the rule's script; gives its exit status and what it said."""

    def run() -> tuple[int, str]:
        out = measured.study_dir / "overhead.csv"
        snakemake = SimpleNamespace(
            log=[str(measured.study_dir / "logs" / "overhead.log")],
            output=SimpleNamespace(overhead=str(out)),
        )
        try:
            runpy.run_path(str(SCRIPT), init_globals={"snakemake": snakemake})
        except SystemExit as ended:
            assert not out.exists()
            return int(ended.code), capsys.readouterr().err
        return 0, capsys.readouterr().err

    return run


def record(project: Any, repetition: int, environment: str) -> Path:
    return project.study_dir / "runs" / CELL / str(repetition) / f"{environment}.json"


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def durations(*seconds: float) -> dict[str, Any]:
    turn = {"round": 0, "position": 0, "steps": len(seconds), "settle_s": [0.01], "started_t": 1.0}
    return {"turns": [turn | {"durations_s": list(seconds)}]}


BAD_RECORDS = {
    "newer schema": ({"schema_version": 2}, " has schema version 2, this Tare reads up to 1; install a newer Tare."),
    "older schema": (
        {"schema_version": 0},
        " has the schema version '0', this Tare reads 1; move it away and its block is measured again.",
    ),
    "no schema": (
        {"schema_version": None},
        " has no schema version, this Tare reads 1; move it away and its block is measured again.",
    ),
    "NaN": (
        durations(0.01, float("nan")),
        f": turns.0.durations_s.1: Input should be a finite number; {AWAY}",
    ),
    "infinity": (
        durations(0.01, float("inf")),
        f": turns.0.durations_s.1: Input should be a finite number; {AWAY}",
    ),
    "zero": (durations(0.01, 0.0), f": turns.0: a step took 0 s, and must take more than none; {AWAY}"),
    "negative": (durations(0.01, -0.01), f": turns.0: a step took -0.01 s, and must take more than none; {AWAY}"),
    "no step": (durations(), f": turns.0.steps: Input should be greater than 0; {AWAY}"),
    "endless": (durations(0.01, 1e9), f": turns.0: a step took 1e+09 s, and none takes over 1e+08; {AWAY}"),
    "text": (
        durations(0.01, "0.01"),
        f": turns.0.durations_s.1: Input should be a valid number; {AWAY}",
    ),
    "a round twice": (
        {"turns": [durations(0.01)["turns"][0]] * 2},
        f": turns: their rounds are not 0 to 1, each once and in this order; {AWAY}",
    ),
    "another label": ({"engine": "docker"}, f": engine: is 'docker', but 'bare' was asked for; {AWAY}"),
    "another verdict on where it was": (
        {"attested": "docker"},
        f": attested: the run labelled 'bare' was found to be in 'docker'; {AWAY}",
    ),
    "no evidence": ({"evidence": {}}, f": evidence: shows another machine, not bare; {AWAY}"),
    "another specification": (
        {"spec": {}},
        None,  # names the hash
    ),
    "no turn": ({"turns": []}, f": the record: a run that ended well has at least one turn; {AWAY}"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD_RECORDS)
def test_a_record_that_is_none(measured, make, capsys, bad):
    values, said = BAD_RECORDS[bad]
    path = record(measured, 3, "bare-again")
    change(path, **values)
    name = path.relative_to(measured.root) if path.is_absolute() else path
    status, err = make()
    assert status == 1
    said = said or f": spec: is not the text behind the hash {store.read(path).spec_hash}; {AWAY}"
    assert err == f"Tare: {path}{said}\n"
    assert main(["self-check", "small"]) == 1
    assert capsys.readouterr() == ("", f"tare: {name}{said}\n")


def test_a_record_at_anothers_place(measured, make, capsys):
    """Both are bare: the hash of what was asked is the same, so that nothing else would tell."""
    path = record(measured, 2, "bare-again")
    shutil.copy(record(measured, 2, "bare"), path)
    said = (
        " is the record of cell lenet-torch, repetition 2, environment bare; "
        "move it away and its block is measured again.\n"
    )
    assert make() == (1, f"Tare: {path}{said}")
    assert main(["self-check", "small"]) == 1
    assert capsys.readouterr().err.endswith(f"runs/{CELL}/2/bare-again.json{said}")


@pytest.mark.parametrize(
    ("baselines", "said"),
    [
        (
            {"bare": "bare-again"},
            "the baselines of cell lenet-torch go in a circle in the plan: bare-again -> bare -> bare-again; "
            "remove plan.csv, and it is made anew.",
        ),
        (
            {"bare-again": ""},
            "the plan names no baseline for bare-again in cell lenet-torch; remove plan.csv, and it is made anew.",
        ),
    ],
)
def test_a_plan_whose_baselines_lead_nowhere(measured, make, capsys, baselines, said):
    path = measured.study_dir / "plan.csv"
    plan = pd.read_csv(path, dtype=str, keep_default_na=False)
    for environment, baseline in baselines.items():
        plan.loc[plan["environment"] == environment, "baseline"] = baseline
    plan.to_csv(path, index=False)
    assert make() == (1, f"Tare: {said}\n")
    assert main(["self-check", "small"]) == 1
    assert capsys.readouterr().err == f"tare: {said}\n"


def row(measured: Any, environment: str = "bare-again") -> pd.Series:
    frame = table.read(measured.study_dir / "overhead.csv").set_index("environment")
    return frame.loc[environment]


def test_a_baseline_that_is_not_planned_is_told_in_the_row(measured, make):
    path = measured.study_dir / "plan.csv"
    plan = pd.read_csv(path, dtype=str, keep_default_na=False)
    plan.loc[plan["environment"] == "bare-again", "baseline"] = "chroot"
    plan.to_csv(path, index=False)
    assert make() == (0, "")
    found = row(measured)
    assert (found["verdict"], found["note"]) == (
        "not measured",
        "its baseline chroot is not planned for this cell",
    )
    assert pd.isna(found["estimate_pct"])


def test_a_block_without_one_of_its_environments_is_left_out_and_counted(measured, make):
    record(measured, 2, "bare-again").unlink()
    record(measured, 5, "bare").unlink()
    # bare was much slower in the block that bare-again lacks
    change(record(measured, 2, "bare"), **durations(1.0))
    assert make() == (0, "")
    found = row(measured)
    assert (found["blocks"], found["note"]) == (
        4,
        "all 4 blocks have the very same ratio, which gives no interval; 4 of 6 blocks measured",
    )
    assert found["performance_overhead_pct"] == pytest.approx(0)
    assert row(measured, "bare")["note"] == "5 of 6 runs measured"


def test_one_block_alone_gives_an_estimate_and_decides_nothing(measured, make):
    for repetition in range(2, 7):
        shutil.rmtree(record(measured, repetition, "bare").parent)
    assert make() == (0, "")
    found = row(measured)
    assert (found["blocks"], found["verdict"]) == (1, "inconclusive")
    assert found["estimate_pct"] == pytest.approx(0)
    assert pd.isna(found["ci_low_pct"])
    assert pd.isna(found["ci_high_pct"])
    assert found["note"] == "1 block gives no interval, at least 2 are needed; 1 of 6 blocks measured"


@pytest.mark.parametrize(
    ("environments", "said"),
    [
        (
            ["bare", {"name": "docker", "baseline": "chroot"}],
            "environments: 'docker' is compared with 'chroot', which is not an environment of the study; "
            "add it, or name another `baseline:`.",
        ),
        (
            ["bare", {"name": "docker", "baseline": "podman"}, {"name": "podman", "baseline": "docker"}],
            "environments: the baselines go in a circle: docker -> podman -> docker; "
            "one environment must be its own baseline.",
        ),
    ],
)
def test_a_study_whose_baselines_lead_nowhere(project, capsys, environments, said):
    project.write(environments=environments)
    assert main(["plan", "small"]) == 1
    said_on = capsys.readouterr()
    assert said_on.out == ""
    assert said_on.err.endswith(f"small.yaml: {said}\n")
