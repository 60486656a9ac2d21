"""What the measuring job does: one block, under the host's lock, with its progress on the terminal."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tare import platforms
from tare.campaign import freeze
from tare.campaign.probing import probe
from tare.campaign.state import state
from tare.measure import locks
from tare.measure.block import Interrupted, Progress, measure_block, signals_interrupt
from tare.measure.run import Task
from tare.plan.errors import StudyError
from tare.plan.matrix import cells
from tare.plan.table import blocks
from tare.platforms import EngineError
from tare.records.schema import Record


@dataclass(frozen=True)
class Place:
    """Where a block stands in this call: the `number`-th of `total`, which began at wall clock `since`."""

    number: int
    total: int
    since: float


def measure(
    study_dir: Path, cell: str, repetition: int, *, data: Path, seconds: float, again: bool, place: Place, wait: bool
) -> list[Record]:  # fmt: skip
    """Measure one block, unless it is finished already and `again` is false.

    Snakemake may call for a block that is done, after a crash that came between the last record and its own
    bookkeeping; what is measured is never measured twice.

    Raises:
        StudyError: the plan has no such block.
        EngineError: an engine can't be used now; the records there are stay as they are.
        Interrupted, LockHeld, OSError: see `measure_block` and `Lock.acquire`.
    """
    study, plan = freeze.read(study_dir)
    wanted = [b for b in blocks(plan) if b.cell == cell and b.repetition == repetition]
    if not wanted:
        raise StudyError(f"The plan of {study_dir} has no repetition {repetition} of cell {cell!r}.")
    block = wanted[0]
    progress = TerminalProgress(f"{cell}, repetition {repetition}", place)
    lock = locks.Lock(locks.host_lock_path(), "This machine", f"measuring in {study_dir}")
    with lock:
        try:
            with signals_interrupt():
                lock.acquire(wait=wait, say=progress.say)
        except (KeyboardInterrupt, Interrupted):
            # What another process wrote meanwhile is not to be removed as the outputs of a failed job.
            if state(study_dir, block).status.finished:
                return []
            raise Interrupted("Waiting for this machine was interrupted.") from None
        # Looked at under the lock: another run may have measured it while this one waited.
        if state(study_dir, block).status.finished and not again:
            progress.say(f"{cell}, repetition {repetition}: measured already.")
            return []
        environments = tuple(study.environment(name) for name in block.environments)
        # apptainer was asked for when the block was planned
        for engine, availability in probe((e.engine for e in environments), apptainer_asked=True).items():
            if not availability.usable:
                raise EngineError(f"{engine} can't be used now: {availability.reason}. {availability.remedy}")
        task = Task(
            study=study,
            cell={c.name: c for c in cells(study)}[cell],
            repetition=repetition,
            environments=environments,
            seconds=seconds,
            data=data,
            study_dir=study_dir,
        )
        records = measure_block(
            task, {e.engine: platforms.create(e.engine) for e in environments}, progress=progress
        )
    progress.ended(records)
    return records


class TerminalProgress(Progress):
    """One line that is written over on a terminal; elsewhere a line a block."""

    def __init__(self, what: str, place: Place, out: TextIO = sys.stderr) -> None:
        self._what, self._place, self._out = what, place, out
        self._terminal = out.isatty()
        self._shown = 0
        self._begun: float | None = None

    def doing(self, what: str) -> None:
        """Show the stage; the first one starts the clock, so that waiting for a lock does not count."""
        self._begun = self._begun or time.monotonic()
        self._show(what)

    def round(self, done: int, most: int, elapsed_s: float) -> None:
        """Show the round."""
        self._show(f"round {done} of at most {most}")

    def say(self, sentence: str) -> None:
        """Print a sentence on a line of its own."""
        self._clear()
        self._write(f"{sentence}\n")

    def ended(self, records: list[Record]) -> None:
        """Print the block's line, and a line for each run that failed."""
        rounds = max((len(record.turns) for record in records), default=0)
        took = time.monotonic() - (self._begun or time.monotonic())
        self.say(f"{self._head()}: {rounds} rounds in {took:.0f} s{self._left()}")
        for record in records:
            if record.failure is not None:
                self.say(f"  {record.environment} failed ({record.failure.stage}): {record.failure.reason}")

    def _head(self) -> str:
        return f"block {self._place.number} of {self._place.total}: {self._what}"

    def _left(self) -> str:
        finished = self._place.number
        left_s = (time.time() - self._place.since) / finished * (self._place.total - finished)
        return f"; {duration(left_s)} left" if left_s else ""

    def _show(self, what: str) -> None:
        if self._terminal:
            line = f"{self._head()}: {what}"[:110]
            self._clear()
            self._write(line)
            self._shown = len(line)

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except (OSError, ValueError):
            pass  # the terminal is gone; what is measured must not go with it

    def _clear(self) -> None:
        if self._shown:
            self._write("\r" + " " * self._shown + "\r")
            self._shown = 0


def duration(seconds: float) -> str:
    """Seconds as people say them: `40 s`, `6 min`, `2 h 10 min`, `3 days 4 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} days {hours % 24} h"
