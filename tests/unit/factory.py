"""Valid records and plans for tests, each with defaults that a test overrides by name.

record(environment="docker", step_s=0.0103)                  one run
study(factors={"bare": 1.0, "docker": 1.03}, repetitions=6)  all records and the plan of a study
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tare.measure.attest import context
from tare.plan.matrix import cells
from tare.plan.specification import seed, specification, threads
from tare.plan.study import Study
from tare.plan.table import Block
from tare.records.schema import CellKey, Failure, Metrics, Record, Status, Turn

PLAN_COLUMNS = [
    *("cell", "model", "framework", "data", "batch_size", "device", "gpu", "learners", "gpus_per_learner"),
    *("settings", "environment", "engine", "baseline", "repetition", "order", "slot", "schedule"),
    *("status", "reason", "remedy", "spec_hash"),
]
MEMORY_BYTES = 8_000_000_000
SOFTWARE = {
    "python": "3.11.2",
    "numpy": "2.3.1",
    "torch": "2.13.0+cpu",
    "torch_build": "BLAS=MKL, USE_OPENMP=ON",
}
RESOURCES = {
    "cpus": [0, 1],
    "cpu_quota": None,
    "memory_limit_bytes": None,
    "memory_total_bytes": MEMORY_BYTES,
}
HOST = {
    "cpu_model": "Example CPU @ 2.0 GHz",
    "kernel": "6.1.0",
    "os": "Debian 12",
    "memory_total_bytes": MEMORY_BYTES,
}


def cell_key(name: str = "lenet-torch", **other: Any) -> CellKey:
    """A cell; model and framework come from a name of the form model-framework unless given."""
    model, _, framework = name.rpartition("-")
    values: dict[str, Any] = {
        "name": name,
        "model": model or name,
        "framework": framework or "torch",
        "data": "digits",
        "batch_size": 64,
        "device": "cpu",
        "gpu": "none",
        "learners": 1,
        "gpus_per_learner": 0,
    }
    return CellKey(**(values | other))


def turn(
    durations_s: Sequence[float] = (0.01, 0.01),
    *,
    round: int = 0,
    position: int = 0,
    started_t: float | None = None,
) -> Turn:
    """A turn; by default it starts one second after that of the round before."""
    return Turn(
        round=round,
        position=position,
        steps=len(durations_s),
        settle_s=[1.1 * durations_s[0]],
        durations_s=list(durations_s),
        started_t=100.0 + round + 0.1 * position if started_t is None else started_t,
    )


def record(
    *,
    cell: str | CellKey = "lenet-torch",
    environment: str = "bare",
    baseline: str = "bare",
    engine: str | None = None,
    repetition: int = 1,
    step_s: float | Sequence[float] = 0.01,
    rounds: int = 4,
    steps_per_turn: int = 2,
    turns: Sequence[Turn] | None = None,
    status: Status = "ok",
    reason: str = "the worker was killed for memory",
    stage: str = "turn",
    schedule: str = "lockstep",
    block: Sequence[str] = ("bare", "docker"),
    items_per_step: int = 64,
    threads: int = 2,
    metrics: Metrics | Mapping[str, Any] | None = None,
    software: Mapping[str, str] = SOFTWARE,
    resources: Mapping[str, Any] = RESOURCES,
    spec: Mapping[str, Any] | None = None,
    **other: Any,
) -> Record:
    """One run.

    Args:
        cell: a cell, or its name (then see `cell_key`).
        baseline: the environment's own baseline; a root baseline such as bare names itself.
        step_s: seconds a step, the same for all steps or one number a round (then `rounds` is not looked at).
        turns: the turns themselves, instead of `step_s`, `rounds`, `steps_per_turn`; a run that did not end
            well has none unless they are given.
        reason, stage: of the failure; not looked at where status is ok.
        spec: keys of the specification that are added or replaced.
        other: any further field of Record.
    """
    key = cell if isinstance(cell, CellKey) else cell_key(cell)
    if turns is None and status == "ok":
        each = (
            [float(step_s)] * rounds
            if isinstance(step_s, int | float)
            else [float(value) for value in step_s]
        )
        position = list(block).index(environment) if environment in block else 0
        turns = [turn([s] * steps_per_turn, round=i, position=position) for i, s in enumerate(each)]
    if metrics is None:
        metrics = {
            "training_loss": 0.21,
            "test_loss": 0.25,
            "test_accuracy": 0.94,
            "test_items": 359,
            "classes": 10,
            "steps_trained": 215,
        }
    engine = engine or environment.removesuffix("-again")
    spec = {
        "threads": threads,
        "quiet": [] if key.settings == "default" else ["gc_off", "huge_pages", "one_heap"],
        "steps_per_turn": steps_per_turn,
        "environment": {"engine": engine, "software": "host"},
    } | dict(spec or {})
    values: dict[str, Any] = {
        "tare_version": "0.1.0",
        "study": "quick",
        "cell": key,
        "repetition": repetition,
        "environment": environment,
        "engine": engine,
        "baseline": baseline,
        "status": status,
        "failure": None if status == "ok" else Failure(reason=reason, stage=stage, log_tail="Killed"),
        "spec_hash": f"hash-{key.name}-{environment}-{repetition}",
        "spec": spec,
        "schedule": schedule,
        "block": list(block),
        "slot": list(block).index(environment) if environment in block else len(block),
        "block_id": f"block-{repetition}",
        "seed": repetition,
        "started_at": f"2026-01-02T03:{repetition:02d}:05Z",
        "items_per_step": items_per_step,
        "threads": threads,
        "variables": {"HOME": "/tmp/run", "OMP_NUM_THREADS": str(threads)},
        "arguments": [environment, "python3", "-m", "tare.worker"],
        "phases": {
            "requested": 90.0,
            "process_started": 90.2,
            "model_built": 99.0,
            "warm": 99.5,
            "finished": 110.0,
        },
        "warmup_s": [0.05, 0.02, 0.02],
        "turns": list(turns or ()),
        "metrics": metrics if status == "ok" else Metrics(),
        "software": dict(software),
        "resources": dict(resources),
        "host": dict(HOST),
        "platform": {"version": "1.2.3"},
    }
    return Record(**(values | other))


# What workers saw, and what the controller saw of itself, on one machine.
EVIDENCE = json.loads((Path(__file__).parent / "measure" / "evidence.json").read_text(encoding="utf-8"))


def evidence(engine: str) -> dict[str, Any]:
    """What the record of a run in this engine shows of where it was."""
    return {**EVIDENCE[engine], "controller": context(EVIDENCE["controller"])}


def asked(study: Study, block: Block, environment: str, **other: Any) -> Record:
    """The record of one run of a study's block, as the study asks for it; `other` as in `record`."""
    entry = study.environment(environment)
    cell = next(cell for cell in cells(study) if cell.name == block.cell)
    values = {
        "cell": cell, "environment": environment, "engine": entry.engine, "baseline": entry.baseline,
        "repetition": block.repetition, "block": block.environments, "study": study.name,
        "spec_hash": block.spec_hashes[block.environments.index(environment)],
        "spec": specification(study, cell, entry, block.repetition), "schedule": study.schedule,
        "threads": threads(study), "seed": seed(study, block.repetition),
        "evidence": evidence(entry.engine), "attested": entry.engine,
    }  # fmt: skip
    return record(**(values | other))


