"""A study as it stands: its plan, what is measured of it, and what is to be measured now. Changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from tare.campaign import options as call_options
from tare.campaign import precision
from tare.campaign.options import Options
from tare.campaign.probing import absent_gpus, cell_refusals, probe, refusals
from tare.campaign.state import BlockState, Status, states
from tare.plan import table
from tare.plan.environment import Environment
from tare.plan.errors import StudyError, nearest
from tare.plan.matrix import cells
from tare.plan.specification import threads, usable_cpus
from tare.plan.study import Study, load
from tare.plan.table import Refusal, State
from tare.platforms import Availability
from tare.records import store

# What a block waits for when the study was begun with more threads than this process has CPUs.
_CPUS = "CPUs"


@dataclass(frozen=True)
class Campaign:
    """One call's view of a study.

    Attributes:
        plan: the plan as it is to be from now on (frame of `tare.plan.table.COLUMNS`).
        began: whether a plan was on disk already.
        states: every block that the study needs with its state, in the order of measuring. Blocks that are measured
            only if needed are among them once they are begun, or asked for by what is measured.
        reserve: the other ones, which may still be asked for.
        look: how precise the study is; None where it wishes no precision.
        down: what blocks that are to be measured need and is not there now, with the reason: the name of an
            environment, `the GPU of CELL`, or `CPUs`.
        notes: sentences for the user.
    """

    options: Options
    study: Study
    plan: pd.DataFrame
    began: bool
    states: list[BlockState] = field(repr=False)
    reserve: list[BlockState] = field(default_factory=list, repr=False)
    look: precision.Look | None = field(default=None, repr=False)
    down: Mapping[str, Refusal] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    plan_text_on_disk: str = field(default="", repr=False)

    @property
    def study_dir(self) -> Path:
        """`results/<study>`."""
        return self.options.results / self.study.name

    @property
    def plan_file(self) -> Path:
        """`results/<study>/plan.csv`."""
        return self.study_dir / "plan.csv"

    @property
    def study_file(self) -> Path:
        """The study as it is measured, for the jobs and for the archive."""
        return self.study_dir / "study.json"

    @property
    def data_file(self) -> Path:
        """The prepared data set."""
        return self.study_dir / "data" / "digits.npz"

    @cached_property
    def to_measure(self) -> list[BlockState]:
        """The blocks that this call measures, in their order."""
        return [state for state in self.states if self.wanted(state) and not self.obstacles(state)]

    @cached_property
    def held_up(self) -> list[BlockState]:
        """The blocks that this call would measure if what they need were there."""
        return [state for state in self.states if self.wanted(state) and self.obstacles(state)]

    @property
    def resting(self) -> list[BlockState]:
        """The blocks that the tables rest on after this call: finished ones, and those that it makes.

        Where the study wishes a precision, further ones may come to them.
        """
        coming = {id(state) for state in self.to_measure}
        return [state for state in self.states if state.status.finished or id(state) in coming]

    @property
    def records(self) -> list[Path]:
        """The records of these blocks."""
        return [path for state in self.resting for path in state.paths]

    @property
    def possible(self) -> list[BlockState]:
        """The blocks that this call may come to measure beyond `to_measure`, of cells that are not precise enough."""
        if self.look is None:
            return []
        open_cells = {state.block.cell for state in (*self.to_measure, *self.held_up)}
        open_cells |= {one.cell for one in self.look.reached if not one.enough}
        return [s for s in self.reserve if s.block.cell in open_cells and self.selected(s)]

    def block_seconds(self, environments: int) -> float:
        """How long a block may take: its share of the study's time budget."""
        first = self.plan[(self.plan["wave"] == 1) & (self.plan["status"] == table.MEASURE)]
        usable = first["environment"].nunique()
        return self.study.budget_s(usable) / max(len(first), 1) * environments

    @property
    def most_seconds_left(self) -> float:
        """Upper bound on the time that this call measures."""
        return self._seconds(self.to_measure)

    @property
    def most_seconds_beyond(self) -> float:
        """Upper bound on the time of the blocks that may come to it."""
        return self._seconds(self.possible)

    def _seconds(self, states: Iterable[BlockState]) -> float:
        return sum(self.block_seconds(len(state.paths)) for state in states)

    def wanted(self, state: BlockState) -> bool:
        """Whether this call is to measure the block, were everything there that it needs."""
        again = self.options.redo or (self.options.retry_failed and state.status is Status.FAILED)
        return self.selected(state) and (again or not state.status.finished)

    def selected(self, state: BlockState) -> bool:
        """Whether `only` lets this call measure the block."""
        only = self.options.only
        return not only or any(fnmatchcase(state.block.cell, pattern) for pattern in only)

    def obstacles(self, state: BlockState) -> list[str]:
        """What the block needs that is not there now: keys of `down`."""
        needed = (*state.block.environments, _gpu_of(state.block.cell), _CPUS)
        return [name for name in needed if name in self.down]


