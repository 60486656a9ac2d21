"""What can go wrong in the middle: nothing measured is lost, nothing is left running, the next run goes on."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.workflow.conftest import Project

pytestmark = pytest.mark.workflow
Measured = Callable[[], Project]


def workers(project: Project) -> list[int]:
    """Workers of this project: they carry its folder in their variables or arguments."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if "tare.worker" in command and str(project.results) in _environ_and_log(process):
            found.append(process.pid)
    return found


def _environ_and_log(process: psutil.Process) -> str:
    try:
        return os.readlink(f"/proc/{process.pid}/fd/2")
    except OSError:
        return ""


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = 90) -> None:
    """Wait until something is the case."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.1)


def in_a_turn(project: Project) -> bool:
    """Whether both workers of a block have taken steps: their logs are open and CPU time has gone beyond the import."""
    pids = workers(project)
    try:
        return len(pids) == 2 and all(psutil.Process(pid).num_threads() > 2 for pid in pids)
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def long(project: Project) -> Project:
    """A project whose first block takes a minute, unless it is stopped."""
    project.write_study(rounds={"min": 2000, "max": 4000}, time_budget_s=600)
    return project


def shorten(project: Project) -> None:
    """The same study, short: rounds are no part of what is asked of a run."""
    project.write_study()


def test_ctrl_c_keeps_what_was_measured_and_leaves_nothing(long: Project) -> None:
    running = long.start()
    wait_for(lambda: in_a_turn(long), "a turn")
    time.sleep(2)
    os.killpg(running.pid, signal.SIGINT)
    output, _ = running.communicate(timeout=60)
    assert running.returncode != 0
    assert "The block was interrupted by SIGINT. What was measured is on disk" in output
    assert "Traceback" not in output
    assert workers(long) == []
    kept = list((long.results / "interrupted").rglob("*.json"))
    assert len(kept) == 2
    assert {json.loads(path.read_text())["status"] for path in kept} == {"interrupted"}
    shorten(long)
    dry = long.snakemake("-n")
    assert "Interrupted, to be measured again whole: 1 block." in dry.stderr
    long.snakemake("--until", "measure_1")
    assert len(long.started_at()) == 4


def test_kill_9_of_the_whole_group_in_the_middle_of_a_block(long: Project) -> None:
    shorten(long)
    running = long.start()
    wait_for(lambda: len(long.started_at()) == 2 and in_a_turn(long), "a turn of the second block")
    finished = long.started_at()
    os.killpg(running.pid, signal.SIGKILL)
    running.wait(timeout=30)
    # workers are in sessions of their own and end since their channel closes
    wait_for(lambda: not workers(long), "the workers' end", timeout_s=5)
    if len(long.started_at()) == 2:
        done = long.snakemake("--until", "measure_1")
        assert "measured already" not in done.stderr
    after = long.started_at()
    assert {name: after[name] for name in finished} == finished
    assert len(after) == 4


def test_a_worker_that_is_killed_has_a_record_that_says_so(long: Project) -> None:
    long.write_study(rounds={"min": 120, "max": 120}, time_budget_s=30, repetitions=1)
    running = long.start()
    wait_for(lambda: in_a_turn(long), "a turn")
    time.sleep(1)
    os.kill(workers(long)[0], signal.SIGKILL)
    output, _ = running.communicate(timeout=120)
    assert running.returncode == 0, output
    records = [json.loads(path.read_text()) for path in (long.results / "runs").rglob("*.json")]
    failed = [record for record in records if record["status"] == "failed"]
    assert len(failed) == 1
    assert "it was killed" in failed[0]["failure"]["reason"]
    assert [record["status"] for record in records if record not in failed] == ["ok"]
    # a failed run is a result: it is told, and not tried again unless asked
    status = long.tare("status", "tiny", expect=1)
    assert "Failed: lenet-torch, repetition 1" in status.stdout
    assert long.tare("summary", "tiny", expect=1).returncode == 1
    assert "Nothing to be done" in long.snakemake().stderr
    long.write_study(repetitions=1)
    long.snakemake("--until", "measure_1", config="retry_failed=true")
    assert long.tare("status", "tiny").returncode == 0


@pytest.mark.slow  # must allow for a slow start of the workers before it may call one hung
def test_a_worker_that_hangs_is_a_timeout(long: Project) -> None:
    long.write_study(rounds={"min": 300, "max": 300}, time_budget_s=30, repetitions=1, timeout_s=60)
    running = long.start()
    wait_for(lambda: in_a_turn(long), "a turn")
    time.sleep(1)
    os.kill(workers(long)[0], signal.SIGSTOP)
    output, _ = running.communicate(timeout=300)
    assert running.returncode == 0, output
    records = [json.loads(path.read_text()) for path in (long.results / "runs").rglob("*.json")]
    assert sorted(record["status"] for record in records) == ["ok", "timeout"]
    assert workers(long) == []


def test_a_crash_between_the_last_record_and_snakemakes_bookkeeping(measured: Measured) -> None:
    """Snakemake takes the block for incomplete then; Tare knows better."""
    project = measured()
    before = project.started_at()
    marked = 0
    for marker in (project.folder / ".snakemake" / "metadata").iterdir():
        content = json.loads(marker.read_text())
        if str(content.get("rule", "")).startswith("measure"):
            marker.write_text(json.dumps({**content, "incomplete": True}))
            marked += 1
    incomplete = project.folder / ".snakemake" / "incomplete"
    incomplete.mkdir(exist_ok=True)
    import base64

    for path in (project.results / "runs").rglob("*.json"):
        name = base64.urlsafe_b64encode(str(path.relative_to(project.folder)).encode()).decode()
        (incomplete / name).touch()
    assert marked
    done = project.snakemake()
    assert "measured already" in done.stderr
    assert project.started_at() == before


def test_a_record_that_is_damaged_is_measured_again(measured: Measured) -> None:
    project = measured()
    before = project.started_at()
    project.record(1, "bare").write_text('{"status": "ok", "spec_ha')
    assert "With damaged records, to be measured again: 1 block." in project.snakemake("-n").stderr
    project.snakemake("--until", "measure_1")
    after = project.started_at()
    assert {name.split("/")[1] for name in after if before.get(name) != after[name]} == {"1"}


def test_a_failed_redo_leaves_the_old_records(measured: Measured) -> None:
    project = measured()
    before = project.started_at()
    (project.results / "data" / "digits.npz").write_bytes(b"no data")
    os.utime(project.results / "data" / "digits.npz", (1, 1))
    project.snakemake(config="redo=true only=lenet-torch", expect=None)
    kept = {
        path.name.split(".")[0] + str(json.loads(path.read_text())["started_at"])
        for folder in ("runs", "superseded")
        for path in (project.results / folder).rglob("*.json")
    }
    assert all(any(started in name for name in kept) for started in before.values())


def test_a_second_run_beside_the_first_waits_or_stops(measured: Measured) -> None:
    project = measured()
    lock = project.results / ".lock"
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        stopped = project.snakemake(config="lock=stop", expect=1)
        assert "The study 'tiny' is in use by" in stopped.stderr
        waiting = project.start()
        assert waiting.stdout is not None
        for line in waiting.stdout:
            if "Waiting for it to end" in line:
                break
        assert waiting.poll() is None
    output, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == 0
    assert "Nothing to be done" in output


def test_one_block_at_a_time_on_a_host(measured: Measured) -> None:
    project = measured()
    lock = project.folder / "host.lock"
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        stopped = project.snakemake(config="lock=stop redo=true", expect=1)
        assert "This machine is in use by" in stopped.stderr


def test_results_that_cannot_be_written_are_one_sentence(project: Project) -> None:
    (project.folder / "results").write_text("in the way")
    done = project.snakemake(expect=1)
    said = [line for line in done.stderr.splitlines() if line.startswith("Tare:")]
    assert len(said) == 1
    assert "results can't be written" in said[0]
    assert "Traceback" not in done.stderr


def test_wrong_configuration_is_one_sentence(project: Project) -> None:
    path = project.folder / "config" / "studies" / "tiny.yaml"
    path.write_text(path.read_text().replace("repetitions", "repetition"))
    done = project.snakemake(expect=1)
    assert "unknown key 'repetition'; did you mean 'repetitions'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_status_before_and_in_the_middle(project: Project) -> None:
    assert "was not begun yet" in project.tare("status", "tiny").stdout
    project.snakemake("--", "results/tiny/runs/lenet-torch/1/bare.json")
    status = project.tare("status", "tiny").stdout
    assert "of 2 blocks 1 done, 1 missing" in status
    assert Path(project.results / "plan.csv").exists()


def test_summary_without_results_says_how_to_make_them(project: Project) -> None:
    done = project.tare("summary", "tiny", expect=1)
    assert "is not there yet; `make run`" in done.stderr
