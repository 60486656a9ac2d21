"""The environment variables of a worker: one explicit set, the same in every environment, and nothing else."""

from __future__ import annotations

from pathlib import Path

from tare.platforms.base import RUN_VARIABLE

# What makes two processes of the same program equally fast. docs/measurement.md has the figures.
QUIET = {
    # huge pages for malloc, and the heap in one piece: where pages fall is what equal processes differ by
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TOP_PAD_": str(512 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
    "MALLOC_MMAP_MAX_": "0",
}
# What one framework needs besides. Never for another: OpenMP binds the thread that loads it to one CPU, so a framework
# with threads of its own (TensorFlow, once scikit-learn's OpenMP is loaded beside it) is left with that one CPU.
QUIET_OF_FRAMEWORK = {
    "torch": {
        # threads of a waiting worker must not spin into the next worker's turn
        "GOMP_SPINCOUNT": "20000",
        "OMP_PROC_BIND": "true",
        "OMP_PLACES": "cores",
    }
}


def worker_variables(
    *, token: str, threads: int, settings: str, run_dir: Path, source: Path, framework: str, device: str
) -> dict[str, str]:
    """All variables of a worker.

    Args:
        settings: `quiet` or `default`.
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
        **(QUIET | QUIET_OF_FRAMEWORK.get(framework, {}) if settings == "quiet" else {}),
        RUN_VARIABLE: token,
    }