def look(config: Mapping[str, Any], root: Path, *, apptainer_asked: bool) -> Campaign:
    """Read the study, its plan and its records, and ask the engines that matter.

    Args:
        config: Snakemake's configuration.
        root: the project's folder.

    Raises:
        StudyError: the configuration is wrong, or an environment that the study insists on can't be used.
    """
    options = call_options.parse(config, root)
    study = load(options.study_file)
    _check_names_apart(study, options.study_file, root)
    plan_file = options.results / study.name / "plan.csv"
    if not plan_file.exists():
        campaign = _begin(options, study, apptainer_asked)
    elif _binds(plan_file):
        campaign = _continue(options, study, plan_file, apptainer_asked)
    else:
        on_disk = plan_file.read_bytes().decode("utf-8", "replace")
        campaign = replace(_begin(options, study, apptainer_asked), plan_text_on_disk=on_disk)
    unmatched = table.patterns_without_match(options.only, campaign.plan)
    if unmatched:
        names = table.cell_names(campaign.plan)
        raise StudyError(f"--config only={unmatched[0]}: no cell has that name{nearest(unmatched[0], names)}")
    return campaign


def _binds(plan_file: Path) -> bool:
    """Whether the environments are frozen: not if some could not be used and nothing was measured without them yet."""
    refused = table.state_of(table.read(plan_file)).refused
    return not refused or any(store.scan(plan_file.parent))


def _begin(options: Options, study: Study, apptainer_asked: bool) -> Campaign:
    _addable(study, options.add)
    found = probe((e.engine for e in study.environments), apptainer_asked=apptainer_asked, trial=True)
    study, refused = _settle_fallbacks(study, refusals(study, study.environments, found))
    _insist(study.environments, options.add, refused)
    study = study.model_copy(update={"threads": threads(study)})
    return _campaign(options, study, table.first_state(study, refused))


def _continue(options: Options, study: Study, plan_file: Path, apptainer_asked: bool) -> Campaign:
    _addable(study, options.add)
    on_disk = table.read(plan_file)
    state = table.state_of(on_disk)
    study = _keep_fallbacks(study, state.environments | set(state.refused))
    study, short, notes = _settle_threads(study, plan_file.with_name("study.json"))
    coming = _coming(study, state, on_disk, options.add)
    refused = refusals(study, coming, _probe(study, coming, apptainer_asked, trial=True))
    _insist(coming, options.add, refused)
    state = table.next_state(study, state, [e.name for e in coming if e.name not in refused], refused)
    campaign = replace(
        _campaign(options, study, state, table.settled(on_disk)),
        began=True,
        notes=notes,
        plan_text_on_disk=plan_file.read_bytes().decode("utf-8", "replace"),
    )
    return replace(campaign, down=_missing_now(campaign, apptainer_asked) | short)


def _campaign(
    options: Options,
    study: Study,
    state: State,
    settled: Mapping[tuple[str, str], Refusal | None] | None = None,
) -> Campaign:
    plan = table.build(study, state, cell_refusals(study, settled=settled))
    study_dir = options.results / study.name
    every = states(study_dir, plan)
    look = precision.judge(study, study_dir, plan, every)
    asked = set(look.further) if look else set()

    def needed(state: BlockState) -> bool:
        block = state.block
        return not block.if_needed or (block.cell, block.repetition) in asked or state.begun

    return Campaign(
        options,
        study,
        plan,
        began=False,
        states=[state for state in every if needed(state)],
        reserve=[state for state in every if not needed(state)],
        look=look,
    )


def _coming(study: Study, state: State, on_disk: pd.DataFrame, add: Iterable[str]) -> list[Environment]:
    """Environments that get a place in the plan now.

    They are new in the study, or asked for by --config add, or could not be used and are described otherwise
    now, or have another baseline than they were measured with.
    """
    planned = {str(row.environment): row for row in on_disk.drop_duplicates("environment").itertuples()}
    unpaired = table.unpaired(study, state)

    def comes(entry: Environment) -> bool:
        if entry.name in state.environments:
            return entry.name in unpaired
        if entry.name not in state.refused or entry.name in add or not entry.optional:
            return True
        row = planned[entry.name]
        return bool((row.engine, row.baseline) != (entry.engine, entry.baseline))

    return [entry for entry in study.environments if comes(entry)]


