"""Do the intervals cover, and do the verdicts tell the truth? Simulated runs through everything from record to table.

    python benchmarks/coverage.py [--cells 500] [--blocks 5 10 20] [--rounds 10] [--only PATTERN] [--processes 2]

Each cell of a simulated study is one experiment: bare and five environments whose true overheads are 0, 1, 2, 3 and 5 %
of throughput, measured in as many blocks as --blocks says (several numbers: several studies, their results divided by
slashes). Printed for each kind of noise, in percent of the cells:

    covers      how often the 95 % interval holds the truth, over all five, with twice its Monte Carlo error
    half-width  of the interval, in points
    false       verdicts `slower` or `faster`, `within margin` too, where the truth is 0
    within      verdicts that say less than 2 % (`equivalent`, `within margin`) where the truth is 2 %, the worst case
    right       verdicts that are true and not `inconclusive`, where the truth is 0, 1, 2, 3, 5 %; these three are nan
                where one side is slower by more than its overhead, so that none of these is the truth
    flagged     rows with a note on drift or order

Then (--only drift), of bare and one other environment: how often what hits the other alone is flagged.
Then (--only tables), of tables with 16 comparisons of equal things: how often one has any false verdict, and any note
on drift or order.
Ends with 1 where the specification is missed by more than 3 Monte Carlo errors: coverage of 93 to 97 % (more is
allowed with heavy tails and in sequential), at most 5 % false, at most 5 % within; where more than 1 % of comparisons
in which nothing is the matter have a note; where more than 5 % of tables with Holm's levels have a false verdict. Fewer
than 100 experiments of a kind would let anything pass and are refused.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from statistics import fmean
from typing import Any, get_args

import numpy as np
import pandas as pd

from tare.stats import verdicts
from tare.stats.drift import FALSE_ALARMS
from tare.stats.multiple import Adjustment
from tare.stats.overhead import overhead
from tare.stats.simulation import Effect, Noise, simulate, study_of, tables

MARGIN_PCT = 2.0
TRUTHS = {f"costs-{pct}": Effect(overhead_pct=pct) for pct in (0, 1, 2, 3, 5)}
DIFFERENT = {verdicts.SLOWER, verdicts.FASTER, verdicts.SLOWER_WITHIN, verdicts.FASTER_WITHIN}
WITHIN = {verdicts.EQUIVALENT, verdicts.SLOWER_WITHIN, verdicts.FASTER_WITHIN}
# Verdicts that are true and say something, by the true overhead in percent.
RIGHT = {
    0: {verdicts.EQUIVALENT},
    1: {verdicts.SLOWER, verdicts.SLOWER_WITHIN, verdicts.EQUIVALENT},
    **{pct: {verdicts.SLOWER} for pct in (2, 3, 5)},
}
# Of fewer experiments 3 Monte Carlo errors let nearly anything pass.
FEWEST = 100
# Cells that are simulated at a time: they are held in memory.
CHUNK = 50
# Of the family: as the quick study with as many more blocks as are simulated.
FAMILY_CELLS, FAMILY_ENVIRONMENTS = 4, 4


@dataclass(frozen=True)
class Scenario:
    """Noise, and what is the matter with every environment but bare.

    Attributes:
        more: whether an interval may cover more often than it says.
        held: whether the specification holds for it; not where it is a known limit.
    """

    name: str
    noise: Noise
    schedule: Any = "lockstep"
    own: dict[str, float] = field(default_factory=dict)
    more: bool = False
    held: bool = True

    @property
    def effects(self) -> dict[str, Effect]:
        """The environments that are compared with bare."""
        return {name: replace(effect, **self.own) for name, effect in TRUTHS.items()}


CLEAN = Noise(process_pct=1, step_pct=3)
SHARED = {
    "normal noise": CLEAN,
    "steps with t3 tails": replace(CLEAN, tails="t3"),
    "bursts (lognormal) in 5 % of turns": replace(CLEAN, tails="bursts"),
    "3 shifts of level a block, sd 10 %": replace(CLEAN, shifts=3, shift_pct=10),
    "drift, +5 % within a block": replace(CLEAN, block_drift_pct=5),
    "drift, +2 % from block to block": replace(CLEAN, campaign_drift_pct=2),
    "processes differ by 0.3 %": replace(CLEAN, process_pct=0.3),
    "processes differ by 5 %": replace(CLEAN, process_pct=5),
}
# What becomes of one side alone, to see whether it is flagged.
OWN = {
    "nothing": Effect(),
    "becomes slower by 0.5 % from block to block": Effect(campaign_drift_pct=0.5),
    "becomes slower by 1 % from block to block": Effect(campaign_drift_pct=1),
    "becomes slower by 3 % within a block": Effect(block_drift_pct=3),
    "becomes slower by 5 % within a block": Effect(block_drift_pct=5),
    "slower by 3 % where it is started first": Effect(slot_pct=3),
    "slower by 3 % in turns that are the first of a round": Effect(position_pct=3),
    "has a state that wanders, sd 4 %, correlation 0.8": Effect(state_pct=4, state_kept=0.8),
}
SCENARIOS = [
    *(Scenario(name, noise, more=noise.tails != "normal") for name, noise in SHARED.items()),
    *(Scenario(name, noise, "sequential", more=True) for name, noise in SHARED.items() if "0.3" not in name),
    Scenario("15 % of one side's processes 6 % slower", CLEAN, own={"slow_share": 0.15, "slow_pct": 6}, held=False),
    Scenario(
        "one side's state wanders, sd 2 %, correlation 0.5", CLEAN,
        own={"state_pct": 2, "state_kept": 0.5}, held=False,
    ),
]  # fmt: skip


def compared(records: list[Any], plan: pd.DataFrame, study: Any, adjust: Adjustment) -> pd.DataFrame:
    """The rows of overhead.csv that compare."""
    frame = overhead(records, plan, metric=study.metric, margin_pct=MARGIN_PCT, adjust=adjust)
    return frame[frame["environment"] != frame["baseline"]]


def chunk(scenario: Scenario, blocks: int, rounds: int, cells: int, number: int) -> pd.DataFrame:
    """Rows of so many cells, each comparison by itself."""
    study = study_of(
        scenario.effects, cells=cells, blocks=blocks, schedule=scenario.schedule, rounds=rounds,
        steps_per_turn=1, seed=number,
    )  # fmt: skip
    seed = 1000 * SCENARIOS.index(scenario) + number
    records, plan = simulate(study, scenario.noise, scenario.effects, seed=seed)
    frame = compared(records, plan, study, "none")
    truth = frame["environment"].map({name: effect.truth_pct for name, effect in scenario.effects.items()})
    return pd.DataFrame(
        {
            "cell": [f"{number}/{cell}" for cell in frame["cell"]],
            "pct": [int(name.removeprefix("costs-")) for name in frame["environment"]],
            "truth": truth.astype(float),
            "level": frame["ci_level_pct"],
            "covers": ((frame["ci_low_pct"] <= truth) & (truth <= frame["ci_high_pct"])).astype(float),
            "half": ((frame["ci_high_pct"] - frame["ci_low_pct"]) / 2).astype(float),
            "verdict": frame["verdict"].astype(str),
            "flagged": frame["note"].str.contains("drift: |order: ").astype(float),
        }
    )


def family_chunk(blocks: int, rounds: int, number: int, adjust: Adjustment) -> list[tuple[bool, bool]]:
    """Tables of 16 comparisons of equal things: has it a false verdict, has it a note on drift or order?"""
    effects = {f"equal-{n}": Effect() for n in range(FAMILY_ENVIRONMENTS)}
    study = study_of(effects, cells=CHUNK, blocks=blocks, rounds=rounds, steps_per_turn=1, seed=number)
    records, plan = simulate(study, CLEAN, effects, seed=1_000_000 + number)
    frames = (compared(*table, study, adjust) for table in tables(records, plan, FAMILY_CELLS))
    whole = (frame for frame in frames if len(frame) == FAMILY_CELLS * FAMILY_ENVIRONMENTS)
    return [
        (frame["verdict"].isin(DIFFERENT).any(), frame["note"].str.contains("drift: |order: ").any())
        for frame in whole
    ]


def drift_chunk(effect: Effect, blocks: int, rounds: int, cells: int, number: int) -> list[bool]:
    """Of so many comparisons of two environments: has it a note on drift or order?"""
    effects = {"other": effect}
    study = study_of(effects, cells=cells, blocks=blocks, rounds=rounds, steps_per_turn=1, seed=number)
    records, plan = simulate(study, CLEAN, effects, seed=2_000_000 + number)
    return list(compared(records, plan, study, "none")["note"].str.contains("drift: |order: "))


@dataclass(frozen=True)
class Rates:
    """What came of one scenario with so many blocks, in percent; errors are standard errors."""

    level: float
    covers: float
    covers_error: float
    half: float
    false: float
    within: float
    right: list[float]
    flagged: float

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Rates:
        # the comparisons of one cell share their baseline: the cell is what is independent
        by_cell = rows.groupby("cell")["covers"].mean()
        # where one side has more than its overhead, verdicts are true of another number than the name says
        named = rows[(rows["truth"] - rows["pct"]).abs() < 1e-6]
        of = {pct: named[named["pct"] == pct]["verdict"] for pct in RIGHT}
        return cls(
            level=float(rows["level"].astype(float).mean()),
            covers=100 * float(by_cell.mean()),
            covers_error=100 * float(by_cell.std(ddof=1)) / math.sqrt(len(by_cell)),
            half=float(rows["half"].mean()),
            false=100 * float(of[0].isin(DIFFERENT).mean()),
            within=100 * float(of[2].isin(WITHIN).mean()),
            right=[100 * float(of[pct].isin(right).mean()) for pct, right in RIGHT.items()],
            flagged=100 * float(rows["flagged"].mean()),
        )

    def faults(self, cells: int, more: bool) -> list[str]:
        """What of the specification is not met."""
        # a hundred rates are looked at: two errors would be passed by some of them by chance
        error = 3 * 100 * math.sqrt(0.05 * 0.95 / cells)
        found = []
        if self.covers + 3 * self.covers_error < 93 or (
            not more and self.covers - 3 * self.covers_error > 97
        ):
            found.append(f"covers {self.covers:.1f} %")
        if self.false > 5 + error:
            found.append(f"{self.false:.1f} % false verdicts")
        if self.within > 5 + error:
            found.append(f"{self.within:.1f} % wrongly within the margin")
        return found


def measured(arguments: argparse.Namespace, pool: Executor) -> Iterator[tuple[Scenario, list[Rates]]]:
    """Each scenario with its rates at each number of blocks."""
    sizes = [min(CHUNK, arguments.cells - first) for first in range(0, arguments.cells, CHUNK)]
    for scenario in SCENARIOS:
        if not fnmatchcase(f"{scenario.schedule}: {scenario.name}", arguments.only):
            continue
        rates = []
        for blocks in arguments.blocks:
            work = partial(chunk, scenario, blocks, arguments.rounds)
            rates.append(Rates.of(pd.concat(pool.map(work, sizes, range(1, len(sizes) + 1)))))
        yield scenario, rates


def over(share_pct: float, most_pct: float, number: int) -> bool:
    """Whether a share of that many experiments is above a limit, by more than 3 Monte Carlo errors."""
    most = most_pct / 100
    return share_pct > most_pct + 3 * 100 * math.sqrt(most * (1 - most) / number)


def family(arguments: argparse.Namespace, pool: Executor, faults: list[str]) -> Iterator[str]:
    """A sentence for each way of adjusting; what is not met is added to `faults`."""
    # each chunk has CHUNK // FAMILY_CELLS tables
    numbers = range(1, 1 + math.ceil(arguments.cells * FAMILY_CELLS / CHUNK / 2))
    for adjust in get_args(Adjustment):
        for blocks in arguments.blocks:
            work = partial(family_chunk, blocks, arguments.rounds, adjust=adjust)
            found = np.array([one for many in pool.map(work, numbers) for one in many])
            error = 2 * 100 * math.sqrt(0.05 * 0.95 / len(found))
            if adjust == "holm" and over(100 * found[:, 0].mean(), 5, len(found)):
                faults.append(
                    f"tables, {blocks} blocks: {100 * found[:, 0].mean():.1f} % with a false verdict"
                )
            yield (
                f"adjust {adjust}, {blocks} blocks: any false verdict in {100 * found[:, 0].mean():.1f} % of "
                f"{len(found)} tables (+- {error:.1f} at 5 %), any note on drift or order in "
                f"{100 * found[:, 1].mean():.1f} %"
            )


def drifts(arguments: argparse.Namespace, pool: Executor, faults: list[str]) -> Iterator[str]:
    """A line for each thing that may become of one side; what is not met is added to `faults`."""
    sizes = [min(CHUNK, arguments.cells - first) for first in range(0, arguments.cells, CHUNK)]
    for name, effect in OWN.items():
        shares = []
        for blocks in arguments.blocks:
            work = partial(drift_chunk, effect, blocks, arguments.rounds)
            found = [one for many in pool.map(work, sizes, range(1, len(sizes) + 1)) for one in many]
            shares.append(100 * fmean(found))
            if effect == Effect() and over(shares[-1], 100 * FALSE_ALARMS, len(found)):
                faults.append(f"drift, {blocks} blocks: {shares[-1]:.1f} % of nothing is flagged")
        yield f"| {name} | {slashed(shares, '.1f')} |"


def slashed(values: list[float], form: str) -> str:
    return " / ".join(format(value, form) for value in values)


def main() -> int:
    parser = argparse.ArgumentParser(description="Coverage of the intervals and truth of the verdicts.")
    parser.add_argument("--cells", type=int, default=500, help="experiments of each kind (500)")
    parser.add_argument("--blocks", type=int, nargs="+", default=[5, 10, 20], help="blocks (5 10 20)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of a block (10)")
    parser.add_argument("--only", default="*", help="what fits, such as 'lockstep: *drift*'; drift; tables")
    parser.add_argument("--processes", type=int, default=2, help="processes that simulate (2)")
    arguments = parser.parse_args()
    if (
        arguments.cells < FEWEST
        or min(arguments.blocks) < 2
        or min(arguments.rounds, arguments.processes) < 1
    ):
        parser.error(f"at least {FEWEST} cells, 2 blocks, 1 round and 1 process")
    parts = [*(f"{scenario.schedule}: {scenario.name}" for scenario in SCENARIOS), "drift", "tables"]
    if not any(fnmatchcase(part, arguments.only) for part in parts):
        parser.error(f"--only {arguments.only!r} fits nothing; there is {'; '.join(parts)}")
    begun, faults = time.monotonic(), []
    print(f"blocks: {slashed(arguments.blocks, 'd')}; {arguments.cells} cells, {arguments.rounds} rounds")
    head = [
        "schedule",
        "noise",
        "covers",
        "half-width",
        "false",
        "within",
        "right at 0, 1, 2, 3, 5 %",
        "flagged",
    ]
    print(f"| {' | '.join(head)} |\n|{'---|' * 2}{'---:|' * (len(head) - 2)}")
    errors, levels = [], set()
    with ProcessPoolExecutor(arguments.processes) as pool:
        for scenario, rates in measured(arguments, pool):
            cells = [
                scenario.schedule,
                scenario.name,
                slashed([r.covers for r in rates], ".1f"),
                slashed([r.half for r in rates], ".2f"),
                slashed([r.false for r in rates], ".1f"),
                slashed([r.within for r in rates], ".1f"),
                "; ".join(", ".join(f"{value:.0f}" for value in r.right) for r in rates),
                slashed([r.flagged for r in rates], ".1f"),
            ]
            print(f"| {' | '.join(cells)} |", flush=True)
            errors += [r.covers_error for r in rates]
            levels |= {round(r.level, 6) for r in rates}
            if scenario.held:
                faults += [
                    f"{scenario.schedule}, {scenario.name}, {blocks} blocks: {fault}"
                    for blocks, r in zip(arguments.blocks, rates, strict=True)
                    for fault in r.faults(arguments.cells, scenario.more)
                ]
        if errors:
            print(f"nominal level {slashed(sorted(levels), 'g')} %; twice the Monte Carlo error of `covers`: "
                  f"{2 * fmean(errors):.1f} (mean), {2 * max(errors):.1f} (most)")  # fmt: skip
        if fnmatchcase("drift", arguments.only):
            print("\n| what one side alone does | flagged |\n|---|---:|", flush=True)
            for line in drifts(arguments, pool, faults):
                print(line, flush=True)
        if fnmatchcase("tables", arguments.only):
            print("\nTables of 16 comparisons of equal things:", flush=True)
            for line in family(arguments, pool, faults):
                print(line, flush=True)
    print(f"\n{time.monotonic() - begun:.0f} s")
    print("\n".join(f"NOT MET: {fault}" for fault in faults) or "The specification is met.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
