"""Studies that wish a precision: noisy cells go on, quiet ones stop. The measuring itself is made up."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.workflow.conftest import ROOT, Project
from tests.workflow.test_faults import wait_for

pytestmark = pytest.mark.workflow
QUIET, NOISY = "lenet-torch-b32", "lenet-torch-b64"
FIRST, MOST = 4, 7
# all that most tests ask for: figures and report take longer than the rest
TABLE = "results/tiny/overhead.csv"
WISH = {
    "matrix": {"model": ["lenet"], "framework": ["torch"], "batch_size": [32, 64]},
    "repetitions": FIRST,
    "precision_pct": 1.0,
    "max_repetitions": MOST,
}


def made_up(project: Project) -> Project:
    """The project, with measuring that takes no time."""
    script = project.folder / "workflow" / "scripts" / "measure.py"
    script.write_text("from tests.workflow.made_up import measure\n\nmeasure(snakemake)\n", encoding="utf-8")
    path = f"{ROOT / 'src'}:{ROOT}"
    project.variables["PYTHONPATH"] = path
    project.write_study(**WISH)
    return project


@pytest.fixture
def wishing(project: Project) -> Project:
    """A project whose study wishes a precision and has measured nothing yet."""
    return made_up(project)


@pytest.fixture(scope="module")
def _precise_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    from tests.workflow.conftest import _project

    project = made_up(_project(tmp_path_factory.mktemp("precise") / "project"))
    project.snakemake()
    return project


@pytest.fixture
def precise(_precise_once: Project, tmp_path: Path) -> Callable[[], Project]:
    """Makes copies of a project whose study went on until it was precise."""

    def copy() -> Project:
        folder = tmp_path / "copy"
        shutil.copytree(_precise_once.folder, folder, symlinks=True)
        return Project(folder, variables=dict(_precise_once.variables))

    return copy


def repetitions(project: Project) -> dict[str, list[int]]:
    """The repetitions that each cell has records of."""
    found: dict[str, set[int]] = {}
    for name in project.started_at():
        cell, repetition, _ = name.split("/")
        found.setdefault(cell, set()).add(int(repetition))
    return {cell: sorted(numbers) for cell, numbers in found.items()}


def cells(first: int = 5, last: int = MOST) -> dict[str, list[int]]:
    return {QUIET: list(range(1, first + 1)), NOISY: list(range(1, last + 1))}


def test_a_dry_run_tells_the_first_blocks_and_how_far_it_may_go(wishing: Project) -> None:
    done = wishing.snakemake("-n")
    assert "Study tiny: 2 cells, 8 blocks, 16 runs in bare, again." in done.stderr
    assert "To be measured now: 8 blocks, 16 runs, about 10 s." in done.stderr
    assert (
        "Cells whose intervals are wider than ±1 points then go on: at most 6 further blocks, 8 s."
        in done.stderr
    )
    assert not (wishing.folder / "results").exists()


def test_a_noisy_cell_goes_on_to_the_end_and_a_quiet_one_stops(precise: Callable[[], Project]) -> None:
    project = precise()
    assert repetitions(project) == cells()
    overhead = pd.read_csv(project.results / "overhead.csv").set_index(["cell", "environment"])
    assert overhead.loc[(QUIET, "again"), "blocks"] == overhead.loc[(QUIET, "bare"), "blocks"] == 5
    assert overhead.loc[(NOISY, "again"), "blocks"] == overhead.loc[(NOISY, "bare"), "blocks"] == MOST
    row = overhead.loc[(QUIET, "again")]
    assert (row["ci_high_pct"] - row["ci_low_pct"]) / 2 <= 1
    assert pd.isna(row["note"])  # blocks that were not needed are not missing
    assert "±1 points were asked for" in overhead.loc[(NOISY, "again"), "note"]
    assert "measured" not in overhead.loc[(NOISY, "again"), "note"]
    report = (project.results / "report.html").read_text(encoding="utf-8")
    assert f"reached in 1 of 2 cells; not in {NOISY}" in report
    assert "24 of 24 runs measured" in report
    assert len(pd.read_parquet(project.results / "runs.parquet")) == 24


def test_all_repetitions_are_done_before_the_next(precise: Callable[[], Project]) -> None:
    project = precise()
    runs = {
        json.loads((project.results / "runs" / name).read_text())["started_at"]: int(name.split("/")[1])
        for name in project.started_at()
    }
    in_order = [runs[started] for started in sorted(runs)]
    assert in_order == sorted(in_order)


def test_the_plan_is_that_of_a_study_with_so_many_repetitions(precise: Callable[[], Project]) -> None:
    project = precise()
    wished = pd.read_csv(project.results / "plan.csv")
    assert list(wished.groupby("repetition")["status"].first()) == ["measure"] * FIRST + ["if needed"] * (
        MOST - FIRST
    )
    project.study = "other"
    wish = {"precision_pct": None, "max_repetitions": None, "repetitions": MOST}
    project.write_study(**{key: value for key, value in {**WISH, **wish}.items() if value is not None})
    project.snakemake("--", f"results/other/runs/{NOISY}/1/bare.json")
    asked = pd.read_csv(project.results / "plan.csv")
    pd.testing.assert_frame_equal(wished.drop(columns="status"), asked.drop(columns="status"))


def test_a_second_run_does_nothing(precise: Callable[[], Project]) -> None:
    project = precise()
    before = project.started_at()
    for _ in range(2):
        done = project.snakemake()
        assert "Nothing to be done" in done.stderr
        assert "Precise enough (±1 points): 1 of 2 comparisons." in done.stderr
        assert "further" not in done.stderr
    assert project.started_at() == before
    status = project.tare("status", "tiny").stdout
    assert "of 12 blocks 12 done" in status
    assert f"{NOISY}, again: ±1 points were asked for" in status
    assert QUIET not in status
    assert "not measured yet" not in project.tare("summary", "tiny").stdout


@pytest.mark.slow  # half a minute
def test_killed_in_between_it_goes_on_where_it_was(wishing: Project) -> None:
    wishing.variables["TARE_TEST_BLOCK_S"] = "0.5"
    running = wishing.start("--", TABLE)
    wait_for(lambda: wishing.record(6, "again", cell=NOISY).exists(), "the sixth block of the noisy cell")
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=30)
    wishing.variables["TARE_TEST_BLOCK_S"] = "0"
    finished = wishing.started_at()
    last = repetitions(wishing)[NOISY][-1]
    assert last == MOST - 1
    dry = wishing.snakemake("-n")
    assert "To be measured now: 1 block, 2 runs, about 1 s." in dry.stderr
    assert "further" not in dry.stderr
    # that one, and the one that Snakemake itself takes for incomplete if it was killed before it wrote that down
    counts = [line.split()[1] for line in dry.stdout.splitlines() if line.startswith("measure_1 ")]
    assert set(counts) <= {"1", "2"}
    assert counts
    assert wishing.started_at() == finished
    wishing.snakemake("--", TABLE)
    after = wishing.started_at()
    assert {name: after[name] for name in finished} == finished
    assert repetitions(wishing) == cells()
    assert "Nothing to be done" in wishing.snakemake("--", TABLE).stderr


@pytest.mark.slow  # half a minute
def test_only_one_cell_goes_on_and_one_cell_again(wishing: Project) -> None:
    wishing.snakemake("--", TABLE, config=f"only={NOISY}")
    assert repetitions(wishing) == {NOISY: list(range(1, MOST + 1))}
    wishing.snakemake("--", TABLE)
    assert repetitions(wishing) == cells()
    before = wishing.started_at()
    wishing.snakemake("--", TABLE, config=f"only={QUIET} redo=true")
    after = wishing.started_at()
    assert {name.split("/")[0] for name in before if before[name] != after[name]} == {QUIET}
    assert after.keys() == before.keys()
    assert len(list((wishing.results / "superseded").rglob("*.json"))) == 10


def test_a_study_that_wishes_more_goes_on_and_one_that_wishes_less_keeps_its_blocks(
    precise: Callable[[], Project],
) -> None:
    project = precise()
    before = project.started_at()
    project.write_study(**{**WISH, "max_repetitions": 8})
    done = project.snakemake("--", TABLE)
    assert repetitions(project) == cells(last=8)
    assert "Precise enough (±1 points): 1 of 2 comparisons." in done.stderr
    project.write_study(**{**WISH, "precision_pct": 20.0, "max_repetitions": 8})
    done = project.snakemake("--", TABLE)
    assert "To be measured now" not in done.stderr
    assert repetitions(project) == cells(last=8)
    assert {name: started for name, started in project.started_at().items() if name in before} == before
    overhead = pd.read_csv(project.results / "overhead.csv").set_index(["cell", "environment"])
    assert overhead.loc[(NOISY, "again"), "blocks"] == 8
    assert pd.isna(overhead.loc[(NOISY, "again"), "note"])


def test_a_forced_block_is_followed_by_a_look(precise: Callable[[], Project]) -> None:
    project = precise()
    before = project.started_at()
    path = str(project.record(3, "again", cell=QUIET).relative_to(project.folder))
    project.snakemake("--forcerun", path, "--", TABLE)
    after = project.started_at()
    assert {name for name in before if before[name] != after[name]} == {
        f"{QUIET}/3/bare.json", f"{QUIET}/3/again.json"
    }  # fmt: skip
    assert (project.results / "precision" / "12.json").stat().st_mtime > time.time() - 60
    assert "Nothing to be done" in project.snakemake("--", TABLE).stderr