def _missing_now(campaign: Campaign, apptainer_asked: bool) -> dict[str, Refusal]:
    """What the blocks that are to be measured count on and is not there now."""
    study = campaign.study
    wanted = [state.block for state in campaign.states if campaign.wanted(state)]
    names, waiting = {n for block in wanted for n in block.environments}, {block.cell for block in wanted}
    needed = [e for e in study.environments if e.name in names]
    absent = absent_gpus(cell for cell in cells(study) if cell.name in waiting)
    away = {_gpu_of(name): refusal for name, refusal in absent.items()}
    return refusals(study, needed, _probe(study, needed, apptainer_asked)) | away


def _gpu_of(cell: str) -> str:
    return f"the GPU of {cell}"


def _check_names_apart(study: Study, file: Path, root: Path) -> None:
    """Refuse a study under the name of another one: both would have one folder of results."""
    named = root / "config" / "studies" / f"{study.name}.yaml"
    if named.exists() and not named.samefile(file):
        raise StudyError(
            f"{file} is named {study.name!r}, as {named} is, and both would have the same results; "
            "give it another `name:`."
        )


def _settle_threads(study: Study, study_file: Path) -> tuple[Study, dict[str, Refusal], tuple[str, ...]]:
    """Threads that the study leaves open stay those of its first run, however many CPUs this call may use.

    Otherwise a call from a shell with fewer CPUs would take every record for stale.

    Returns:
        The study, what is in the way of measuring it, and what the user should know.
    """
    if study.threads is not None:
        return study, {}, ()
    cpus = usable_cpus()
    count = _threads_of(study_file) or cpus
    study = study.model_copy(update={"threads": count})
    begun = f"the study was begun with {count} threads"
    anew = f"`threads: {cpus}` in the study measures it anew"
    if count > cpus:
        reason = f"{begun}, and this process may use only {cpus} CPUs"
        return study, {_CPUS: Refusal(reason, f"Give it {count}; {anew}.")}, ()
    return study, {}, (f"Runs have {count} threads, since {begun}; {anew}.",) if count < cpus else ()


def _threads_of(study_file: Path) -> int | None:
    try:
        count = json.loads(study_file.read_bytes())["threads"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return count if type(count) is int and count > 0 else None


def _insist(environments: Iterable[Environment], add: Iterable[str], refused: Mapping[str, Refusal]) -> None:
    """Stop where an environment that is asked for and not optional can't be used."""
    for environment in environments:
        refusal = refused.get(environment.name)
        if refusal is None or (environment.optional and environment.name not in add):
            continue
        why = f"{refusal.reason.rstrip('.')}. {refusal.remedy}".strip()
        if environment.name in add:
            raise StudyError(f"--config add={environment.name}: it can't be used: {why}")
        raise StudyError(
            f"The environment {environment.name!r} can't be used: {why} "
            "(Or mark it `optional: true` in the study, or take it out.)"
        )


def _addable(study: Study, add: Iterable[str]) -> None:
    names = {e.name: e for e in study.environments}
    for name in add:
        if name not in names:
            raise StudyError(f"--config add={name}: the study has no such environment{nearest(name, names)}")
        if names[name].fallback:
            raise StudyError(
                f"--config add={name}: it is a fallback, measured only where nothing else could be when "
                "the study was begun; take `fallback: true` away in the study."
            )


def _settle_fallbacks(study: Study, refused: dict[str, Refusal]) -> tuple[Study, dict[str, Refusal]]:
    """Leave the fallback environments out where another than a baseline can be used, without a trace."""
    if any(not (e.fallback or e.is_baseline or e.name in refused) for e in study.environments):
        study = _without(study, {e.name for e in study.environments if e.fallback})
    names = {e.name for e in study.environments}
    return study, {name: refusal for name, refusal in refused.items() if name in names}


def _keep_fallbacks(study: Study, known: set[str]) -> Study:
    """A fallback is measured if it was when the study was begun; it never joins later."""
    return _without(study, {e.name for e in study.environments if e.fallback and e.name not in known})


def _without(study: Study, names: set[str]) -> Study:
    kept = [e for e in study.environments if e.name not in names]
    return study.model_copy(update={"environments": kept})


def _probe(
    study: Study, environments: list[Environment], apptainer_asked: bool, *, trial: bool = False
) -> dict[str, Availability]:
    """Ask the engines of these environments and of all that they are compared with."""
    found = list(environments)
    for environment in found:
        baseline = study.environment(environment.baseline)
        if baseline not in found:
            found.append(baseline)
    return probe((e.engine for e in found), apptainer_asked=apptainer_asked, trial=trial)
