"""One block: every environment of one cell once, measured next to each other."""

from __future__ import annotations

import math
import os
import secrets
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median
from types import FrameType
from typing import Any

from tare.measure import locks
from tare.measure.lockstep import RunFailed, take_turns
from tare.measure.run import RUN_DIR_PREFIX, Run, Task
from tare.measure.watch import Watch
from tare.plan.specification import seed, steps_per_turn
from tare.platforms import EngineError, Platform
from tare.records import store
from tare.records.schema import Record, Turn
from tare.telemetry import host
from tare.worker import evidence, launch

# What evaluating, stopping and writing take at the end of a block, in seconds, kept free of rounds.
_ENDING_S = 1.0
# The first step after a pause is another thing than steady training, so it is not timed.
_SETTLING_STEPS = 1
# How long a turn of a sequential run takes at least, in seconds.
_LONG_TURN_S = 2.0
# The same of a turn on a GPU, which takes its time to raise its clocks after a pause.
_GPU_TURN_S = 0.5


class Interrupted(RuntimeError):
    """The block was broken off by a signal; what was measured is on disk."""


class Progress:
    """Told what is going on; the default tells nobody."""

    def doing(self, what: str) -> None:
        """A stage of the block begins."""

    def round(self, done: int, most: int, elapsed_s: float) -> None:
        """A round ended."""

    def say(self, sentence: str) -> None:
        """Something that the user should know."""


def measure_block(
    task: Task,
    platforms: Mapping[str, Platform],
    progress: Progress | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Record]:
    """Measure a block and write a record of each of its runs, whatever becomes of them.

    Args:
        platforms: engine name -> platform.

    Returns:
        The records, in the order of the slots.

    Raises:
        Interrupted: a signal came; workers are gone, partial records are written.
        OSError: a record could not be written (disk full); workers are gone.
        EngineError: what an earlier campaign left running could not be removed.
    """
    progress = progress or Progress()
    campaign = locks.campaign()
    sweep(platforms, campaign)
    block_id = secrets.token_hex(8)
    runs = [
        Run(
            task,
            environment,
            slot,
            platforms[environment.engine],
            f"{campaign}-{secrets.token_hex(4)}",
            block_id,
        )
        for slot, environment in enumerate(task.environments)
    ]
    machine = host.describe()
    before = host.load()
    begun = clock()
    reason, fault = "", None
    with signals_interrupt() as signals:
        try:
            try:
                measure = _lockstep if task.study.schedule == "lockstep" else _sequential
                measure(task, runs, begun, progress, clock)
            finally:
                # From here on no signal must leave a container behind or records unwritten.
                signals.interrupt = False
        except (KeyboardInterrupt, Interrupted) as stop:
            reason = str(stop) or "The block was interrupted."
        except Exception as error:
            # A disk that is full, or a fault of Tare's own: what was measured is kept all the same.
            fault, reason = error, f"Measuring broke off: {type(error).__name__}: {error}."
        finally:
            troubles = _discard(runs)
        if reason:
            # The signal may have come when a worker had been started but was not yet known here.
            troubles += _sweep_again(platforms, campaign)
        load = _load_between(before, host.load(), clock() - begun)
        records = [run.record(host=machine, load=load, interrupted=reason) for run in runs]
        _write(task.study_dir, records, interrupted=bool(reason))
    for trouble in troubles:
        # No failure of the block: it is measured, and the next sweep removes what was left.
        progress.say(f"Warning: {trouble}")
    if fault is not None:
        raise fault
    if reason:
        raise Interrupted(reason)
    return records


def sweep(platforms: Mapping[str, Platform], campaign: str) -> list[str]:
    """Remove what a killed campaign left: processes, containers, run folders. Only under the host's lock."""
    removed = [what for platform in platforms.values() for what in platform.sweep(campaign)]
    for folder in Path(tempfile.gettempdir()).glob(f"{RUN_DIR_PREFIX}{campaign}-*"):
        if folder.lstat().st_uid == os.getuid() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
    return removed


def _sweep_again(platforms: Mapping[str, Platform], campaign: str) -> list[str]:
    try:
        sweep(platforms, campaign)
    except EngineError as error:
        return [str(error)]
    return []


def _lockstep(
    task: Task, runs: Sequence[Run], begun: float, progress: Progress, clock: Callable[[], float]
) -> None:
    progress.doing("starting the workers")
    outside = evidence.collect(launch.inherited_variables())
    # Side by side: importing a framework takes seconds, and nothing is timed yet.
    for run in runs:
        _attempt(run, run.start)
    for run in runs:
        _attempt(run, lambda run=run: run.become_ready(outside))  # type: ignore[misc]
    progress.doing("warming up")
    for run in runs:
        _attempt(run, run.warm_up)
    alive = [run for run in runs if run.alive]
    if alive:
        least_s = _GPU_TURN_S if task.cell.device == "gpu" else 0.0
        _rounds(task, alive, _steps(task, alive, least_s), begun + task.seconds, progress, clock)
    progress.doing("testing what was learned")
    for run in runs:
        _attempt(run, run.finish)


