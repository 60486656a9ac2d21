"""What does taking turns do to the numbers? Steps by their place in the turn, turns of three lengths, long runs.

    python benchmarks/switching.py --folder build/switching [--minutes 6] [--blocks 12] [--report-only]

Two kinds of blocks of one cell (LeNet in torch, batches of 64, quiet settings), of all environments each:

- lockstep: fresh processes that take turns of 1, of 4 and of 16 timed steps, `--rounds` rounds of each length. All
  turns of one length follow each other; which length comes first is random. Each turn begins with one untimed settling
  step, as in a study. All lengths are taken by the same processes, so that what differs is the length alone;
- sequential: one run after the other, `--sequential-s` seconds each, as `schedule: sequential` does.

Printed, always against bare, positive is slower:

1. overhead by the place of a step within turns of 4, the settling step first: an effect of switching sits at the start;
2. overhead by the length of the turn, and the differences between lengths within the same processes;
3. lockstep (turns of 4) less sequential, with the interval of the difference (Welch, since the blocks are independent).

Intervals are 95 % t intervals over blocks, each block's value being the median over rounds (of sequential blocks the
ratio of the two runs). They are not adjusted for their number: of twenty, one is expected to miss its truth.

What is measured stays in `--folder` as ordinary records, and a block that is there is not measured again. A call
measures for `--minutes` at most (a block that would not end in time is not begun), so that a few calls can make one
measurement.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from blocks import (
    TRUTH_PCT,
    each,
    engines_of,
    machine_line,
    make_ready,
    make_study,
    own_block,
    prepared_data,
    read_blocks,
    task_of,
    this_machine,
    usable,
)

from tare.measure import block
from tare.measure.lockstep import take_turns
from tare.measure.run import Run, Task
from tare.measure.watch import Watch
from tare.plan.errors import StudyError
from tare.plan.study import Study
from tare.platforms import EngineError
from tare.records.schema import Record, Turn
from tare.records.store import BadRecord
from tare.stats.intervals import Estimate, estimate
from tare.stats.lists import Independent, Side
from tare.stats.metrics import THROUGHPUT
from tare.stats.pairs import Pair, log_time_ratio, measured_together

LENGTHS = (1, 4, 16)
USUAL = 4
SETTLING = -1
# Places in a turn, the settling step first.
PLACES = {
    "settling step": [SETTLING],
    **{f"step {place + 1}": [place] for place in range(USUAL)},
    f"steps 2 to {USUAL}": [*range(1, USUAL)],
}
ENVIRONMENTS = ("bare-again", "injected-3", "docker", "bubblewrap")
KINDS = ("lockstep", "sequential")


# ---- measuring -----------------------------------------------------------------------------------------------------


def lockstep_block(task: Task, rounds: int) -> list[Record]:
    """Measure one block with turns of all lengths: see `own_block`."""

    def take(runs: list[Run]) -> None:
        make_ready(runs)
        random = Random(f"{task.study.seed}/{task.repetition}")
        watch = Watch([run for run in runs if run.alive])
        for part, steps in enumerate(random.sample(LENGTHS, len(LENGTHS))):

            def keep(run: Run, turn: Turn, first: int = part * rounds) -> None:
                run.turns.append(turn.model_copy(update={"round": first + turn.round}))

            take_turns(
                watch.runs, steps=steps, settle=1, min_rounds=rounds, max_rounds=rounds, deadline_t=math.inf,
                clock=time.monotonic, random=random, on_turn=keep, on_failure=Run.fail,
            )  # fmt: skip
        watch.end()
        each(runs, Run.finish)

    return own_block(task, take)


def missing(folder: Path, environments: Sequence[str], number: int) -> list[tuple[str, int]]:
    """The blocks that are still to be measured, kinds in turn: kind, repetition."""
    there = {kind: read_blocks(folder / kind) for kind in KINDS}
    return [
        (kind, repetition)
        for repetition in range(1, number + 1)
        for kind in KINDS
        if not {*environments} <= there[kind].get(repetition, {}).keys()
    ]


def measure(arguments: argparse.Namespace, environments: Sequence[str]) -> None:
    """Measure what is missing, for as long as the call may take."""
    studies: dict[str, Study] = {
        kind: make_study(
            kind, environments, schedule=kind, rounds={"min": 1, "max": 100_000}, repetitions=arguments.blocks
        )
        for kind in KINDS
    }
    data, until = prepared_data(arguments.folder), time.monotonic() + 60 * arguments.minutes
    took_s = dict.fromkeys(KINDS, 0.0)
    with this_machine("benchmarks/switching.py"):
        for kind, repetition in missing(arguments.folder, environments, arguments.blocks):
            begun = time.monotonic()
            if begun + took_s[kind] > until:
                print(f"The {arguments.minutes:g} minutes of this call are over.", file=sys.stderr)
                return
            seconds = arguments.sequential_s * len(environments)
            task = task_of(studies[kind], arguments.folder / kind, repetition, seconds, data)
            records = (
                lockstep_block(task, arguments.rounds)
                if kind == "lockstep"
                else block.measure_block(task, engines_of(task))
            )
            took_s[kind] = max(took_s[kind], time.monotonic() - begun)
            print(
                f"{kind}, block {repetition}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True
            )
            for record in records:
                if record.failure is not None:
                    print(f"  {record.environment} failed: {record.failure.reason}", file=sys.stderr)


# ---- what comes of it ----------------------------------------------------------------------------------------------


def turns_of(record: Record, steps: int) -> Record:
    """The run with its turns of one length only."""
    return record.model_copy(update={"turns": [turn for turn in record.turns if turn.steps == steps]})


def by_place(pair: Pair, steps: int, places: Sequence[int]) -> float | None:
    """Median over rounds of the log ratio of the time that some steps of a turn take, by their places.

    Args:
        steps: turns of so many timed steps only.
        places: `SETTLING`, or 0 to `steps` - 1.

    Returns:
        None where the two share no round or were not measured together.
    """

    def durations_s(record: Record) -> dict[int, float]:
        return {
            turn.round: sum(
                turn.settle_s[0] if place == SETTLING else turn.durations_s[place] for place in places
            )
            for turn in record.turns
            if turn.steps == steps
        }

    baseline, platform = durations_s(pair.baseline), durations_s(pair.platform)
    shared = baseline.keys() & platform.keys()
    if not shared or not measured_together(pair):
        return None
    return median(math.log(platform[number] / baseline[number]) for number in shared)


def pairs(blocks: Mapping[int, Mapping[str, Record]], environment: str) -> list[Pair]:
    """The blocks in which the environment and bare both ended well."""
    return [
        Pair(block["bare"], block[environment])
        for _, block in sorted(blocks.items())
        if all(name in block and block[name].status == "ok" for name in ("bare", environment))
    ]


@dataclass(frozen=True)
class Effects:
    """The log ratios of one environment against bare, one a block.

    Attributes:
        places: of turns of 4 steps, by the titles of `PLACES`.
        lengths: by length of the turn; block by block the same as in `places`.
        sequential: of the sequential blocks.
    """

    places: dict[str, list[float]]
    lengths: dict[int, list[float]]
    sequential: list[float]


def effects(
    lockstep: Mapping[int, Mapping[str, Record]],
    sequential: Mapping[int, Mapping[str, Record]],
    environment: str,
) -> Effects:
    """What the records say of one environment."""
    together = pairs(lockstep, environment)
    return Effects(
        {
            title: _known(by_place(pair, USUAL, places) for pair in together)
            for title, places in PLACES.items()
        },
        {
            steps: _known(
                log_time_ratio(Pair(turns_of(pair.baseline, steps), turns_of(pair.platform, steps)))
                for pair in together
            )
            for steps in LENGTHS
        },
        _known(log_time_ratio(pair) for pair in pairs(sequential, environment)),
    )


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def shown(found: Estimate | Independent | None) -> str:
    """An overhead in percent with its interval."""
    if found is None:
        return "not measured"
    interval = found.interval_pct()
    return f"{found.pct:+.2f}" + (f" [{interval[0]:+.2f}, {interval[1]:+.2f}]" if interval else "")


def _estimate(values: Sequence[float]) -> Estimate | None:
    return estimate(values, THROUGHPUT) if values else None


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table under its title."""
    lines = [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]
    return "\n".join([title, "", *lines, ""])


