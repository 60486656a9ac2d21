"""The cells of a study: every combination of its axes, each with a short name."""

from __future__ import annotations

from collections import Counter
from itertools import product

from tare.plan.errors import StudyError
from tare.plan.study import Matrix, Study
from tare.records.schema import CellKey
from tare.worker.networks import NETWORKS


def cells(study: Study) -> list[CellKey]:
    """All cells in the order of the axes.

    Raises:
        StudyError: two cells would have one name, and so one place on disk.
    """
    matrix = study.matrix
    found: dict[CellKey, None] = {}
    for model, framework, data, batch, gpu, gpus, learners in product(
        matrix.model, matrix.framework, matrix.data, matrix.batch_size or [None], matrix.gpu,
        matrix.gpus_per_learner, matrix.learners,
    ):  # fmt: skip
        on_cpu = gpu == "none"
        batch_size = batch or NETWORKS[model].default_batch_size
        values = {
            "model": model, "framework": framework, "data": data, "batch_size": batch_size,
            "gpu": gpu, "gpus_per_learner": 0 if on_cpu else gpus, "learners": learners,
        }  # fmt: skip
        cell = CellKey.model_validate(
            {"name": _name(matrix, values), "device": "cpu" if on_cpu else "gpu", **values}
        )
        found[cell] = None
    for name, count in Counter(cell.name for cell in found).items():
        if count > 1:
            raise StudyError(f"{count} cells of study {study.name} would be called {name!r}; rename one value.")
    return list(found)


def _name(matrix: Matrix, values: dict[str, str | int]) -> str:
    """Model and framework, then each axis that varies or leaves its default, in a fixed order."""
    parts = [values["model"], values["framework"]]
    if len(matrix.data) > 1 or values["data"] != "digits":
        parts.append(values["data"])
    default_batch_size = NETWORKS[str(values["model"])].default_batch_size
    if len(matrix.batch_size or []) > 1 or values["batch_size"] != default_batch_size:
        parts.append(f"b{values['batch_size']}")
    if values["gpu"] != "none":
        parts.append(str(values["gpu"]).lower().replace(" ", "_").replace("/", "_"))
        if len(matrix.gpus_per_learner) > 1 or values["gpus_per_learner"] != 1:
            parts.append(f"g{values['gpus_per_learner']}")
    elif len(matrix.gpu) > 1:
        parts.append("cpu")
    if len(matrix.learners) > 1 or values["learners"] != 1:
        parts.append(f"l{values['learners']}")
    return "-".join(str(part) for part in parts)
