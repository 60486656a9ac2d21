"""A whole short training as a command, for tools that time commands: the steps of Tare's worker in a plain loop.

    python benchmarks/plain_training.py DATA --steps 300 [--threads 2] [--injected 3]

Without `--steps` it ends after the warm-up: what it takes then is the start-up. It prints the median time of a step.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

from tare.worker import data as data_sets
from tare.worker import frameworks
from tare.worker.injection import Lengthened
from tare.worker.networks import NETWORKS

WARMUP_STEPS = 10
BATCH_SIZE = 64


def warm_trainer(data_path: str, model: str, threads: int, injected_pct: float) -> Any:
    """LeNet (or another) in torch after its warm-up; only the steps that come now are lengthened."""
    framework = frameworks.load("torch")
    framework.configure(threads, "cpu")
    trainer = framework.Trainer(NETWORKS[model], data_sets.load(data_path), BATCH_SIZE, 1, "cpu")
    for _ in range(WARMUP_STEPS):
        trainer.step()
    return Lengthened(trainer, injected_pct) if injected_pct else trainer


def main() -> None:
    parser = argparse.ArgumentParser(description="A whole short training.")
    parser.add_argument("data")
    parser.add_argument("--model", default="lenet")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--injected", type=float, default=0.0, help="percent")
    arguments = parser.parse_args()
    trainer = warm_trainer(arguments.data, arguments.model, arguments.threads, arguments.injected)
    durations_s = []
    for _ in range(arguments.steps):
        begun = time.perf_counter()
        trainer.step()
        durations_s.append(time.perf_counter() - begun)
    if durations_s:
        print(median(durations_s))


if __name__ == "__main__":
    main()
