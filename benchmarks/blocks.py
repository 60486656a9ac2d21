"""What benchmarks share that measure blocks with Tare's own layer: small studies, the host's lock, records."""

from __future__ import annotations

import secrets
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tare import platforms
from tare.campaign.probing import probe
from tare.data import digits
from tare.measure import block, locks
from tare.measure.lockstep import RunFailed
from tare.measure.run import Run, Task
from tare.plan.matrix import cells
from tare.plan.schedule import slots
from tare.plan.study import Study, parse
from tare.platforms import Platform
from tare.records import store
from tare.records.schema import Record
from tare.telemetry import host
from tare.worker import evidence, launch

# Names that environments of benchmarks may have, beside those of engines.
KNOWN: dict[str, dict[str, Any]] = {
    "bare-again": {"name": "bare-again", "engine": "bare"},
    "injected-3": {"name": "injected-3", "engine": "bare", "injected": 3.0},
}
# Overheads in throughput that are true by construction, percent.
TRUTH_PCT = {"bare-again": 0.0, "injected-3": 100 * (1 - 1 / 1.03)}


def make_study(
    name: str, environments: Sequence[str], *, model: str = "lenet", quiet: bool = True, **keys: Any
) -> Study:
    """A study of one cell (torch, batches of 64) in memory.

    Args:
        quiet: whether Tare's quiet settings are on.
        keys: further keys of a study.
    """
    return parse(
        {
            "name": name,
            "matrix": {"model": [model], "framework": ["torch"], "batch_size": [64]},
            "environments": [KNOWN.get(environment, environment) for environment in environments],
            "quiet": "on" if quiet else "off",
            **keys,
        },
        f"benchmarks, {name}",
    )


def task_of(study: Study, folder: Path, repetition: int, seconds: float, data: Path) -> Task:
    """The task of one block, with the environments in the order that Tare's schedule gives them."""
    cell = cells(study)[0]
    order = slots([e.name for e in study.environments], cell.name, repetition - 1, study.seed)
    environments = tuple(study.environment(name) for name in order)
    return Task(study, cell, repetition, environments, seconds, data, folder)


def engines_of(task: Task) -> dict[str, Platform]:
    """The platforms that a task needs, by engine."""
    return {engine: platforms.create(engine) for engine in {e.engine for e in task.environments}}


def each(runs: Sequence[Run], stage: Callable[[Run], object]) -> None:
    """Do something with each run that is alive; one that fails is out, the others go on."""
    for run in runs:
        if run.alive:
            try:
                stage(run)
            except RunFailed as failure:
                run.fail(failure)


def make_ready(runs: Sequence[Run]) -> None:
    """Start the workers side by side and take the warm-up steps one after the other, as a block in lockstep does."""
    outside = evidence.collect(launch.inherited_variables())
    each(runs, Run.start)
    each(runs, lambda run: run.become_ready(outside))
    each(runs, Run.warm_up)


def own_block(task: Task, conduct: Callable[[list[Run]], None]) -> list[Record]:
    """Measure one block in a way that Tare itself has not; its records are written when it has ended, and only then.

    Args:
        conduct: does everything with the runs, from their start to their end.

    Raises:
        Interrupted, EngineError, OSError: as `tare.measure.block.measure_block`.
    """
    engines, campaign, block_id = engines_of(task), locks.campaign(), secrets.token_hex(8)
    block.sweep(engines, campaign)
    runs = [
        Run(task, one, slot, engines[one.engine], f"{campaign}-{secrets.token_hex(4)}", block_id)
        for slot, one in enumerate(task.environments)
    ]
    machine, begun = host.describe(), time.monotonic()
    try:
        with block.signals_interrupt():
            conduct(runs)
    finally:
        for run in runs:
            run.discard()
    load = {"elapsed_s": round(time.monotonic() - begun, 3)}
    records = [run.record(host=machine, load=load) for run in runs]
    store.write_all(task.study_dir, records)
    return records


def usable(environments: Sequence[str]) -> list[str]:
    """The environments whose engine can be used here; of the others it is said why they are left out."""
    wanted = {name: str(KNOWN.get(name, {}).get("engine", name)) for name in environments}
    found = probe(wanted.values(), apptainer_asked=True)
    for name, engine in wanted.items():
        if not found[engine].usable:
            print(f"{name} is left out: {found[engine].reason}. {found[engine].remedy}", file=sys.stderr)
    return [name for name, engine in wanted.items() if found[engine].usable]


def read_blocks(folder: Path) -> dict[int, dict[str, Record]]:
    """The records of a folder that holds one cell: repetition -> environment -> record."""
    found: dict[int, dict[str, Record]] = defaultdict(dict)
    for path in store.scan(folder):
        record = store.read(path)
        found[record.repetition][record.environment] = record
    return dict(found)


@contextmanager
def this_machine(purpose: str) -> Iterator[None]:
    """The machine for oneself: Tare's lock of this host, waited for."""
    with locks.Lock(locks.host_lock_path(), "This machine", purpose) as lock:
        lock.acquire(wait=True, say=lambda sentence: print(sentence, file=sys.stderr))
        yield


def prepared_data(folder: Path) -> Path:
    """The data set's file in a folder, made if it is not there."""
    path = folder / "digits.npz"
    if not path.exists():
        digits.write(path)
    return path


def machine_line() -> str:
    """The machine in one line."""
    machine = host.describe()
    return f"{machine['cpu']}, {machine['usable_cpus']} CPUs, kernel {machine['kernel']}"
