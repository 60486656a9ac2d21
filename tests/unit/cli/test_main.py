"""The command `tare`."""

from __future__ import annotations

import importlib
import os

import pytest

import tare
from tare.cli import main
from tare.stats.overhead import overhead
from tare.telemetry import quietness
from tests.unit.factory import study as measured_study
from tests.unit.studies import matrix

NO_DOCKER = ("docker does not answer", "Start it: sudo systemctl start docker.")


@pytest.fixture
def run(project, capsys):
    def command(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        said = capsys.readouterr()
        return status, said.out, said.err

    return command


def test_the_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"tare {tare.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["measure"], ["plan", "a", "b"], ["status", "--result"]])
def test_wrong_usage_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: tare" in capsys.readouterr().err


def test_the_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(command in text for command in ("doctor", "plan", "status", "summary"))


def test_plan_says_what_would_be_measured_and_changes_nothing(run, project):
    status, out, err = run("plan", "small")
    assert (status, err) == (0, "")
    assert out.startswith(
        "Study small: 1 cell, 6 blocks, 12 runs in bare, docker.\nTo be measured now: 6 blocks"
    )
    assert not project.study_dir.exists()


def test_what_is_wrong_is_one_sentence_and_status_1(run, project):
    assert run("plan", "smal") == (
        1,
        "",
        f"tare: --config study=smal: there is no such study in {project.root}/config/studies; did you mean 'small'?\n",
    )
    project.machine.down["docker"] = NO_DOCKER
    status, out, err = run("status", "small")
    assert (status, out) == (1, "")
    assert err.startswith("tare: The environment 'docker' can't be used: docker does not answer. Start it")
    project.write(matrix=matrix(model="lennet"))
    assert run("plan", "small")[2].endswith(
        "matrix.model: there is no network 'lennet'; did you mean 'lenet'?\n"
    )


def test_status_of_a_study_that_was_not_begun(run):
    status, out, _ = run("status", "small")
    assert status == 0
    assert out.startswith("Study small was not begun yet.\nStudy small: 1 cell, 6 blocks")


def test_status_while_it_is_measured(run, project):
    project.write(time_budget_s=600)
    campaign = project.begin()
    project.measure(campaign.to_measure[:2])
    assert run("status", "small") == (
        0,
        "Study small: of 6 blocks 2 done, 4 missing; about 7 min left.\n",
        "",
    )
    project.measure(campaign.to_measure[2:])
    assert run("status", "small") == (0, "Study small: of 6 blocks 6 done.\n", "")


def test_status_tells_of_failed_runs_and_ends_with_1(run, project):
    campaign = project.begin()
    project.measure(campaign.to_measure)
    project.measure(
        campaign.to_measure[:1], status="failed", reason="the worker was killed.", stage="warm-up"
    )
    status, out, _ = run("status", "small")
    first, second = campaign.to_measure[0].block.environments
    assert status == 1
    assert out.splitlines() == [
        "Study small: of 6 blocks 5 done, 1 failed.",
        f"Failed: lenet-torch, repetition 1, {first} (warm-up): the worker was killed.",
        f"Failed: lenet-torch, repetition 1, {second} (warm-up): the worker was killed.",
        "`--config retry_failed=true` measures their blocks again.",
    ]


def test_status_is_not_stopped_by_a_damaged_record(run, project):
    campaign = project.begin()
    project.measure(campaign.to_measure)
    project.measure(campaign.to_measure[:1], status="failed")
    campaign.to_measure[1].paths[0].write_text("{")
    status, out, _ = run("status", "small")
    assert status == 1
    assert out.startswith("Study small: of 6 blocks 4 done, 1 failed, 1 unreadable; about ")


def test_status_tells_what_is_waited_for_and_what_is_not_measured(run, project):
    optional = [{"name": name, "optional": True} for name in ("docker", "podman")]
    project.write(environments=["bare", *optional])
    project.machine.down["podman"] = ("no podman", "Install it.")
    project.measure(project.begin().to_measure[:1])
    project.machine.down["docker"] = NO_DOCKER
    status, out, _ = run("status", "small")
    assert status == 0
    assert out.splitlines() == [
        "Study small: of 6 blocks 1 done, 5 missing.",
        "Not measured: podman: no podman. Install it; then --config add=podman adds it.",
        "5 blocks wait for docker: docker does not answer. Start it: sudo systemctl start docker.",
    ]


def test_summary_before_there_is_anything(run, project):
    status, out, err = run("summary", "small")
    assert (status, out) == (1, "")
    assert err == (
        "tare: results/small/overhead.csv is not there yet; `make run` or `snakemake --cores all` makes it.\n"
    )


@pytest.mark.parametrize("failed", [False, True])
def test_summary_prints_the_overheads_and_where_the_report_is(run, project, failed):
    campaign = project.begin()
    project.measure(campaign.to_measure)
    if failed:
        project.measure(campaign.to_measure[:1], status="failed")
    records, plan = measured_study()
    frame = overhead(records, plan, metric="throughput_images_per_sec", margin_pct=2.0)
    frame.to_csv(project.study_dir / "overhead.csv", index=False)
    status, out, err = run("summary", "small")
    assert (status, err) == (int(failed), "")
    assert "lenet-torch" in out
    assert "docker" in out
    assert out.splitlines()[-1] == "Report: results/small/report.html"
    assert ("Failed: lenet-torch, repetition 1" in out) == failed


def test_summary_names_the_study_and_tells_what_is_newer_than_the_table(run, project):
    campaign = project.begin()
    project.measure(campaign.to_measure)
    records, plan = measured_study()
    frame = overhead(records, plan, metric="throughput_images_per_sec", margin_pct=2.0)
    path = project.study_dir / "overhead.csv"
    frame.to_csv(path, index=False)
    assert run("summary", "small")[1].splitlines()[:2] == [
        "Study small",
        "Overhead against bare in throughput, %: positive = slower; 95 % t interval over n blocks.",
    ]
    made_s = path.stat().st_mtime
    for place, seconds in ((0, -9), (1, 9), (2, 9)):
        record = campaign.to_measure[place].paths[0]
        os.utime(record, (made_s + seconds, made_s + seconds))
    said = "2 records were written after this table was made; `snakemake --cores all` makes it anew."
    assert run("summary", "small")[1].splitlines()[1] == said
    frame[frame["environment"] == "bare"].to_csv(path, index=False)
    os.utime(path, (made_s + 99, made_s + 99))
    assert run("summary", "small")[1].splitlines()[1] == (
        "This table has other rows than the study has cells and environments now; "
        "`snakemake --cores all` makes it anew."
    )


def test_the_last_study_and_another_contradict_each_other(project, capsys):
    for more in (["small"], ["--results", "elsewhere"]):
        with pytest.raises(SystemExit) as ended:
            main(["summary", "--last", *more])
        assert ended.value.code == 2
        assert "--last says which study and results" in capsys.readouterr().err


def test_results_elsewhere(run, project):
    project.begin(results=str(project.root / "elsewhere"))
    assert "was not begun yet" in run("status", "small")[1]
    assert "of 6 blocks 0 done, 6 missing" in run("status", "small", "--results", "elsewhere")[1]


def test_doctor(run, project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    project.machine.down = {
        "docker": ("it said [permission denied].", "Ask [root]."),
        "podman": ("no podman", ""),
    }
    project.machine.gpus = ["Tesla V100-SXM2-16GB"]
    monkeypatch.setattr(quietness, "look", lambda: [quietness.Finding("it swaps", "Buy memory.")])
    status, out, _ = run("doctor")
    words = " ".join(out.split())
    assert status == 0
    assert "GPUs: Tesla V100-SXM2-16GB" in words
    assert "it said [permission denied]. Ask [root]." in words
    assert "no podman." in words
    assert "measured when Snakemake is called with --use-singularity" in words
    assert all(name in words for name in ("bare", "bubblewrap", "apptainer", "torch", "tensorflow"))
    assert "How quiet is this machine" in words
    assert "it swaps." in words
    assert "Buy memory." in words


def test_doctor_where_nothing_can_be_compared(run, project, monkeypatch):
    project.machine.down = dict.fromkeys(("bubblewrap", "docker", "podman", "apptainer"), ("no", "Get it."))
    monkeypatch.setattr(quietness, "look", lambda: [])
    status, out, _ = run("doctor")
    assert status == 1
    assert "Nothing was seen within 1 s." in " ".join(out.split())
    assert "the quick study measures bare against itself" in " ".join(out.split())


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 0, ""),
        (
            PermissionError(13, "Permission denied", "plan.csv"),
            1,
            "tare: plan.csv can't be read: Permission denied.\n",
        ),
    ],
)
def test_how_a_command_ends(run, monkeypatch, error, status, said):
    def broken(arguments):
        raise error

    # the module, which the function of the same name hides
    monkeypatch.setattr(importlib.import_module("tare.cli.main").study, "plan", broken)
    assert run("plan", "small") == (status, "", said)
