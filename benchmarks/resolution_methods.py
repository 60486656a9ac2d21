"""How each method of `resolution.py` measures one comparison within a given time. Nothing here judges.

Each function takes a `Job` and returns what was measured, as plain JSON values: lists of throughputs (items per
second), one a run, or pairs of runs with Tare's log ratio of their step times.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from blocks import KNOWN, each, engines_of, make_study, own_block, task_of

import tare
from tare.measure import locks
from tare.measure.block import measure_block
from tare.measure.run import Run, Task
from tare.measure.variables import worker_variables
from tare.records.schema import Record
from tare.stats.pairs import Pair, log_time_ratio, step_s_by_round
from tare.worker import evidence, launch

HERE = Path(__file__).resolve().parent
SOURCE = Path(tare.__file__).resolve().parents[1]
# What a run of (a), (b) and (d) takes with its start, and a block of two processes of (e) and (f).
RUN_S, BLOCK_S = 7.5, 10.0
MOST_RUNS = 20
# Between two turns the worker waits for a word; a long turn makes little of it, a short one leaves no time over.
LONG_TURN_STEPS = 20
ENDLESS = {"min": 1, "max": 100_000}


@dataclass(frozen=True)
class Job:
    """One repetition of one method on one comparison.

    Attributes:
        platform: the environment that is compared with bare.
        budget_s: what it may take, starts of processes included.
        data: the data set's file.
        folder: for what the method leaves besides its result.
        tools: folder of virtual environments.
    """

    method: str
    platform: str
    repetition: int
    budget_s: float
    model: str
    data: Path
    folder: Path
    tools: Path

    @property
    def injected_pct(self) -> float:
        """How much longer the platform's steps take, percent."""
        return float(KNOWN[self.platform].get("injected", 0.0))


class Failed(RuntimeError):
    """The method could not measure; the message is one sentence."""


# ---- by Tare's own layer -------------------------------------------------------------------------------------------


def papers_protocol(job: Job) -> dict[str, Any]:
    """(a) All runs of bare, then all of the platform, plain settings."""
    number = max(2, min(MOST_RUNS, int(job.budget_s / (2 * RUN_S))))
    begun, records = time.monotonic(), []
    for place in range(2 * number):
        environment = "bare" if place < number else job.platform
        study = _study(job, ["bare", job.platform], "sequential", quiet=False, steps_per_turn=LONG_TURN_STEPS)
        share_s = _share_s(job, begun, place, 2 * number)
        task = task_of(study, job.folder, place + 1, share_s, job.data)
        alone = Task(**{**vars(task), "environments": (study.environment(environment),)})
        records += measure_block(alone, engines_of(alone))
    return {
        "baseline": [_throughput(record) for record in _good(records, "bare")],
        "platform": [_throughput(record) for record in _good(records, job.platform)],
        "failed": _failures(records),
    }


def interleaved(job: Job, *, quiet: bool = False) -> dict[str, Any]:
    """(d) Randomised multiple interleaved trials: one run of each, in random order, over and over."""
    study = _study(job, ["bare", job.platform], "sequential", quiet=quiet, steps_per_turn=LONG_TURN_STEPS)
    return _pairs(job, study, 2 * RUN_S, lambda task: measure_block(task, engines_of(task)))


def lockstep(job: Job, *, quiet: bool = True) -> dict[str, Any]:
    """(f) Tare's own way."""
    study = _study(job, ["bare", job.platform], "lockstep", quiet=quiet)
    return _pairs(job, study, BLOCK_S, lambda task: measure_block(task, engines_of(task)))


