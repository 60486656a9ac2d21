"""Training steps for pyperf, which starts worker processes of this script and times the steps inside them.

What to train comes in variables (BENCH_DATA, BENCH_MODEL, BENCH_THREADS, BENCH_INJECTED), since pyperf hands its own
options, but not ours, on to its workers. Run it with pyperf's `--copy-env`.
"""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Any

import pyperf


@cache
def trainer() -> Any:
    """Made in the worker and not in pyperf's managing process, and before anything is timed."""
    from plain_training import warm_trainer

    return warm_trainer(
        os.environ["BENCH_DATA"], os.environ["BENCH_MODEL"], int(os.environ["BENCH_THREADS"]),
        float(os.environ["BENCH_INJECTED"]),
    )  # fmt: skip


def steps(loops: int) -> float:
    """Seconds that so many steps take."""
    step = trainer().step
    begun = time.perf_counter()
    for _ in range(loops):
        step()
    return time.perf_counter() - begun


if __name__ == "__main__":
    pyperf.Runner().bench_time_func("step", steps)
