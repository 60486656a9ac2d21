"""All records of a study as one table, one row a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from tare.records.schema import Record
from tare.records.store import path_of

# Column and type of runs.parquet, in order; a table of no runs has the same columns and types.
COLUMNS: dict[str, str] = {
    "study": "string",
    "cell": "string",
    "model": "string",
    "framework": "string",
    "data": "string",
    "batch_size": "Int64",
    "device": "string",
    "gpu": "string",
    "learners": "Int64",
    "gpus_per_learner": "Int64",
    "settings": "string",
    "environment": "string",
    "baseline": "string",
    "repetition": "Int64",
    "schedule": "string",
    "status": "string",
    "reason": "string",
    "turns": "Int64",
    "steps": "Int64",
    "items_per_step": "Int64",
    "timed_s": "Float64",
    "throughput_images_per_sec": "Float64",
    "second_per_batch": "Float64",
    "training_loss": "Float64",
    "test_loss": "Float64",
    "test_accuracy": "Float64",
    "test_items": "Int64",
    "classes": "Int64",
    "steps_trained": "Int64",
    "seed": "Int64",
    "wait_s": "Float64",
    "started_at": "string",
    "threads": "Int64",
    "framework_version": "string",
    "spec_hash": "string",
    "record": "string",
    "noise": "string",
    "attested": "string",
}


def row(record: Record, study_dir: Path) -> dict[str, Any]:
    """One run as a row of runs.parquet."""
    cell, metrics, phases = record.cell, record.metrics, record.phases
    # until the network was built: from then on the workers of a block are served in turn
    built = phases.get("model_built")
    return {
        "study": record.study,
        "cell": cell.name,
        **cell.model_dump(exclude={"name"}),
        "environment": record.environment,
        "baseline": record.baseline,
        "repetition": record.repetition,
        "schedule": record.schedule,
        "status": record.status,
        "reason": record.failure.reason if record.failure else "",
        "turns": len(record.turns),
        "steps": record.timed_steps,
        "items_per_step": record.items_per_step,
        "timed_s": record.timed_s,
        "throughput_images_per_sec": record.throughput_images_per_sec,
        "second_per_batch": record.second_per_batch,
        **metrics.model_dump(),
        "seed": record.seed,
        "wait_s": built - phases["requested"] if built is not None and "requested" in phases else None,
        "started_at": record.started_at,
        "threads": record.threads,
        "framework_version": record.software.get(cell.framework, ""),
        "spec_hash": record.spec_hash,
        "record": path_of(study_dir, cell.name, record.repetition, record.environment)
        .relative_to(study_dir)
        .as_posix(),
        "noise": record.noise_verdict or "not judged",
        "attested": record.attested or "not judged",
    }


def table(records: Iterable[Record], study_dir: Path) -> pd.DataFrame:
    """The records as a frame with the columns of `COLUMNS`."""
    rows = [row(record, study_dir) for record in records]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