def report(folder: Path, environments: Sequence[str]) -> str:
    """All of the outcome, as Markdown."""
    lockstep, sequential = (read_blocks(folder / kind) for kind in KINDS)
    found = {name: effects(lockstep, sequential, name) for name in environments if name != "bare"}
    parts = [
        table(
            f"Throughput overhead against bare, %, by place of the step in turns of {USUAL} ({len(lockstep)} blocks)",
            ["environment", *PLACES],
            [[name, *(shown(_estimate(v)) for v in one.places.values())] for name, one in found.items()],
        ),
        table(
            "By length of the turn, and differences within the same processes",
            ["environment", *(f"turns of {n}" for n in LENGTHS), "1 less 4", "16 less 4"],
            [
                [
                    name,
                    *(shown(_estimate(one.lengths[n])) for n in LENGTHS),
                    *(shown(_difference(one.lengths[n], one.lengths[USUAL])) for n in (1, 16)),
                ]
                for name, one in found.items()
            ],
        ),
        table(
            f"Lockstep (turns of {USUAL}) and sequential runs ({len(sequential)} blocks)",
            ["environment", "truth", "lockstep", "sequential", "lockstep less sequential"],
            [
                [
                    name,
                    f"{TRUTH_PCT[name]:.2f}" if name in TRUTH_PCT else "",
                    shown(_estimate(one.lengths[USUAL])),
                    shown(_estimate(one.sequential)),
                    shown(
                        Independent(Side.of(one.sequential), Side.of(one.lengths[USUAL]), THROUGHPUT, 0.95)
                        if one.sequential and one.lengths[USUAL]
                        else None
                    ),
                ]
                for name, one in found.items()
            ],
        ),
    ]
    parts.append("\n".join([*runs_said(lockstep, "lockstep"), *runs_said(sequential, "sequential")]))
    return "\n".join([*parts, machine_line()])


