"""The environment variables of a worker: one explicit set, the same in every environment, and nothing else."""

from __future__ import annotations

from pathlib import Path

from tare.plan import quiet
from tare.platforms.base import RUN_VARIABLE


def worker_variables(
    *, token: str, threads: int, switches: list[str], run_dir: Path, source: Path, device: str
) -> dict[str, str]:
    """All variables of a worker.

    Args:
        switches: the quiet settings that are on (`tare.plan.quiet.SWITCHES`).
        run_dir: the run's own folder: home and temporary files go there.
        source: folder that holds the package `tare`.
    """
    count = str(threads)
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(run_dir),
        "TMPDIR": str(run_dir),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(source),
        # The host's files are read-only in a container: without this only bare would write byte code.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "KERAS_BACKEND": "tensorflow",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        **({"CUDA_VISIBLE_DEVICES": "-1"} if device == "cpu" else {}),
        **quiet.variables(switches),
        RUN_VARIABLE: token,
    }
