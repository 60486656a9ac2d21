"""Which settings make equal processes equally fast on this machine? Sessions of Tare's workers, settings in turn.

    python benchmarks/quiet_settings.py --framework torch [--minutes 12] [--out results/quiet-settings]

A session holds some equal workers under a candidate's settings and one under the settings that Tare has by default, all
fresh processes, alive at once, and lets them take turns as a block does. Equal workers differ by what each process
happens to be; the machine's level cancels, since the workers of a round are next to each other. Candidates are taken
in a random order, each once before any is taken again, so that a drift of the machine favours none. What is measured
is appended to a file, a line a session; called again it goes on from there.

Printed for each candidate: the standard deviation of the log ratio of two equal processes (as Tare takes it: median
over rounds) in percent with its 95 % interval (chi-square), and the time of its steps against the default's with the
95 % t interval over sessions.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import combinations, pairwise
from pathlib import Path
from random import Random
from statistics import fmean, median, stdev
from typing import Any

from scipy import stats

import tare
from tare import platforms
from tare.data import digits
from tare.measure import locks
from tare.measure.conversation import Conversation
from tare.measure.lockstep import RunFailed, take_turns
from tare.measure.variables import worker_variables
from tare.plan.quiet import QUIET, SWITCHES, in_force
from tare.platforms import Launch
from tare.records.schema import Turn
from tare.telemetry import host

STEPS, SETTLE, WARMUP_STEPS = 4, 1, 20
SOURCE = Path(tare.__file__).resolve().parents[1]
# Debian's libjemalloc2 and libtcmalloc-minimal4; a library that isn't there has no candidate.
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}
JEMALLOC = "thp:always,dirty_decay_ms:-1,muzzy_decay_ms:-1,narenas:1"
# The worker as it is, but with two threads for operations beside each other; set by no variable.
INTER_OP = (
    "import sys, tensorflow as tf; "
    "given = tf.config.threading.set_inter_op_parallelism_threads; "
    "tf.config.threading.set_inter_op_parallelism_threads = lambda count: given(2); "
    "from tare.worker.__main__ import main; sys.exit(main())"
)


@dataclass(frozen=True)
class Candidate:
    """Settings of a worker.

    Attributes:
        switches: Tare's quiet settings that are on.
        variables: further ones.
        threads: of a worker; 0 for all CPUs.
        pinned: whether the process may use one CPU only.
        code: Python that is run instead of the worker's module.
    """

    switches: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    threads: int = 0
    pinned: bool = False
    code: str = ""


def library(name: str) -> str:
    """The path of an allocator's library; empty where it isn't installed."""
    folders = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")
    return next((f"{folder}/{name}" for folder in folders if Path(folder, name).exists()), "")


def candidates(framework: str) -> dict[str, Candidate]:
    """What is tried; `quiet` is what Tare does by default."""
    every = tuple(in_force(QUIET, framework, dict.fromkeys(SWITCHES, True)))
    on = tuple(in_force(QUIET, framework, {}))
    heap = ("huge_pages", "one_heap")
    no_heap = tuple(name for name in on if name not in heap)
    found = {"quiet": Candidate(on), "all off": Candidate(())}
    for name in every:
        if name in on:
            found[f"quiet without {name}"] = Candidate(tuple(other for other in on if other != name))
        else:
            found[f"quiet with {name}"] = Candidate(tuple(sorted((*on, name))))
    found |= {f"{name} alone": Candidate((name,)) for name in every if name != "gc_off"}
    for name, file in LIBRARIES.items():
        path = library(file)
        if path:
            extra = {"MALLOC_CONF": JEMALLOC} if name == "jemalloc" else {}
            found[f"{name} instead of {' and '.join(heap)}"] = Candidate(
                no_heap, {"LD_PRELOAD": path, **extra}
            )
    if framework == "torch":
        no_spin = tuple(name for name in on if name != "short_spin")
        found["OMP_WAIT_POLICY=passive instead of short_spin"] = Candidate(
            no_spin, {"OMP_WAIT_POLICY": "passive"}
        )
    if framework == "tensorflow":
        found |= {
            "one thread on one CPU": Candidate(on, threads=1, pinned=True),
            "one thread": Candidate(on, threads=1),
            "oneDNN off": Candidate(on, {"TF_ENABLE_ONEDNN_OPTS": "0"}),
            "two threads between operations": Candidate(on, code=INTER_OP),
        }
    return found


class Equal:
    """One worker; takes turns as a run does."""

    def __init__(
        self, framework: str, network: str, batch_size: int, candidate: Candidate, data: Path
    ) -> None:
        self.turns: list[Turn] = []
        self._folder = tempfile.TemporaryDirectory(prefix="tare-quiet-")
        cpus = sorted(os.sched_getaffinity(0))
        threads = candidate.threads or len(cpus)
        variables = worker_variables(
            token=f"{locks.campaign()}-{secrets.token_hex(4)}", threads=threads, switches=list(candidate.switches),
            run_dir=Path(self._folder.name), source=SOURCE, device="cpu",
        ) | dict(candidate.variables)  # fmt: skip
        pin = ["/usr/bin/taskset", "-c", str(cpus[-1])] if candidate.pinned else []
        what = ["-c", candidate.code] if candidate.code else ["-m", "tare.worker"]
        program = (
            sys.executable, "-I", "-S", str(SOURCE / "tare" / "worker" / "launch.py"),
            *(f"{name}={value}" for name, value in variables.items()),
            "--", *pin, sys.executable, *what,
        )  # fmt: skip
        log = Path(self._folder.name) / "worker.log"
        launch = Launch(variables["TARE_RUN"], program, variables, Path(self._folder.name), (), log)
        self._handle = platforms.create("bare").start(launch)
        self._talk = Conversation(self._handle.lines, 120, lambda name, t: None)
        self._talk.start(
            {"framework": framework, "network": network, "batch_size": batch_size, "threads": threads,
             "device": "cpu", "seed": 1, "data_path": str(data), "gc_off": "gc_off" in candidate.switches}
        )  # fmt: skip

    def ready(self) -> None:
        """Wait until it is built."""
        self._talk.ready()

    def warm_up(self) -> None:
        """Untimed steps."""
        self._talk.warm_up(WARMUP_STEPS)

    def turn(self, *, round_index: int, position: int, steps: int, settle: int) -> Turn:
        """See `tare.measure.lockstep.Runner`."""
        return self._talk.turn(round_index=round_index, position=position, steps=steps, settle=settle)

    def stop(self) -> None:
        """End it in peace."""
        self._talk.stop()
        self._handle.wait(20)

    def close(self) -> None:
        """Leave nothing running and nothing on disk."""
        self._handle.close()
        self._folder.cleanup()


def _fail(runner: Equal, failure: RunFailed) -> None:
    raise failure


def session(make: Callable[[bool], Equal], equal: int, rounds: int, seed: str) -> dict[str, Any]:
    """Seconds a step in each round of each worker, those under the candidate's settings first.

    Args:
        make: starts a worker, under the candidate's settings or (False) under the default ones.
        equal: workers under the candidate's settings.
    """
    with ExitStack() as stack:
        workers = []
        for number in range(equal + 1):
            worker = make(number < equal)
            stack.callback(worker.close)
            workers.append(worker)
        for worker in workers:
            worker.ready()
        for worker in workers:
            worker.warm_up()
        take_turns(
            workers, steps=STEPS, settle=SETTLE, min_rounds=rounds, max_rounds=rounds, deadline_t=math.inf,
            clock=time.monotonic, random=Random(seed), on_turn=lambda w, turn: w.turns.append(turn), on_failure=_fail,
        )  # fmt: skip
        for worker in workers:
            worker.stop()
        times = [[turn.timed_s / turn.steps for turn in worker.turns] for worker in workers]
        idle = [_spun_s(worker.turns) for worker in workers]
    return {"step_s": times[:-1], "default_step_s": times[-1], "spun_s": idle[:-1]}


def _spun_s(turns: Sequence[Turn]) -> float:
    """CPU seconds that a worker used after a turn, the median over its waits."""
    used = [b.cpu_s[0] - a.cpu_s[1] for a, b in pairwise(turns) if a.cpu_s and b.cpu_s]
    return median(used) if used else 0.0


def log_ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """Log of the ratio of two workers' times, the median over rounds, as `tare.stats.pairs` takes it."""
    return median(math.log(a / b) for a, b in zip(one, other, strict=True))


