"""What does watching the noise cost? The readings that are made for each turn and for each block, timed.

    python benchmarks/noise_cost.py [--repeats 2000] [--step-ms 10] [--environments 5]

Measured inside a process with torch loaded and its threads at work before, as in a worker. For a turn: reading the CPU
clock twice and telling of it. For a block: the host before and after, and each worker's counters twice. Printed in
microseconds and as a share of the turn (a settling and four timed steps) and of a block of 20 rounds. Goal: below 0.5 %
together. None of it lies between the timed steps.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from statistics import median

import torch

from tare.telemetry import host, noise
from tare.worker import usage

STEPS_OF_A_TURN = 5
ROUNDS = 20


def cost_us(action: Callable[[], object], repeats: int) -> float:
    """Median over ten batches of the time that one call takes."""
    batches = []
    for _ in range(10):
        begun = time.perf_counter()
        for _ in range(max(1, repeats // 10)):
            action()
        batches.append((time.perf_counter() - begun) / max(1, repeats // 10))
    return 1e6 * median(batches)


def of_a_turn() -> None:
    """What a worker does more in each turn."""
    json.dumps([time.process_time(), time.process_time()])


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of watching the noise.")
    parser.add_argument("--repeats", type=int, default=2000, help="calls of each reading (2000)")
    parser.add_argument("--step-ms", type=float, default=10.0, help="how long a step takes (10)")
    parser.add_argument("--environments", type=int, default=5, help="runs of a block (5)")
    arguments = parser.parse_args()
    if arguments.repeats < 10 or arguments.step_ms <= 0 or arguments.environments < 1:
        parser.error("at least 10 repeats, 1 environment, and steps that take some time")
    matrix = torch.rand(500, 500)
    for _ in range(20):
        matrix @ matrix  # the threads are there from now on
    cpus = os.sched_getaffinity(0)
    turn_us = cost_us(of_a_turn, arguments.repeats)
    host_us = cost_us(lambda: noise.read_host(cpus), arguments.repeats)
    worker_us = cost_us(lambda: json.dumps(usage.reading()), arguments.repeats)
    turn_ms = STEPS_OF_A_TURN * arguments.step_ms
    block_us = 2 * (host_us + arguments.environments * worker_us)
    rounds_us = 1000 * turn_ms * arguments.environments * ROUNDS
    share_of_turn = 100 * turn_us / (1000 * turn_ms)
    share_of_block = 100 * block_us / rounds_us
    print(f"each turn: {turn_us:.1f} us, {share_of_turn:.4f} % of a turn of {turn_ms:g} ms")
    print(
        f"each block: host {host_us:.0f} us, worker {worker_us:.0f} us, each twice; {block_us / 1000:.2f} ms in all, "
        f"{share_of_block:.4f} % of {ROUNDS} rounds of {arguments.environments} environments"
    )
    print(f"together {share_of_turn + share_of_block:.4f} % (goal: below 0.5 %)")
    machine = host.describe()
    print(f"{machine['cpu']}, {machine['usable_cpus']} CPUs, kernel {machine['kernel']}")


if __name__ == "__main__":
    main()
