"""A study as it stands: its plan, what is measured of it, and what this call is to measure. Changes nothing on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from tare.campaign import options as call_options
from tare.campaign.options import Options
from tare.campaign.probing import cell_refusals, probe, refusals
from tare.campaign.state import BlockState, Status, states
from tare.plan import table
from tare.plan.errors import StudyError, nearest
from tare.plan.study import Environment, Study, load
from tare.plan.table import Refusal, State


@dataclass(frozen=True)
class Campaign:
    """One call's view of a study.

    Attributes:
        plan: the plan as it is to be from now on (frame of `tare.plan.table.COLUMNS`).
        began: whether a plan was on disk already.
        down: environments of the plan whose engine can't be used now, with the reason.
        notes: sentences for the user.
    """

    options: Options
    study: Study
    plan: pd.DataFrame
    began: bool
    down: Mapping[str, Refusal]
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
    def states(self) -> list[BlockState]:
        """Every block of the plan with its state, in the order of measuring."""
        return states(self.study_dir, self.plan)

    @cached_property
    def to_measure(self) -> list[BlockState]:
        """The blocks that this call measures, in their order."""
        return [state for state in self.states if self._wanted(state) and not self._down_in(state)]

    @cached_property
    def held_up(self) -> list[BlockState]:
        """The blocks that this call would measure if their engines could be used."""
        return [state for state in self.states if self._wanted(state) and self._down_in(state)]

    @property
    def records(self) -> list[Path]:
        """The records that the tables rest on after this call: finished ones, and those that it makes."""
        coming = {id(state) for state in self.to_measure}
        return [
            path
            for state in self.states
            if state.status.finished or id(state) in coming
            for path in state.paths
        ]

    def block_seconds(self, environments: int) -> float:
        """How long a block may take: its share of the study's time budget."""
        first = self.plan[(self.plan["wave"] == 1) & (self.plan["status"] == "measure")]
        usable = first["environment"].nunique()
        return self.study.budget_s(usable) / max(len(first), 1) * environments

    @property
    def most_seconds_left(self) -> float:
        """Upper bound on the time that this call measures."""
        return sum(self.block_seconds(len(state.paths)) for state in self.to_measure)

    def _wanted(self, state: BlockState) -> bool:
        options = self.options
        if options.only and not any(fnmatchcase(state.block.cell, pattern) for pattern in options.only):
            return False
        again = options.redo or (options.retry_failed and state.status is Status.FAILED)
        return again or not state.status.finished

    def _down_in(self, state: BlockState) -> bool:
        return any(name in self.down for name in state.block.environments)


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
    plan_file = options.results / study.name / "plan.csv"
    began = plan_file.exists()
    if not began:
        found = probe((e.engine for e in study.environments), apptainer_asked=apptainer_asked)
        refused = refusals(study, study.environments, found)
        _insist(study.environments, refused)
        study, refused = _settle_fallbacks(study, refused)
        for name in options.add:
            _addable(study, name)
        campaign = _campaign(options, study, table.first_state(study, refused), began, {}, (), "")
    else:
        campaign = _continue(options, study, plan_file, apptainer_asked)
    unmatched = table.patterns_without_match(options.only, campaign.plan)
    if unmatched:
        names = table.cell_names(campaign.plan)
        raise StudyError(f"--config only={unmatched[0]}: no cell has that name{nearest(unmatched[0], names)}")
    return campaign


def _continue(options: Options, study: Study, plan_file: Path, apptainer_asked: bool) -> Campaign:
    on_disk = table.read(plan_file)
    state = table.state_of(on_disk)
    known = state.environments | set(state.refused)
    study = _keep_fallbacks(study, known)
    for name in options.add:
        _addable(study, name)
    new = [e for e in study.environments if e.name not in known]
    added = [study.environment(name) for name in options.add if name not in state.environments]
    found = probe((e.engine for e in _with_baselines(study, [*new, *added])), apptainer_asked=apptainer_asked)
    refused = refusals(study, [*new, *added], found)
    _insist([e for e in new if e.name not in options.add], refused)
    for environment in added:
        if environment.name in refused:
            _insist([environment.model_copy(update={"optional": False})], refused)
    joining = [e.name for e in [*new, *added] if e.name not in refused]
    state = table.next_state(study, state, list(dict.fromkeys(joining)), refused)
    campaign = _campaign(options, study, state, True, {}, (), plan_file.read_text(encoding="utf-8"))
    waiting = {name for s in campaign.states if campaign._wanted(s) for name in s.block.environments}
    if not waiting:
        return campaign
    needed = [study.environment(name) for name in waiting]
    asked = probe((e.engine for e in _with_baselines(study, needed)), apptainer_asked=apptainer_asked)
    down = refusals(study, needed, asked)
    return _campaign(options, study, state, True, down, (), campaign.plan_text_on_disk)


def _campaign(
    options: Options, study: Study, state: State, began: bool, down: Mapping[str, Refusal],
    notes: tuple[str, ...], on_disk: str,
) -> Campaign:  # fmt: skip
    plan = table.build(study, state, cell_refusals(study))
    return Campaign(options, study, plan, began, down, notes, on_disk)


def _insist(environments: list[Environment], refused: Mapping[str, Refusal]) -> None:
    """Stop where an environment that is not optional can't be used."""
    for environment in environments:
        refusal = refused.get(environment.name)
        if refusal is not None and not environment.optional:
            raise StudyError(
                f"The environment {environment.name!r} can't be used: {refusal.reason.rstrip('.')}. {refusal.remedy} "
                f"(Or mark it `optional: true` in the study, or take it out.)"
            )


def _addable(study: Study, name: str) -> None:
    names = [e.name for e in study.environments]
    if name not in names:
        raise StudyError(f"--config add={name}: the study has no such environment{nearest(name, names)}")


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


def _with_baselines(study: Study, environments: list[Environment]) -> list[Environment]:
    found = list(environments)
    for environment in found:
        baseline = study.environment(environment.baseline)
        if baseline not in found:
            found.append(baseline)
    return found