def duet(job: Job) -> dict[str, Any]:
    """(e) Both at the same time on a CPU of its own each; what was measured at the same time makes a pair."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        raise Failed("duet benchmarking needs 2 CPUs and this process may use 1; leave method e out.")
    study = _study(job, ["bare", job.platform], "lockstep", quiet=False, threads=1)
    return _pairs(job, study, BLOCK_S, lambda task: own_block(task, lambda runs: _together(task, runs, cpus)))


def _together(task: Task, runs: Sequence[Run], cpus: Sequence[int]) -> None:
    """The slot decides on the CPU, so that each environment has each CPU equally often."""
    deadline, outside = time.monotonic() + task.seconds - 1.0, evidence.collect(launch.inherited_variables())
    allowed = os.sched_getaffinity(0)
    for run, cpu in zip(runs, cpus, strict=True):
        os.sched_setaffinity(0, {cpu})  # of this thread; the worker inherits it
        try:
            each([run], Run.start)
        finally:
            os.sched_setaffinity(0, allowed)
    with ThreadPoolExecutor(len(runs)) as pool:

        def at_once(stage: Callable[[Run], None]) -> None:
            list(pool.map(lambda run: each([run], stage), runs))

        at_once(lambda run: run.become_ready(outside))
        at_once(Run.warm_up)
        number, longest_s = 0, 0.0
        while all(run.alive for run in runs):
            begun = time.monotonic()
            if number and begun + longest_s > deadline:
                break
            at_once(lambda run, number=number: _turn(run, number))  # type: ignore[misc]
            longest_s, number = max(longest_s, time.monotonic() - begun), number + 1
        at_once(Run.finish)


def _turn(run: Run, number: int) -> None:
    run.turns.append(run.turn(round_index=number, position=0, steps=LONG_TURN_STEPS, settle=1))


def mean_log_ratio(pair: Pair) -> float | None:
    """Mean of the log ratios of what was measured at the same time: the geometric mean of ratios of the duet."""
    baseline, platform = (
        {turn.round: turn.timed_s for turn in record.turns} for record in (pair.baseline, pair.platform)
    )
    shared = baseline.keys() & platform.keys()
    return fmean(math.log(platform[n] / baseline[n]) for n in shared) if shared else None


def _study(job: Job, environments: Sequence[str], schedule: str, **keys: Any) -> Any:
    # another seed in each repetition: other orders, weights and batches
    seed = job.repetition + (1000 if job.platform == "bare-again" else 0)
    name = f"{job.method}-{job.platform}"
    return make_study(
        name, environments, model=job.model, schedule=schedule, rounds=ENDLESS, seed=seed, **keys
    )


def _share_s(job: Job, begun: float, done: int, number: int) -> float:
    """Seconds for the next one of so many, of what is left."""
    return max(1.0, (job.budget_s - (time.monotonic() - begun)) / (number - done))


def _pairs(job: Job, study: Any, block_s: float, measure: Callable[[Task], list[Record]]) -> dict[str, Any]:
    number = max(2, int(job.budget_s / block_s))
    begun, pairs, failed = time.monotonic(), [], []
    for done in range(number):
        task = task_of(study, job.folder, done + 1, _share_s(job, begun, done, number), job.data)
        runs = {record.environment: record for record in measure(task)}
        failed += _failures(list(runs.values()))
        pair = Pair(runs["bare"], runs[job.platform])
        if any(run.status != "ok" for run in runs.values()):
            continue
        ratio = mean_log_ratio(pair) if job.method == "e" else log_time_ratio(pair)
        pairs.append(
            {
                "block": done + 1,
                "log_ratio": ratio,
                "baseline": _throughput(pair.baseline),
                "platform": _throughput(pair.platform),
                "baseline_step_s": list(step_s_by_round(pair.baseline).values()),
                "platform_step_s": list(step_s_by_round(pair.platform).values()),
                "noisy": [r.noise_verdict for r in runs.values() if r.noise_verdict.startswith("noisy")],
            }
        )
    return {"pairs": pairs, "failed": failed}


def _good(records: Sequence[Record], environment: str) -> list[Record]:
    return [r for r in records if r.environment == environment and r.status == "ok"]


def _throughput(record: Record) -> float:
    value = record.throughput_images_per_sec
    assert value is not None  # a run that ended well has turns
    return value


def _failures(records: Sequence[Record]) -> list[str]:
    return [f"{r.environment}: {r.failure.reason}" for r in records if r.failure is not None]


# ---- by other tools ------------------------------------------------------------------------------------------------


def _variables(folder: Path) -> dict[str, str]:
    """The variables of a worker under plain settings, so that all methods train the same."""
    return worker_variables(
        token=f"{locks.campaign()}-{secrets.token_hex(4)}", threads=_threads(), switches=[], run_dir=folder,
        source=SOURCE, device="cpu",
    )  # fmt: skip


def _threads() -> int:
    return len(os.sched_getaffinity(0))


def _called(command: Sequence[str], variables: dict[str, str], what: str) -> str:
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failed(f"{what} can't be started: {error.strerror}; see benchmarks/resolution.py.") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(f"{what} says: {said[-1] if said else f'exit status {done.returncode}'}.")
    return done.stdout


def hyperfine(job: Job) -> dict[str, Any]:
    """(b) Two commands, each a whole short training of the same number of steps, and the start-up by itself."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tare-bench-") as folder:
        variables = _variables(Path(folder))

        def command(steps: int, injected_pct: float = 0.0) -> list[str]:
            return [
                sys.executable, str(HERE / "plain_training.py"), str(job.data), "--model", job.model,
                "--steps", str(steps), "--threads", str(_threads()), "--injected", str(injected_pct),
            ]  # fmt: skip

        def timed(runs: int, *commands: list[str]) -> list[list[float]]:
            out = Path(folder) / "hyperfine.json"
            options = ["--shell=none", "--style=none", "--runs", str(runs), "--export-json", str(out)]
            _called(["hyperfine", *options, *map(shlex.join, commands)], variables, "hyperfine")
            return parse_hyperfine(json.loads(out.read_text()))

        # How many steps a command of the wanted length has; this run also fills the disk's caches for all others.
        pilot_steps, pilot_begun = 100, time.monotonic()
        step_s = float(_called(command(pilot_steps), variables, "plain_training.py"))
        start_s = max(0.0, time.monotonic() - pilot_begun - pilot_steps * step_s)
        steps = max(50, int((RUN_S - start_s) / step_s))
        (starts,) = timed(max(2, int(job.budget_s / 60)), command(0))
        left_s = job.budget_s - (time.monotonic() - begun)
        runs = max(2, round(left_s / (2 * (fmean(starts) + steps * step_s))))
        baseline, platform = timed(runs, command(steps), command(steps, job.injected_pct))
    return {
        "steps": steps,
        "items_per_step": 64,
        "start_s": starts,
        "baseline_s": baseline,
        "platform_s": platform,
        "injected_pct": job.injected_pct,
        "failed": [],
    }


