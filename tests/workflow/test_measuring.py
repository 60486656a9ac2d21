"""What a run makes, and what a second one does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pandas as pd
import pytest

from tare.records import store
from tests.workflow.conftest import Project

pytestmark = pytest.mark.workflow
Measured = Callable[[], Project]


def test_a_dry_run_prints_the_plan_on_stderr_and_writes_nothing(project: Project) -> None:
    done = project.snakemake("-n")
    assert "Study tiny: 1 cell, 2 blocks, 4 runs in bare, again." in done.stderr
    assert "To be measured now: 2 blocks, 4 runs, about 10 s." in done.stderr
    assert "Study tiny" not in done.stdout
    assert not (project.folder / "results").exists()


def test_plain_snakemake_reads_the_settings_that_measuring_needs(project: Project) -> None:
    code = (
        "from snakemake.cli import parse_args; a = parse_args([])[1]; "
        "print(a.scheduler, a.retries, sorted(str(t) for t in a.rerun_triggers), a.rerun_incomplete, a.nolock)"
    )
    done = project.run(project.command()[0], "-c", code)
    assert done.stdout.split("\n")[0] == "greedy 0 ['input', 'mtime'] True True"


def test_everything_is_made(measured: Measured, first_run: subprocess.CompletedProcess[str]) -> None:
    results = measured().results
    for name in (
        "plan.csv", "study.json", "runs.parquet", "overhead.csv", "report.html",
        *(f"tables/overhead.{e}" for e in ("csv", "md", "tex")),
        *(f"figures/{f}.{e}" for f in ("overhead", "throughput") for e in ("pdf", "svg", "png")),
    ):  # fmt: skip
        assert (results / name).stat().st_size > 0, name
    runs = pd.read_parquet(results / "runs.parquet")
    assert list(runs["status"]) == ["ok"] * 4
    assert set(zip(runs["repetition"], runs["environment"], strict=True)) == {
        (1, "bare"), (1, "again"), (2, "bare"), (2, "again")
    }  # fmt: skip
    overhead = pd.read_csv(results / "overhead.csv").set_index("environment")
    assert overhead.loc["again", "blocks"] == 2
    assert (
        overhead.loc["again", "ci_low_pct"]
        <= overhead.loc["again", "estimate_pct"]
        <= overhead.loc["again", "ci_high_pct"]
    )
    assert "block 2 of 2" in first_run.stderr


def test_records_hold_what_was_measured(measured: Measured) -> None:
    record = store.read(measured().record(1, "again"))
    assert [turn.round for turn in record.turns] == [0, 1]
    assert all(len(turn.settle_s) == 1 for turn in record.turns)
    assert len(record.warmup_s) == 2
    assert record.metrics.steps_trained == 2 + 2 * (record.turns[0].steps + 1)
    assert record.variables["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"
    assert record.resources["framework_threads"] == record.threads
    order = ["requested", "process_started", "framework_imported", "data_ready", "model_built", "first_step_done",
             "warm", "finished", "gone"]  # fmt: skip
    assert sorted(record.phases, key=record.phases.__getitem__) == order


def test_both_runs_of_a_block_learn_the_same(measured: Measured) -> None:
    project = measured()
    one, other = (store.read(project.record(2, name)) for name in ("bare", "again"))
    assert one.metrics == other.metrics
    assert one.seed == other.seed != store.read(project.record(1, "bare")).seed


def test_a_second_run_does_nothing(measured: Measured) -> None:
    project = measured()
    before = project.started_at()
    done = project.snakemake()
    assert "Nothing to be done" in done.stderr
    assert project.started_at() == before


def test_any_number_of_cores_gives_the_same_threads(measured: Measured) -> None:
    # measured with --cores 8, whatever this machine has
    import os

    assert store.read(measured().record(1, "bare")).threads == len(os.sched_getaffinity(0))


def test_a_deleted_record_is_measured_again_with_its_block(measured: Measured) -> None:
    project = measured()
    before = project.started_at()
    project.record(2, "again").unlink()
    project.snakemake("--until", "measure_1")
    after = project.started_at()
    assert after.keys() == before.keys()
    assert {name for name in before if before[name] != after[name]} == {
        "lenet-torch/2/bare.json", "lenet-torch/2/again.json"
    }  # fmt: skip
    assert len(list((project.results / "superseded").glob("lenet-torch/2/bare.*.json"))) == 1


def test_an_edited_script_measures_nothing_again(measured: Measured) -> None:
    project = measured()
    before = project.started_at()
    script = project.folder / "workflow" / "scripts" / "measure.py"
    script.write_text(script.read_text() + "\n# edited\n")
    rules = project.folder / "workflow" / "rules" / "measure.smk"
    rules.write_text(rules.read_text() + "\n# edited\n")
    project.snakemake()
    assert project.started_at() == before


def test_a_corrected_statistic_makes_its_tables_anew(measured: Measured) -> None:
    project = measured()
    (project.folder / "src").unlink()
    import shutil

    from tests.workflow.conftest import ROOT

    shutil.copytree(ROOT / "src", project.folder / "src")
    assert "Nothing to be done" in project.snakemake("-n").stdout
    module = project.folder / "src" / "tare" / "stats" / "overhead.py"
    module.write_text(module.read_text() + "# corrected\n")
    done = project.snakemake("-n")
    made = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    assert {"overhead", "tables", "figure_overhead", "report"} <= made
    assert "measure_1" not in made


def test_forcing_one_record_measures_its_block_only(measured: Measured) -> None:
    project = measured()
    before = project.started_at()
    project.snakemake(
        "--forcerun", str(project.record(1, "again").relative_to(project.folder)), "--until", "measure_1"
    )
    after = project.started_at()
    assert {name.split("/")[1] for name in before if before[name] != after[name]} == {"1"}
    assert len(list((project.results / "superseded").glob("lenet-torch/1/*.json"))) == 2


def test_redo_of_one_cell(measured: Measured) -> None:
    project = measured()
    project.write_study(
        matrix={"model": ["lenet"], "framework": ["torch"], "batch_size": [32, 64]}, repetitions=1
    )
    project.snakemake("--", "results/tiny/runs/lenet-torch-b32/1/bare.json")
    before = project.started_at()
    done = project.snakemake(config="only=*-b32 redo=true")
    after = project.started_at()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"lenet-torch-b32/1/bare.json", "lenet-torch-b32/1/again.json"}
    # the tables hold all cells, the one that was never measured too
    overhead = pd.read_csv(project.results / "overhead.csv")
    assert set(overhead["cell"]) == {"lenet-torch-b32", "lenet-torch-b64"}
    missing = overhead[(overhead["cell"] == "lenet-torch-b64") & (overhead["environment"] == "again")]
    assert list(missing["verdict"]) == ["missing"]
    assert "block 1 of 1" in done.stderr


def test_a_study_that_asks_for_something_else_is_measured_again(measured: Measured) -> None:
    project = measured()
    before = project.started_at()
    project.write_study(quiet={"huge_pages": False})
    dry = project.snakemake("-n")
    assert "Measured again because the study asks for something else of them now: 2 blocks" in dry.stderr
    assert project.started_at() == before
    project.snakemake("--until", "measure_1")
    after = project.started_at()
    assert all(before[name] != after[name] for name in before)
    assert "GLIBC_TUNABLES" not in json.loads(project.record(1, "bare").read_text())["variables"]


def test_an_environment_that_is_added_gets_new_repetitions(measured: Measured) -> None:
    project = measured()
    before = project.started_at()
    project.write_study(
        environments=["bare", {"name": "again", "engine": "bare"}, {"name": "third", "engine": "bare"}]
    )
    project.snakemake()
    after = project.started_at()
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {
        f"lenet-torch/{r}/{e}.json" for r in (3, 4) for e in ("bare", "third")
    }
    overhead = pd.read_csv(project.results / "overhead.csv").set_index("environment")
    assert overhead.loc["again", "blocks"] == overhead.loc["third", "blocks"] == 2


def test_the_papers_protocol(project: Project) -> None:
    project.write_study(schedule="sequential", repetitions=1)
    project.snakemake("--until", "measure_1")
    one, other = (store.read(project.record(1, name)) for name in ("bare", "again"))
    assert {one.schedule, other.schedule} == {"sequential"}
    assert {turn.steps for turn in one.turns} == {turn.steps for turn in other.turns}
    assert one.turns[0].timed_s > 0.5
    first, second = sorted((one, other), key=lambda record: record.slot)
    assert first.phases["gone"] < second.phases["requested"]


def test_an_environment_that_is_not_there_stops_the_run_before_it_measures(project: Project) -> None:
    project.variables["DOCKER_HOST"] = f"unix://{project.folder}/no.sock"
    project.write_study(environments=["bare", "docker"])
    done = project.snakemake(expect=1)
    assert (
        "Tare: The environment 'docker' can't be used: no docker daemon answers. Install docker"
        in done.stderr
    )
    assert not project.results.exists()


def test_an_optional_one_has_its_row_with_the_reason(project: Project) -> None:
    project.variables["DOCKER_HOST"] = f"unix://{project.folder}/no.sock"
    again = {"name": "again", "engine": "bare"}
    project.write_study(environments=["bare", again, {"name": "docker", "optional": True}], repetitions=1)
    project.snakemake()
    overhead = pd.read_csv(project.results / "overhead.csv").set_index("environment")
    assert overhead.loc["docker", "verdict"] == "not measured"
    assert "no docker daemon answers" in overhead.loc["docker", "note"]
    assert "no docker daemon answers" in (project.results / "report.html").read_text()
    plan = pd.read_csv(project.results / "plan.csv")
    assert list(plan[plan["environment"] == "docker"]["status"]) == ["unusable"]


@pytest.mark.parametrize("flag", [("--use-singularity",), ("--sdm", "apptainer")])
def test_apptainer_needs_its_flag_and_the_flag_needs_no_apptainer(
    project: Project, flag: tuple[str, ...]
) -> None:
    again = {"name": "again", "engine": "bare"}
    project.write_study(environments=["bare", again, {"name": "apptainer", "optional": True}])
    project.variables["PATH"] = f"{project.environment()['PATH'].split(':')[0]}:/usr/bin:/bin"
    without = project.snakemake("-n")
    assert "Not measured: apptainer" in without.stderr
    with_flag = project.snakemake("-n", *flag)
    assert "called without --use-singularity" not in with_flag.stderr


def test_gpu_that_is_not_here_is_a_row(project: Project) -> None:
    project.write_study(
        matrix={"model": ["lenet"], "framework": ["torch"], "gpu": ["none", "Voodoo 2"]}, repetitions=1
    )
    done = project.snakemake("-n")
    assert "no Voodoo 2 here" in done.stderr