@dataclass(frozen=True)
class Result:
    """What was found of a candidate; intervals are of 95 %, None where there is one session only.

    Attributes:
        sd_pct: standard deviation of the log ratio of two equal processes, percent.
        relative: time of a step, candidate's over default's.
        step_s: median of the candidate's own.
        spun_s: CPU time after a turn.
    """

    sessions: int
    sd_pct: float
    sd_interval_pct: tuple[float, float]
    relative: float
    relative_interval: tuple[float, float] | None
    step_s: float
    spun_s: float


def result(sessions: Sequence[Mapping[str, Any]]) -> Result:
    """What the sessions of one candidate come to.

    The mean square of the log ratios of all pairs of k equal workers estimates the variance of one ratio with k - 1
    degrees of freedom a session. Its true mean is 0, since the two are equal.
    """
    squares = [
        fmean(log_ratio(one, other) ** 2 for one, other in combinations(s["step_s"], 2)) for s in sessions
    ]
    freedom = [len(s["step_s"]) - 1 for s in sessions]
    degrees = sum(freedom)
    variance = sum(square * f for square, f in zip(squares, freedom, strict=True)) / degrees
    low, high = (math.sqrt(variance * degrees / stats.chi2.ppf(p, degrees)) for p in (0.975, 0.025))
    logs = [fmean(log_ratio(one, s["default_step_s"]) for one in s["step_s"]) for s in sessions]
    interval = None
    if len(logs) > 1:
        half = float(stats.t.ppf(0.975, len(logs) - 1)) * stdev(logs) / math.sqrt(len(logs))
        interval = (math.exp(fmean(logs) - half), math.exp(fmean(logs) + half))
    return Result(
        sessions=len(sessions),
        sd_pct=100 * math.sqrt(variance),
        sd_interval_pct=(100 * low, 100 * high),
        relative=math.exp(fmean(logs)),
        relative_interval=interval,
        step_s=median(t for s in sessions for worker in s["step_s"] for t in worker),
        spun_s=median(spun for s in sessions for spun in s["spun_s"]),
    )


