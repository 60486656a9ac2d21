"""Simulated runs whose overhead is known, to prove the statistics by: they pass through all that real runs do.

study = study_of({"docker": Effect(overhead_pct=2)}, cells=100, blocks=10)
records, plan = simulate(study, Noise(process_pct=1), {"docker": Effect(overhead_pct=2)}, seed=1)
overhead(records, plan, metric=study.metric, margin_pct=study.margin_pct)

Order and slots are the planner's, the turns are taken by the same function as real ones, and the records are valid.
The cells of such a study differ in nothing but their random numbers: each is one repetition of the experiment.

Noise is given in percent, as 100 times a logarithm: 1 means a factor of 1.01.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

import tare
from tare.measure.lockstep import take_turns
from tare.plan import matrix, table
from tare.plan.environment import ENGINES
from tare.plan.specification import seed as block_seed
from tare.plan.specification import specification
from tare.plan.study import Study, parse
from tare.plan.table import Block
from tare.records.schema import CellKey, Record, Turn

Array = npt.NDArray[np.float64]
Tails = Literal["normal", "t3", "bursts"]
BASELINE = "bare"
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_STEP_S = 0.01
# Of bursts: how many of the turns are hit, and by how much (median, percent; spread of its logarithm).
_BURST_SHARE, _BURST_PCT, _BURST_SPREAD = 0.05, 10.0, 1.0


@dataclass(frozen=True)
class Noise:
    """What disturbs all environments of a machine alike.

    Attributes:
        process_pct: standard deviation between processes of the same program.
        step_pct: standard deviation between the steps of a process.
        tails: of the steps: normal; Student's t with 3 degrees of freedom; or, on top of normal, bursts that make a
            whole turn longer by a lognormal amount.
        shifts: how often in a block the machine's level shifts, on average.
        shift_pct: standard deviation of these levels.
        block_drift_pct: how much slower the machine becomes from the start to the end of a block.
        campaign_drift_pct: how much slower it becomes from one block to the next.
    """

    process_pct: float = 1.0
    step_pct: float = 3.0
    tails: Tails = "normal"
    shifts: float = 0.0
    shift_pct: float = 0.0
    block_drift_pct: float = 0.0
    campaign_drift_pct: float = 0.0


@dataclass(frozen=True)
class Effect:
    """What is true of one environment and not of its baseline.

    Attributes:
        overhead_pct: its true overhead in throughput, percent.
        block_drift_pct: how much slower it alone becomes from the start to the end of a block.
        campaign_drift_pct: how much slower it alone becomes from one block to the next.
        slot_pct: how much slower it alone is in a block in which it has the first slot.
        position_pct: how much slower its turn is where it is the first of a round.
        slow_share, slow_pct: which share of its processes is slower, and by how much.
        state_pct: standard deviation of a state that hits it alone and wanders from block to block (AR(1)).
        state_kept: correlation of that state from one block of a cell to the next, 0..1.
    """

    overhead_pct: float = 0.0
    block_drift_pct: float = 0.0
    campaign_drift_pct: float = 0.0
    slot_pct: float = 0.0
    position_pct: float = 0.0
    slow_share: float = 0.0
    slow_pct: float = 0.0
    state_pct: float = 0.0
    state_kept: float = 0.0

    @property
    def log_time(self) -> float:
        """Log of (its time per step / the baseline's), from its overhead alone."""
        return -math.log1p(-self.overhead_pct / 100)

    @property
    def truth_pct(self) -> float:
        """What is to be estimated, the mean over processes: percent of throughput. Drifts and orders even out in it."""
        return -100 * math.expm1(-(self.log_time + self.slow_share * self.slow_pct / 100))


def study_of(
    effects: Mapping[str, Effect],
    *,
    cells: int,
    blocks: int,
    schedule: Literal["lockstep", "sequential"] = "lockstep",
    rounds: int = 20,
    steps_per_turn: int = 2,
    seed: int = 1,
    **other: Any,
) -> Study:
    """A study of `bare` and the environments of `effects`, with equal cells.

    Args:
        cells: how often the experiment is repeated.
        blocks: repetitions of each cell.
        rounds: of each block.
        seed: of the planned order.
        other: further keys of a study.
    """
    content = {
        "name": "simulated",
        # any axis does: what a cell is called is all that tells one from another
        "matrix": {"model": ["lenet"], "framework": ["torch"], "batch_size": list(range(1, cells + 1))},
        "environments": [
            BASELINE,
            *({"name": name, "engine": name if name in ENGINES else BASELINE} for name in effects),
        ],
        "repetitions": blocks,
        "schedule": schedule,
        "rounds": {"min": rounds, "max": rounds},
        "steps_per_turn": steps_per_turn,
        "threads": 1,
        "seed": seed,
    }
    return parse({**content, **other}, "the simulated study")


def simulate(
    study: Study, noise: Noise, effects: Mapping[str, Effect], *, seed: int
) -> tuple[list[Record], pd.DataFrame]:
    """The records of a study and its plan.

    Args:
        study: as made by `study_of`; each block has `study.rounds.max` rounds.
        effects: of each environment; one that is not named has none.
        seed: of the noise.
    """
    plan = table.build(study, table.first_state(study, {}), {})
    cells = {cell.name: cell for cell in matrix.cells(study)}
    of = {entry.name: effects.get(entry.name, Effect()) for entry in study.environments}
    blocks = table.blocks(plan)
    random = np.random.default_rng(seed)
    steps_log = _within(noise, random, len(blocks), study)
    machine_log = _machine(noise, random, len(blocks), study)
    states = _states(study, list(cells), of, seed)
    records = [
        record
        for block, steps, machine in zip(blocks, steps_log, machine_log, strict=True)
        for record in _runs(study, cells[block.cell], block, noise, of, random, steps, machine, states)
    ]
    return records, plan


def tables(
    records: Sequence[Record], plan: pd.DataFrame, cells: int
) -> Iterator[tuple[list[Record], pd.DataFrame]]:
    """A simulated study cut into tables of so many cells each."""
    names = table.cell_names(plan)
    for first in range(0, len(names), cells):
        chosen = set(names[first : first + cells])
        yield [r for r in records if r.cell.name in chosen], plan[plan["cell"].isin(chosen)]


def _within(noise: Noise, random: np.random.Generator, blocks: int, study: Study) -> Array:
    """Log noise of each step: blocks x environments x rounds x steps of a turn."""
    shape = (blocks, len(study.environments), study.rounds.max, study.steps_per_turn or 1)
    heavy = noise.tails == "t3"
    # of either kind with a standard deviation of 1
    found = random.standard_t(3, shape) / math.sqrt(3) if heavy else random.standard_normal(shape)
    found *= noise.step_pct / 100
    if noise.tails == "bursts":
        amount = random.lognormal(math.log(_BURST_PCT / 100), _BURST_SPREAD, shape[:3])
        found += np.where(random.random(shape[:3]) < _BURST_SHARE, amount, 0.0)[..., None]
    return np.asarray(found)


def _states(
    study: Study, cells: Sequence[str], effects: Mapping[str, Effect], seed: int
) -> dict[tuple[str, str], Array]:
    """Log state of each environment that has one, in each repetition, by cell and environment."""
    # of its own, so that the other noise is the same with states and without
    random = np.random.default_rng([seed, 1])
    found = {}
    for cell in cells:
        for name, effect in effects.items():
            if effect.state_pct:
                kept, fresh = effect.state_kept, random.standard_normal(study.repetitions)
                state = [fresh[0]]
                for value in fresh[1:]:
                    state.append(kept * state[-1] + math.sqrt(1 - kept**2) * value)
                found[cell, name] = effect.state_pct / 100 * np.array(state)
    return found


def _machine(noise: Noise, random: np.random.Generator, blocks: int, study: Study) -> Array:
    """Log level of the machine at each moment of a block at which a run takes a turn: blocks x moments."""
    moments = len(study.environments) * study.rounds.max
    drift = noise.block_drift_pct / 100 * np.linspace(-0.5, 0.5, moments)
    shifted = random.random((blocks, moments)) < noise.shifts / moments
    levels = random.normal(0.0, noise.shift_pct / 100, (blocks, moments + 1))
    return np.take_along_axis(levels, np.cumsum(shifted, axis=1), axis=1) + drift


@dataclass(frozen=True)
class _Run:
    """One environment in one block: takes turns whose steps last as long as was drawn for them.

    Attributes:
        log_s: log seconds of each step, rounds x steps of a turn, without what follows.
        drift: what is added to it from the start to the end of the block.
        first_position: what is added to it where the run is the first of a round.
        machine: log level of the machine at each moment of the block.
        offset: of the moments, what went before the run's first turn.
        stride: moments from one round to the next.
    """

    log_s: Array
    drift: float
    first_position: float
    machine: Array
    offset: int
    stride: int

    def turn(self, *, round_index: int, position: int, steps: int, settle: int) -> Turn:
        """As a real run does, at once."""
        moment = self.offset + round_index * self.stride + position
        rounds = len(self.log_s)
        level = self.machine[moment] + self.drift * (round_index / max(rounds - 1, 1) - 0.5)
        level += self.first_position if position == 0 else 0.0
        seconds = np.exp(self.log_s[round_index] + level).tolist()
        return Turn(
            round=round_index,
            position=position,
            steps=steps,
            settle_s=[seconds[0]] * settle,
            durations_s=seconds,
            started_t=float(moment),
        )


def _runs(
    study: Study,
    cell: CellKey,
    block: Block,
    noise: Noise,
    effects: Mapping[str, Effect],
    random: np.random.Generator,
    steps: Array,
    machine: Array,
    states: Mapping[tuple[str, str], Array],
) -> Iterator[Record]:
    """The records of one block."""
    count, rounds, lockstep = len(block.environments), study.rounds.max, study.schedule == "lockstep"
    process = random.normal(0.0, noise.process_pct / 100, count)
    slow = random.random(count)
    # blocks of a cell are counted from its middle, so that a drift over the campaign leaves the truth where it was
    place = block.repetition - (study.repetitions + 1) / 2
    runs = []
    for slot, name in enumerate(block.environments):
        effect = effects[name]
        log_s = math.log(_STEP_S) + effect.log_time + process[slot]
        log_s += (noise.campaign_drift_pct + effect.campaign_drift_pct) / 100 * place
        log_s += effect.slot_pct / 100 if slot == 0 else 0.0
        log_s += effect.slow_pct / 100 if slow[slot] < effect.slow_share else 0.0
        if (cell.name, name) in states:
            log_s += float(states[cell.name, name][block.repetition - 1])
        runs.append(
            _Run(
                log_s=steps[slot] + log_s,
                drift=effect.block_drift_pct / 100,
                first_position=effect.position_pct / 100 if lockstep else 0.0,
                machine=machine,
                offset=0 if lockstep else slot * rounds,
                stride=count if lockstep else 1,
            )
        )
    turns: dict[int, list[Turn]] = {id(run): [] for run in runs}
    for together in [runs] if lockstep else [[run] for run in runs]:
        take_turns(
            together,
            steps=study.steps_per_turn or 1,
            settle=1,
            min_rounds=rounds,
            max_rounds=rounds,
            deadline_t=math.inf,
            clock=lambda: 0.0,
            random=Random(f"{block_seed(study, block.repetition)}/{cell.name}"),
            on_turn=lambda run, turn: turns[id(run)].append(turn),
            on_failure=lambda run, failure: None,
        )
    for slot, (name, run) in enumerate(zip(block.environments, runs, strict=True)):
        yield _record(study, cell, block, slot, name, turns[id(run)])


def _record(study: Study, cell: CellKey, block: Block, slot: int, name: str, turns: list[Turn]) -> Record:
    entry = study.environment(name)
    began = _BEGAN + timedelta(minutes=block.order, seconds=slot if study.schedule == "sequential" else 0)
    return Record(
        tare_version=tare.__version__,
        study=study.name,
        cell=cell,
        repetition=block.repetition,
        environment=name,
        engine=entry.engine,
        baseline=entry.baseline,
        status="ok",
        spec_hash=block.spec_hashes[slot],
        spec=specification(study, cell, entry, block.repetition),
        schedule=study.schedule,
        block=list(block.environments),
        slot=slot,
        block_id=f"{block.order}",
        seed=block_seed(study, block.repetition),
        started_at=began.isoformat(timespec="milliseconds"),
        items_per_step=cell.batch_size,
        threads=1,
        variables={},
        arguments=[],
        turns=turns,
    )