def _difference(values: Sequence[float], others: Sequence[float]) -> Estimate | None:
    """Of two lists that belong together block by block."""
    return _estimate([a - b for a, b in zip(values, others, strict=True)])


def runs_said(blocks: Mapping[int, Mapping[str, Record]], kind: str) -> list[str]:
    """How many runs there are, how many failed and how many were disturbed, in a line."""
    runs = [record for one in blocks.values() for record in one.values()]
    if not runs:
        return []
    ok = [run for run in runs if run.status == "ok"]
    noisy = sum(run.noise_verdict.startswith("noisy") for run in ok)
    steps = sum(run.timed_steps for run in ok) / max(len(ok), 1)
    return [
        f"{kind}: {len(runs)} runs, {len(runs) - len(ok)} failed, {noisy} noisy (kept); {steps:.0f} timed steps a run"
    ]


def main() -> int:
    """Measure what is missing, and report."""
    parser = argparse.ArgumentParser(description="Does taking turns change the numbers?")
    parser.add_argument(
        "--folder", type=Path, required=True, help="records; what is there is not measured again"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="how long this call may measure (60)")
    parser.add_argument("--blocks", type=int, default=12, help="blocks of each kind (12)")
    parser.add_argument(
        "--rounds", type=int, default=20, help="rounds of each length in a lockstep block (20)"
    )
    parser.add_argument("--sequential-s", type=float, default=12.0, help="seconds of a sequential run (12)")
    parser.add_argument("--environments", nargs="+", default=[*ENVIRONMENTS], help="beside bare")
    parser.add_argument("--report-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    if arguments.blocks < 2 or arguments.rounds < 1 or arguments.minutes <= 0 or arguments.sequential_s <= 0:
        parser.error("an interval needs at least 2 blocks, a block at least 1 round and some time")
    environments = ["bare", *(name for name in arguments.environments if name != "bare")]
    try:
        if not arguments.report_only:
            arguments.folder.mkdir(parents=True, exist_ok=True)
            environments = usable(environments)
            measure(arguments, environments)
        print(report(arguments.folder, environments))
    except (KeyboardInterrupt, block.Interrupted) as stop:
        print(f"{str(stop) or 'Interrupted.'} The same call measures the rest.", file=sys.stderr)
        return 130
    except (StudyError, BadRecord, EngineError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