def table(lines: Iterable[Mapping[str, Any]]) -> str:
    """The results as a Markdown table, the quietest first."""
    of: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        of.setdefault(line["name"], []).append(line)
    rows = [
        "| settings | sd of the ratio of equal processes (%) | 95 % | step / default's | 95 % | step (ms) "
        "| CPU time after a turn (ms) | sessions |",
        "|---|---:|---|---:|---|---:|---:|---:|",
    ]
    for name, found in sorted(((n, result(s)) for n, s in of.items()), key=lambda pair: pair[1].sd_pct):
        between = found.relative_interval
        rows.append(
            f"| {name} | {found.sd_pct:.2f} | {found.sd_interval_pct[0]:.2f} to {found.sd_interval_pct[1]:.2f} "
            f"| {found.relative:.3f} | {'' if between is None else f'{between[0]:.3f} to {between[1]:.3f}'} "
            f"| {1e3 * found.step_s:.2f} | {1e3 * found.spun_s:.2f} | {found.sessions} |"
        )
    return "\n".join(rows)


def _read(path: Path, setup: Mapping[str, Any], tried: Mapping[str, Candidate]) -> list[dict[str, Any]]:
    """The sessions of this setup that are on disk; those of other settings under the same name do not count."""
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        line
        for line in lines
        if line["setup"] == setup
        and line["name"] in tried
        and line["settings"] == json.loads(json.dumps(asdict(tried[line["name"]])))
    ]