def plan(
    cells: Iterable[str | CellKey] = ("lenet-torch",),
    environments: Mapping[str, str] | None = None,
    *,
    repetitions: int = 6,
    unusable: Mapping[str, tuple[str, str]] | None = None,
    unusable_cells: Mapping[str, tuple[str, str]] | None = None,
    schedule: str = "lockstep",
) -> pd.DataFrame:
    """A plan with one row per cell, environment and repetition.

    Args:
        environments: the baseline of each environment, in the order of the plan; by default bare and docker.
        unusable: (reason, remedy) of each environment that can't be used here.
        unusable_cells: (reason, remedy) of each cell that can't be measured in any environment.
    """
    environments = {"bare": "bare", "docker": "bare"} if environments is None else environments
    keys = [key if isinstance(key, CellKey) else cell_key(key) for key in cells]
    rows = []
    for repetition in range(1, repetitions + 1):
        for place, key in enumerate(keys):
            for slot, (environment, baseline) in enumerate(environments.items()):
                why = (unusable_cells or {}).get(key.name) or (unusable or {}).get(environment)
                rows.append(
                    {
                        "cell": key.name,
                        **key.model_dump(exclude={"name"}),
                        "environment": environment,
                        "engine": environment.removesuffix("-again"),
                        "baseline": baseline,
                        "repetition": repetition,
                        "order": (repetition - 1) * len(keys) + place + 1,
                        "slot": slot,
                        "schedule": schedule,
                        "status": "unusable" if why else "measure",
                        "reason": why[0] if why else "",
                        "remedy": why[1] if why else "",
                        "spec_hash": f"hash-{key.name}-{environment}-{repetition}",
                    }
                )
    return pd.DataFrame(rows, columns=PLAN_COLUMNS)


def study(
    *,
    cells: Iterable[str | CellKey] = ("lenet-torch",),
    factors: Mapping[str, float] | None = None,
    baselines: Mapping[str, str] | None = None,
    repetitions: int = 6,
    rounds: int = 10,
    step_s: float = 0.01,
    process_noise: float = 0.004,
    turn_noise: float = 0.01,
    seed: int = 1,
    schedule: str = "lockstep",
    **other: Any,
) -> tuple[list[Record], pd.DataFrame]:
    """The records and the plan of a study where everything was measured.

    Args:
        factors: how many times as long a step takes in each environment; by default bare 1 and docker 1.03.
        baselines: the baseline of each environment that isn't compared with bare.
        process_noise, turn_noise: standard deviation of the log of a step's duration between runs, turns.
        other: further arguments of `record`.
    """
    factors = {"bare": 1.0, "docker": 1.03} if factors is None else factors
    of = {name: (baselines or {}).get(name, "bare") for name in factors}
    random = np.random.default_rng(seed)
    keys = [key if isinstance(key, CellKey) else cell_key(key) for key in cells]
    records = []
    for repetition in range(1, repetitions + 1):
        for key in keys:
            for environment, factor in factors.items():
                log = np.log(step_s * factor) + random.normal(0, process_noise)
                times = np.exp(log + random.normal(0, turn_noise, rounds))
                values: dict[str, Any] = {
                    "cell": key,
                    "environment": environment,
                    "baseline": of[environment],
                    "repetition": repetition,
                    "step_s": [float(t) for t in times],
                    "block": tuple(factors),
                    "schedule": schedule,
                }
                records.append(record(**(values | other)))
    return records, plan(keys, of, repetitions=repetitions, schedule=schedule)
