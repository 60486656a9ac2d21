"""How finely do methods of measuring tell two programs apart in the same time? Six methods, two known answers.

    python benchmarks/resolution.py --folder build/resolution [--minutes 5] [--methods abcdef]
        [--comparisons bare-again injected-3] [--repetitions a=3,f=10] [--hours 2] [--report-only]

The program is LeNet in torch, batches of 64. Bare is compared with itself under a second name (A/A, truth 0) and with
the same made 3 % slower by real waiting in each step (truth 2.91 % of throughput). Each method has `--minutes` of wall
time for one comparison, starts of processes included, and is used as its own practice has it:

a. The papers' protocol: up to 20 runs of one, then as many of the other, mean throughput over the steps of a run,
   overhead by the papers' formula, Welch's t interval of the two lists.
b. hyperfine on two commands, each a whole short training. It offers `--warmup` to fill the disk's caches, which a trial
   run that is needed anyway does here, and no order but one command after the other. It can time whole commands only,
   so start-up (importing torch) is in each of its times. To hold it against the same truth as the others, the mean of
   start-ups, timed by hyperfine too, is taken off each time; only the steps after the start-up are lengthened. What the
   whole commands say, with the truth for them, is printed beside it. Welch's t test is what hyperfine's own scripts
   use. That the mean of the start-ups has an error of its own is left out, in hyperfine's favour: both sides share it.
c. pyperf, timing the steps inside its worker processes; loops calibrated by pyperf, its own 3 values and 1 warm-up a
   process, and as many processes as fit (about the 40 of its `--rigorous`). Importing torch and ten steps of warm-up
   are not timed. The interval is Welch's over processes; `compare_to` tests all values as though each were independent,
   which three values of one process are not, so what comes of that is only printed beside it.
d. Randomised multiple interleaved trials (Abedi & Brecht, ICPE 2017): one run of each in random order, over and over;
   Tare's `schedule: sequential`, plain settings, t interval over the trials' log ratios.
e. Duet (Bulej et al., ICPE 2020): both at the same time, one thread on a CPU of its own each, begun together again and
   again; the ratio of what was measured at the same time, geometric mean over a pair of processes, t interval over
   pairs. The two take turns on the CPUs. It measures the program with one thread, since there are two CPUs here.
f. Tare: lockstep, quiet settings, median over rounds, t interval over blocks.
g, h. For the parts of Tare's way, only when asked for: (d) with quiet settings, (f) with plain ones.

All of them train the same network by the same code with the same packages and variables, and (a) to (d) and (f) with
the same number of threads. Lists are compared on the log scale by `tare.stats`.

Each repetition of a method and a comparison is one JSON file in `--folder`, with every run's values. A call measures
what is missing, in random order (so that no method gets the machine's good hour), and with `--hours` begins nothing
that would end later. It exits with 1 where a goal is not met.

Needed besides Tare: hyperfine for (b), from the distribution's package of that name; (c) installs pyperf into a virtual
environment of its own under `--folder`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from blocks import machine_line, prepared_data, this_machine
from resolution_methods import METHODS, Failed, Job, pyperf_python, shuffled
from resolution_report import COMPARISONS, report

import tare
from tare.measure.block import Interrupted
from tare.platforms import EngineError
from tare.records.store import write_atomically
from tare.worker.networks import NETWORKS

USUAL_METHODS = "abcdef"
REPETITIONS = {**dict.fromkeys(METHODS, 3), "f": 10}
VERSION = 1


def repetitions(text: str) -> dict[str, int]:
    """Of `a=3,f=10`, with the usual numbers for the others.

    Raises:
        ValueError: it is nothing of the kind.
    """
    found = dict(REPETITIONS)
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*([a-z])=(\d+)\s*", part)
        if not match or match[1] not in METHODS:
            raise ValueError(f"{part!r} is no number of repetitions; write for example a=3,f=10")
        found[match[1]] = int(match[2])
    return found


def path_of(folder: Path, method: str, platform: str, repetition: int) -> Path:
    """Where a result lies."""
    return folder / method / f"{platform}-{repetition}.json"


def wanted(
    methods: str, numbers: Mapping[str, int], platforms: Sequence[str] = tuple(COMPARISONS)
) -> list[tuple[str, str, int]]:
    """All jobs: method, platform, repetition."""
    return [
        (method, platform, repetition)
        for method in methods
        for platform in platforms
        for repetition in range(1, numbers[method] + 1)
    ]


def read(folder: Path, minutes: float) -> list[dict[str, Any]]:
    """All results of a folder.

    Raises:
        ValueError: one can't be read, or was measured with another time.
    """
    found = []
    for path in sorted(folder.glob("?/*-*.json")):
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            version, measured = result["version"], result["minutes"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path} can't be read ({error}); move it away and it is measured again."
            ) from None
        if version != VERSION:
            raise ValueError(f"{path} has version {version}, not {VERSION}; choose another --folder.")
        if measured != minutes:
            raise ValueError(
                f"{path} was measured in {measured:g} minutes, not {minutes:g}; choose another --folder or --minutes."
            )
        found.append(result)
    return found


def missing(jobs: list[tuple[str, str, int]], results: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    """The jobs that have no result yet, in their order."""
    there = {(r["method"], r["platform"], r["repetition"]) for r in results}
    return [job for job in jobs if job not in there]


def measure(job: Job, minutes: float) -> dict[str, Any]:
    """One repetition of one method on one comparison.

    Raises:
        Failed: the method could not measure.
    """
    # what a call that was broken off left of it is no part of this one
    shutil.rmtree(job.folder, ignore_errors=True)
    job.folder.mkdir(parents=True)
    started_at, begun = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    values = METHODS[job.method][1](job)
    return {
        "version": VERSION,
        "method": job.method,
        "platform": job.platform,
        "repetition": job.repetition,
        "minutes": minutes,
        "model": job.model,
        "wall_s": round(time.monotonic() - begun, 3),
        "started_at": started_at,
        "machine": machine_line(),
        "tare_version": tare.__version__,
        "values": values,
    }


def measure_missing(arguments: argparse.Namespace) -> bool:
    """Measure what is missing; returns whether all of it could be measured."""
    folder = arguments.folder
    order = shuffled(wanted(arguments.methods, arguments.repetitions, arguments.comparisons), arguments.seed)
    todo = missing(order, read(folder, arguments.minutes))
    if any(method == "c" for method, _, _ in todo):
        pyperf_python(folder / "tools")
    data, until = prepared_data(folder), time.monotonic() + 3600 * arguments.hours
    complete = True
    with this_machine("benchmarks/resolution.py"):
        for number, (method, platform, repetition) in enumerate(todo, start=1):
            if time.monotonic() + 60 * arguments.minutes > until:
                print(f"The time of this call is over; {len(todo) - number + 1} are left.", file=sys.stderr)
                break
            path = path_of(folder, method, platform, repetition)
            job = Job(
                method, platform, repetition, 60 * arguments.minutes, arguments.model, data.resolve(),
                path.with_suffix(""), folder / "tools",
            )  # fmt: skip
            title = f"{number} of {len(todo)}: ({method}) {METHODS[method][0]}, {COMPARISONS[platform]}, {repetition}"
            print(title, file=sys.stderr, flush=True)
            try:
                write_atomically(path, json.dumps(measure(job, arguments.minutes), indent=1) + "\n")
            except Failed as failure:
                complete = False
                print(f"  {failure}", file=sys.stderr)
    return complete


def main() -> int:
    parser = argparse.ArgumentParser(
        description="How finely do methods tell two programs apart in the same time?"
    )
    parser.add_argument(
        "--folder", type=Path, required=True, help="results; what is there is not measured again"
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="wall time of one comparison (5)")
    parser.add_argument(
        "--methods", default=USUAL_METHODS, help=f"letters of {''.join(METHODS)} ({USUAL_METHODS})"
    )
    parser.add_argument("--repetitions", default="", help="such as a=3,f=10, which is also the default")
    parser.add_argument(
        "--comparisons", nargs="+", choices=[*COMPARISONS], default=[*COMPARISONS], help="which ones (both)"
    )
    parser.add_argument("--model", choices=sorted(NETWORKS), default="lenet", help="the network (lenet)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of everything (1)")
    parser.add_argument("--hours", type=float, default=1000.0, help="how long this call may measure")
    parser.add_argument("--report-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    unknown = set(arguments.methods) - METHODS.keys()
    if unknown or not arguments.methods or arguments.minutes <= 0:
        parser.error(f"--methods are letters of {''.join(METHODS)}, and --minutes more than 0")
    try:
        arguments.repetitions = repetitions(arguments.repetitions)
        complete = True
        if not arguments.report_only:
            arguments.folder.mkdir(parents=True, exist_ok=True)
            complete = measure_missing(arguments)
        results = read(arguments.folder, arguments.minutes)
    except (ValueError, Failed, EngineError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    except (KeyboardInterrupt, Interrupted) as stop:
        said = str(stop) or "Interrupted."
        print(f"{said} What was measured before is kept; the same call measures the rest.", file=sys.stderr)
        return 130
    if not results:
        print(f"{arguments.folder} has no result yet.", file=sys.stderr)
        return 2
    text, met = report(results, arguments.minutes)
    print(text)
    return 0 if met and complete else 1


if __name__ == "__main__":
    sys.exit(main())