def _following(tried: Mapping[str, Candidate], done: Sequence[Mapping[str, Any]], random: Random) -> str:
    """The candidate that comes next: any of those with the fewest sessions."""
    count = dict.fromkeys(tried, 0)
    for line in done:
        count[line["name"]] += 1
    return random.choice([name for name in tried if count[name] == min(count.values())])


def main() -> None:
    parser = argparse.ArgumentParser(description="Which settings make equal processes equally fast here?")
    parser.add_argument("--framework", default="torch", choices=("torch", "tensorflow"))
    parser.add_argument("--network", default="lenet", help="network (lenet)")
    parser.add_argument("--batch-size", type=int, default=64, help="items a step (64)")
    parser.add_argument("--sessions", type=int, default=8, help="sessions of each candidate (8)")
    parser.add_argument("--rounds", type=int, default=24, help="rounds of a session (24)")
    parser.add_argument(
        "--equal", type=int, default=3, help="equal workers of a session, beside the default's (3)"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no session after this")
    parser.add_argument("--only", help="names of candidates, with commas; left out, all")
    parser.add_argument(
        "--out", type=Path, default=Path("results/quiet-settings"), help="folder of the sessions"
    )
    asked = parser.parse_args()
    if asked.sessions < 0 or asked.rounds < 1 or asked.equal < 2 or asked.batch_size < 1:
        parser.error("it needs at least 2 equal workers, 1 round and 1 item a step")
    tried = candidates(asked.framework)
    if asked.only:
        names = [name.strip() for name in asked.only.split(",")]
        unknown = [name for name in names if name not in tried]
        if unknown:
            parser.error(f"there is no candidate {unknown[0]!r}; there is {', '.join(tried)}")
        tried = {name: tried[name] for name in names}
    machine = host.describe()
    setup = {
        "framework": asked.framework, "network": asked.network, "batch_size": asked.batch_size,
        "rounds": asked.rounds, "equal": asked.equal, "steps": STEPS, "cpu": machine["cpu"],
        "cpus": machine["usable_cpus"], "kernel": machine["kernel"],
    }  # fmt: skip
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / f"{asked.framework}.jsonl"
    default = Candidate(tuple(in_force(QUIET, asked.framework, {})))
    done, until, random = _read(path, setup, tried), time.monotonic() + 60 * asked.minutes, Random()
    with (
        tempfile.TemporaryDirectory() as folder,
        locks.Lock(locks.host_lock_path(), "This machine", "benchmarks/quiet_settings.py") as lock,
    ):
        lock.acquire(wait=True, say=print)
        data = Path(folder) / "digits.npz"
        digits.write(data)
        while len(done) < asked.sessions * len(tried) and time.monotonic() < until:
            name = _following(tried, done, random)

            def make(candidates: bool, name: str = name) -> Equal:
                settings = tried[name] if candidates else default
                return Equal(asked.framework, asked.network, asked.batch_size, settings, data)

            begun = time.monotonic()
            line = {
                "name": name, "settings": asdict(tried[name]), "setup": setup,
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                **session(make, asked.equal, asked.rounds, secrets.token_hex(4)),
            }  # fmt: skip
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            done.append(json.loads(json.dumps(line)))
            took = time.monotonic() - begun
            print(f"session {len(done)}: {name}, {took:.0f} s", file=sys.stderr, flush=True)
    print(table(done))
    print(f"\n{asked.framework}, {asked.network}, {asked.batch_size} items a step; {machine['cpu']}, "
          f"{machine['usable_cpus']} CPUs, kernel {machine['kernel']}")  # fmt: skip


if __name__ == "__main__":
    main()
