"""What does Tare's worker cost? The same torch loop by hand and through the worker, interleaved.

    python benchmarks/harness_tax.py [--sessions 20] [--rounds 60]

Each session starts both programs afresh and lets them take turns, as a block does: an untimed step, then four timed
ones. Printed is the ratio of the times per step (worker / by hand): over rounds the median, over sessions the mean with
its 95 % t interval on the logarithms. Goal: within 0.5 %.
"""

from __future__ import annotations

import argparse
import math
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from scipy import stats

import tare
from tare import platforms
from tare.data import digits
from tare.measure import locks
from tare.measure.conversation import Conversation
from tare.measure.variables import worker_variables
from tare.plan.quiet import QUIET, in_force
from tare.platforms import Launch
from tare.telemetry import host

STEPS = 4
WARMUP_STEPS = 30
SOURCE = Path(tare.__file__).resolve().parents[1]


class ByHand:
    """The plain loop."""

    def __init__(self, data: Path, variables: dict[str, str], threads: int) -> None:
        program = [sys.executable, str(Path(__file__).with_name("torch_by_hand.py")), str(data), str(threads)]
        self._process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables
        )

    def ready(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.readline()
        self.steps(WARMUP_STEPS)

    def steps(self, count: int) -> float:
        """Seconds that so many steps take."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class ThroughTheWorker:
    """Tare's worker, started and spoken to as in a study."""

    def __init__(self, data: Path, variables: dict[str, str], threads: int, run_dir: Path) -> None:
        launcher = str(SOURCE / "tare" / "worker" / "launch.py")
        assignments = [f"{name}={value}" for name, value in variables.items()]
        program = (
            sys.executable, "-I", "-S", launcher, *assignments, "--", sys.executable, "-m", "tare.worker"
        )  # fmt: skip
        launch = Launch(variables["TARE_RUN"], program, variables, run_dir, (), run_dir / "worker.log")
        self._handle = platforms.create("bare").start(launch)
        self._conversation = Conversation(self._handle.lines, 120, lambda name, t: None)
        self._conversation.start(
            {"framework": "torch", "network": "lenet", "batch_size": 64, "threads": threads, "device": "cpu",
             "seed": 1, "data_path": str(data), "gc_off": True}
        )  # fmt: skip

    def ready(self) -> None:
        self._conversation.ready()
        self._conversation.warm_up(WARMUP_STEPS)

    def steps(self, count: int) -> float:
        """Seconds that so many steps take, as Tare reports them."""
        return self._conversation.turn(round_index=0, position=0, steps=count, settle=0).timed_s

    def close(self) -> None:
        self._conversation.stop()
        self._handle.wait(10)
        self._handle.close()


def session(data: Path, rounds: int, seed: int) -> float:
    """One pair of fresh processes: median over rounds of the log ratio of times, worker over by hand."""
    threads = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="tare-tax-") as folder:
        variables = worker_variables(
            token=f"{locks.campaign()}-{secrets.token_hex(4)}", threads=threads, switches=in_force(QUIET, "torch", {}),
            run_dir=Path(folder), source=SOURCE, device="cpu",
        )  # fmt: skip
        hand, worker = (
            ByHand(data, variables, threads),
            ThroughTheWorker(data, variables, threads, Path(folder)),
        )
        programs: list[ByHand | ThroughTheWorker] = [hand, worker]
        random, ratios = Random(seed), []
        try:
            for program in programs:
                program.ready()
            for _ in range(rounds):
                random.shuffle(programs)
                taken = {}
                for program in programs:
                    program.steps(1)
                    taken[program] = program.steps(STEPS)
                ratios.append(math.log(taken[worker] / taken[hand]))
        finally:
            hand.close()
            worker.close()
    return statistics.median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description="Ratio of Tare's worker to the same torch loop by hand.")
    parser.add_argument("--sessions", type=int, default=20, help="pairs of fresh processes (20)")
    parser.add_argument("--rounds", type=int, default=60, help="rounds of a session (60)")
    arguments = parser.parse_args()
    if arguments.sessions < 2 or arguments.rounds < 1:
        parser.error("an interval needs at least 2 sessions, and a session at least 1 round")
    with (
        tempfile.TemporaryDirectory() as folder,
        locks.Lock(locks.host_lock_path(), "This machine", "benchmarks/harness_tax.py") as lock,
    ):
        lock.acquire(wait=True, say=print)
        data = Path(folder) / "digits.npz"
        digits.write(data)
        logs = []
        for number in range(arguments.sessions):
            logs.append(session(data, arguments.rounds, number))
            print(
                f"session {number + 1}: worker {100 * math.expm1(logs[-1]):+.2f} % slower than by hand",
                file=sys.stderr,
                flush=True,
            )
    mean = statistics.mean(logs)
    half = stats.t.ppf(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    low, middle, high = (math.exp(mean + d) for d in (-half, 0, half))
    machine = host.describe()
    print(
        f"time per step, worker / by hand: {middle:.4f} [{low:.4f}, {high:.4f}], 95 % t interval, {len(logs)} sessions"
    )
    print(f"{machine['cpu']}, {machine['usable_cpus']} CPUs, kernel {machine['kernel']}")


if __name__ == "__main__":
    main()
