"""Stands for workflow/scripts/measure.py where a test is about what is measured when, and not about measuring.

The records are made up: in the cell with batches of 32 the blocks agree, in all others they do not.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from random import Random
from typing import Any

from tare.campaign import freeze
from tare.campaign.state import state
from tare.plan.matrix import cells
from tare.plan.table import blocks
from tare.records import store
from tests.unit.factory import asked

# Standard deviation of the blocks' log ratios.
QUIET, NOISY = 0.001, 0.03


def measure(snakemake: Any) -> None:
    """Write the records of a block, unless it is finished."""
    study_dir = Path(snakemake.output.records[0]).parents[3]
    cell, repetition = snakemake.wildcards.cell, int(snakemake.wildcards.repetition)
    study, plan = freeze.read(study_dir)
    block = next(b for b in blocks(plan) if (b.cell, b.repetition) == (cell, repetition))
    if state(study_dir, block).status.finished and not snakemake.params.again:
        return
    time.sleep(float(os.environ.get("TARE_TEST_BLOCK_S", "0")))
    random = Random(f"{cell}/{repetition}")
    key = {one.name: one for one in cells(study)}[cell]
    spread = QUIET if key.batch_size == 32 else NOISY
    made = []
    began = str(time.time_ns())
    for name in block.environments:
        factor = 1.0 if study.environment(name).is_baseline else 1.05 * math.exp(random.gauss(0, spread))
        made.append(asked(study, block, name, step_s=0.01 * factor, started_at=began, block_id=began))
    store.write_all(study_dir, made)
    place = snakemake.params.place
    print(f"made up: block {place['number']} of {place['total']}: {cell}, repetition {repetition}")