def _sequential(
    task: Task, runs: Sequence[Run], begun: float, progress: Progress, clock: Callable[[], float]
) -> None:
    outside = evidence.collect(launch.inherited_variables())
    share_s = task.seconds / len(runs)
    steps = None
    for run in runs:
        # From its own start on: what one run leaves of its share is not the next one's, so that all take as many turns.
        deadline = clock() + share_s
        progress.doing(f"{run.name}: starting the worker")
        _attempt(run, run.start)
        _attempt(run, lambda run=run: run.become_ready(outside))  # type: ignore[misc]
        progress.doing(f"{run.name}: warming up")
        _attempt(run, run.warm_up)
        progress.doing(run.name)
        if run.alive:
            # The same for all runs of the block. Long turns: between two of them the worker waits for a word.
            steps = steps or _steps(task, [run], least_s=_LONG_TURN_S)
            _rounds(task, [run], steps, deadline, progress, clock)
        _attempt(run, run.finish)


def _steps(task: Task, runs: Sequence[Run], least_s: float = 0.0) -> int:
    """Timed steps of a turn, by the later half of the warm-up."""
    step_s = median(s for run in runs for s in run.warmup_s[len(run.warmup_s) // 2 :])
    steps = steps_per_turn(task.study, step_s)
    return steps if task.study.steps_per_turn else max(steps, math.ceil(least_s / step_s))


def _rounds(
    task: Task,
    runs: Sequence[Run],
    steps: int,
    deadline: float,
    progress: Progress,
    clock: Callable[[], float],
) -> None:
    study, begun = task.study, clock()
    watch = Watch(runs, gpu=task.cell.device == "gpu")
    take_turns(
        watch.runs,
        steps=steps,
        settle=_SETTLING_STEPS,
        min_rounds=study.rounds.min,
        max_rounds=study.rounds.max,
        deadline_t=deadline - _ENDING_S,
        clock=clock,
        random=Random(f"{seed(study, task.repetition)}/{task.cell.name}"),
        on_turn=_keep,
        on_failure=Run.fail,
        on_round=lambda done: progress.round(done, study.rounds.max, clock() - begun),
    )
    watch.end()


def _keep(run: Run, turn: Turn) -> None:
    run.turns.append(turn)


def _attempt(run: Run, action: Callable[[], None]) -> None:
    """Do the next thing with a run that is alive; its failure is its own, the others go on."""
    if run.alive:
        try:
            action()
        except RunFailed as failure:
            run.fail(failure)


def _discard(runs: Sequence[Run]) -> list[str]:
    troubles = []
    for run in runs:
        try:
            run.discard()
        except Exception as error:  # whatever it is, the others are to be discarded too
            troubles.append(str(error) or type(error).__name__)
    return troubles


def _write(study_dir: Path, records: Sequence[Record], *, interrupted: bool) -> None:
    """Write the records at their places, those of an interrupted block aside, also of runs that had failed by then.

    An interrupted block is a failed job to Snakemake, which then puts back the records that were there before, or
    removes what is there now: at its place a partial record would be lost, or in the way of a finished one.
    """
    if interrupted:
        for record in records:
            store.write_interrupted(study_dir, record)
    else:
        store.write_all(study_dir, records)


def _load_between(before: dict[str, float], after: dict[str, float], elapsed_s: float) -> dict[str, Any]:
    """What the host did during the block: CPU seconds by kind, and the load average at both ends."""
    seconds = {
        key: round(after[key] - before[key], 3) for key in before if key.endswith("_s") and key in after
    }
    return {
        "elapsed_s": round(elapsed_s, 3),
        "load_1min_before": before["load_1min"],
        "load_1min_after": after["load_1min"],
        **seconds,
    }


class _Signals:
    """What to do about SIGTERM, SIGHUP and Ctrl-C: the first one breaks off the block, later ones do nothing.

    Attributes:
        interrupt: whether one that comes now breaks off the block.
    """

    def __init__(self) -> None:
        self.interrupt = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.interrupt:
            self.interrupt = False
            raise Interrupted(f"The block was interrupted by {signal.Signals(number).name}.")


@contextmanager
def signals_interrupt() -> Iterator[_Signals]:
    """Turn the first signal that asks to end into `Interrupted`. Signals reach the main thread only."""
    handler = _Signals()
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            # one that is ignored, such as SIGHUP under nohup, stays ignored
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    try:
        yield handler
    finally:
        for handled, old in before.items():
            signal.signal(handled, old)
