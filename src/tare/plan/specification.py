"""Everything that is asked of one run, and its hash. A record whose hash is another is stale."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from tare.plan.environment import Environment
from tare.plan.quiet import in_force
from tare.plan.study import Study
from tare.records.schema import CellKey

# Raised when the worker's work changes in a way that makes older records incomparable with new ones.
WORKLOAD_VERSION = 1
_TURN_STEPS, _LONG_STEP_S = 2, 0.2


def threads(study: Study) -> int:
    """Threads of a run: the study's, or the CPUs that this process may use; never Snakemake's --cores."""
    return study.threads or usable_cpus()


def usable_cpus() -> int:
    """The CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def steps_per_turn(study: Study, step_s: float) -> int:
    """Timed steps of a turn, given how long one step takes."""
    return study.steps_per_turn or (1 if step_s > _LONG_STEP_S else _TURN_STEPS)


def switches(study: Study, cell: CellKey) -> list[str]:
    """The quiet settings that are on in a cell (`tare.plan.quiet.SWITCHES`)."""
    return in_force(cell.settings, cell.framework, study.quiet.asked)


def specification(study: Study, cell: CellKey, environment: Environment, repetition: int) -> dict[str, Any]:
    """What is asked of a run, as plain JSON values. No time budgets: they set how much, not what."""
    return {
        "workload_version": WORKLOAD_VERSION,
        "cell": cell.model_dump(exclude={"name"}),
        "environment": environment.options(),
        "schedule": study.schedule,
        "threads": threads(study),
        "quiet": switches(study, cell),
        "warmup_steps": study.warmup_steps,
        "steps_per_turn": study.steps_per_turn or "auto",
        "seed": seed(study, repetition),
    }


def seed(study: Study, repetition: int) -> int:
    """Seed of weights and batches: the same for all environments of a block, another in each repetition."""
    return study.seed * 10_000 + repetition


def digest(content: dict[str, Any]) -> str:
    """Hash of a specification, 16 hexadecimal digits."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
