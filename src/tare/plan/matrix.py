"""The cells of a study: every combination of its axes, each with a short name."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

from tare.plan.axes import Matrix
from tare.plan.errors import StudyError
from tare.plan.quiet import QUIET
from tare.plan.study import Study
from tare.records.schema import CellKey
from tare.worker.networks import NETWORKS


def cells(study: Study) -> list[CellKey]:
    """All cells in the order of the axes.

    Raises:
        StudyError: two cells would have one name, and so one place on disk.
    """
    matrix = study.matrix
    batch_sizes: list[int | None] = [*matrix.batch_size] if matrix.batch_size else [None]
    found: dict[CellKey, None] = {}
    for model, framework, data, batch_size, gpu, gpus, learners, settings in product(
        matrix.model, matrix.framework, matrix.data, batch_sizes, matrix.gpu, matrix.gpus_per_learner,
        matrix.learners, study.settings,
    ):  # fmt: skip
        on_cpu = gpu == "none"
        cell = CellKey(
            name="",
            model=model,
            framework=framework,
            data=data,
            batch_size=batch_size or NETWORKS[model].default_batch_size,
            device="cpu" if on_cpu else "gpu",
            gpu=gpu,
            learners=learners,
            gpus_per_learner=0 if on_cpu else gpus,
            settings=settings,
        )
        found[cell.model_copy(update={"name": _name(matrix, cell)})] = None
    for name, count in Counter(cell.name for cell in found).items():
        if count > 1:
            gpus_named = sorted({cell.gpu for cell in found if cell.name == name})
            raise StudyError(
                f"{count} cells of study {study.name} would be called {name!r}; "
                f"rename one value of matrix.gpu ({', '.join(gpus_named)})."
            )
    return list(found)


def _name(matrix: Matrix, cell: CellKey) -> str:
    """Model and framework, then each axis that varies or leaves its default, in a fixed order."""
    parts = [cell.model, cell.framework]
    if len(matrix.data) > 1 or cell.data != "digits":
        parts.append(cell.data)
    if len(matrix.batch_size or []) > 1 or cell.batch_size != NETWORKS[cell.model].default_batch_size:
        parts.append(f"b{cell.batch_size}")
    if cell.gpu != "none":
        # of the letters that a name may have anywhere: it is a folder, a pattern of `only` and part of a rule
        parts.append(re.sub(r"[^a-z0-9-]+", "_", cell.gpu.lower()).strip("_"))
        if len(matrix.gpus_per_learner) > 1 or cell.gpus_per_learner != 1:
            parts.append(f"g{cell.gpus_per_learner}")
    elif len(matrix.gpu) > 1:
        parts.append("cpu")
    if len(matrix.learners) > 1 or cell.learners != 1:
        parts.append(f"l{cell.learners}")
    if cell.settings != QUIET:
        parts.append(cell.settings)
    return "-".join(parts)