def parse_hyperfine(content: dict[str, Any]) -> list[list[float]]:
    """The times of each command's runs, in seconds, of what `--export-json` writes.

    Raises:
        Failed: a command has no times, or a run of it failed.
    """
    found = []
    for result in content["results"]:
        if any(result.get("exit_codes") or []):
            raise Failed(f"a run of {result['command']} failed, by hyperfine.")
        if not result.get("times"):
            raise Failed(f"hyperfine gives no times of {result['command']}.")
        found.append([float(value) for value in result["times"]])
    return found


def pyperf(job: Job) -> dict[str, Any]:
    """(c) The steps timed inside pyperf's worker processes; pyperf's own numbers of values and warm-ups a process."""
    begun = time.monotonic()
    python = pyperf_python(job.tools)
    with tempfile.TemporaryDirectory(prefix="tare-bench-") as folder:
        variables = _variables(Path(folder)) | {
            "PYTHONPATH": os.pathsep.join([str(SOURCE), str(HERE)]),
            "BENCH_DATA": str(job.data.resolve()),
            "BENCH_MODEL": job.model,
            "BENCH_THREADS": str(_threads()),
        }

        def bench(name: str, injected_pct: float, *options: str) -> Path:
            out = Path(folder) / f"{name}.json"
            program = [str(python), str(HERE / "pyperf_training.py"), "--copy-env", "--quiet", "-o", str(out)]
            own = variables | {"BENCH_INJECTED": str(injected_pct)}
            _called([*program, *options], own, "pyperf")
            return out

        # pyperf calibrates how many steps make a value; with that one process more what a process takes is known
        pilot_begun = time.monotonic()
        pilot = bench("pilot", 0.0, "--processes", "1")
        process_s = (time.monotonic() - pilot_begun) / 2
        left_s = job.budget_s - (time.monotonic() - begun)
        processes = max(2, round(left_s / (2 * process_s)) - 1)
        files = [
            bench(name, injected_pct, "--processes", str(processes))
            for name, injected_pct in (("bare", 0.0), (job.platform, job.injected_pct))
        ]
        said = _called([str(python), "-m", "pyperf", "compare_to", *map(str, files)], variables, "pyperf")
        baseline, platform = (parse_pyperf(json.loads(file.read_text())) for file in files)
        pilot.unlink()
    return {
        "items_per_step": 64,
        "baseline_s": baseline,
        "platform_s": platform,
        "compare_to": said.strip(),
        "failed": [],
    }


def parse_pyperf(content: dict[str, Any]) -> list[list[float]]:
    """Seconds a step, value by value of each process, of pyperf's JSON; calibration runs have no values.

    Raises:
        Failed: there is not just one benchmark, or it has no values.
    """
    if len(content["benchmarks"]) != 1:
        raise Failed(f"pyperf's file has {len(content['benchmarks'])} benchmarks, not 1.")
    runs = [run["values"] for run in content["benchmarks"][0]["runs"] if run.get("values")]
    if not runs:
        raise Failed("pyperf's file has no values.")
    return [[float(value) for value in values] for values in runs]


def pyperf_python(tools: Path) -> Path:
    """The Python of a virtual environment that has pyperf, made at the first call, and sees this one's packages."""
    folder = tools / "pyperf"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        _called([sys.executable, "-m", "venv", str(folder)], dict(os.environ), "venv")
        site = _called(
            [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], {}, "python"
        )
        requirements = ["-r", str(HERE / "requirements.txt")]
        _called(
            [str(python), "-m", "pip", "install", "--quiet", *requirements],
            {k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
            "pip",
        )
        # torch and numpy are this environment's: the same bits in all methods
        (Path(site.strip()) / "this-environment.pth").write_text(sysconfig.get_path("purelib") + "\n")
        (folder / "complete").touch()
    return python


METHODS: dict[str, tuple[str, Callable[[Job], dict[str, Any]]]] = {
    "a": ("the papers' protocol", papers_protocol),
    "b": ("hyperfine", hyperfine),
    "c": ("pyperf", pyperf),
    "d": ("randomised interleaved trials", interleaved),
    "e": ("duet", duet),
    "f": ("Tare: lockstep, quiet settings", lockstep),
    # what of it comes from the settings, and what from taking turns
    "g": ("interleaved trials, quiet settings", lambda job: interleaved(job, quiet=True)),
    "h": ("lockstep, plain settings", lambda job: lockstep(job, quiet=False)),
}


def shuffled(jobs: Sequence[tuple[str, str, int]], seed: int) -> list[tuple[str, str, int]]:
    """Jobs (method, platform, repetition) in random order, so that no method gets the machine's good hour."""
    found = sorted(jobs)
    Random(seed).shuffle(found)
    return found
