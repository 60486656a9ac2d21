"""What the Snakefile asks: rules to generate, files to list, and what to do when a run begins.

Snakemake parses the Snakefile before it has settings, so whether this is a dry run, and what the user forced, is known
only when the graph of jobs is being built. That is when input functions are called, and so `begin` is called by them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.campaign import freeze, precision
from tare.campaign.campaign import Campaign, look
from tare.campaign.describe import plan_text
from tare.campaign.state import BlockState
from tare.measure.locks import Lock, LockHeld
from tare.plan.errors import StudyError


@dataclass(frozen=True)
class Group:
    """Blocks of one wave with the same environments: one rule, as a rule's outputs can't depend on its wildcards."""

    name: str
    environments: tuple[str, ...]
    cells: tuple[str, ...]
    repetitions: tuple[int, ...]


class Session:
    """One call of Snakemake.

    Args:
        workflow: Snakemake's workflow object.
        config: its configuration.
        root: the project's folder.

    Raises:
        StudyError: the study can't be measured as it is asked for.
    """

    def __init__(self, workflow: Any, config: Mapping[str, Any], root: Path) -> None:
        self._workflow = workflow
        methods = {str(m) for m in workflow.deployment_settings.deployment_method}
        self.campaign: Campaign = look(config, root, apptainer_asked="apptainer" in methods)
        every = sorted((*self.campaign.states, *self.campaign.reserve), key=lambda s: s.block.order)
        self._by_block = {(s.block.cell, s.block.repetition): s for s in every}
        self._number = {id(s): n for n, s in enumerate(self.campaign.to_measure, start=1)}
        self._begun = False
        self._lock: Lock | None = None
        self._forced: frozenset[tuple[str, int]] = frozenset()
        self._since = time.time()
        self._looks: Any = None

    def go_on_by(self, checkpoint: Any) -> None:
        """Name the checkpoint that makes the looks (`precision/{blocks}.json`)."""
        self._looks = checkpoint

    @property
    def groups(self) -> list[Group]:
        """One group for each wave and distinct set of environments; together they hold every block once."""
        found: dict[tuple[int, tuple[str, ...]], list[BlockState]] = {}
        for state in self._by_block.values():
            found.setdefault(_group_key(state), []).append(state)
        return [
            Group(
                f"measure_{number}",
                environments,
                tuple(sorted({s.block.cell for s in members})),
                tuple(sorted({s.block.repetition for s in members})),
            )
            for number, ((_, environments), members) in enumerate(found.items(), start=1)
        ]

    def path(self, *parts: str) -> str:
        """A file of the study."""
        return str(self.campaign.study_dir.joinpath(*parts))

    def record_patterns(self, group: Group) -> list[str]:
        """The outputs of a group's rule, with the wildcards {cell} and {repetition}."""
        return [self.path("runs", "{cell}", "{repetition}", f"{name}.json") for name in group.environments]

    def records(self, wildcards: Any = None) -> list[str]:
        """Input function: the records that tables rest on. Begins the run."""
        self.begin()
        return [str(path) for state in self._resting() for path in state.paths]

    def judged(self, wildcards: Any) -> list[str]:
        """Input function of a look: the records that it rests on."""
        self.begin()
        return [str(path) for state in self._resting(int(wildcards.blocks)) for path in state.paths]

    def _resting(self, blocks: int | None = None) -> list[BlockState]:
        """The blocks that the tables rest on, or that a look rested on when they were so many.

        Where the study wishes a precision and this call measures, what comes after the first blocks is decided by
        looks, each a job: the checkpoint ends this function by an exception until its file is made, whereupon Snakemake
        calls it again.
        """
        known = {_key(state): state for state in self.campaign.resting}
        if self._goes_on:
            while len(known) != blocks:
                made = self._looks.get(blocks=len(known)).output[0]
                further = [key for key in self._further(Path(made)) if key not in known]
                if not further:
                    break
                known |= {key: self._by_block[key] for key in further}
        return sorted(known.values(), key=lambda state: state.block.order)

    @property
    def _goes_on(self) -> bool:
        """Whether looks decide what else this call measures."""
        return self.campaign.look is not None and bool(self.campaign.to_measure or self._forced)

    def _further(self, look: Path) -> list[tuple[str, int]]:
        """The blocks that this call goes on with after a look."""
        found = []
        for key in precision.further(look):
            state = self._by_block[key]
            if self.campaign.selected(state) and not self.campaign.obstacles(state):
                self._number.setdefault(id(state), len(self._number) + 1)
                found.append(key)
        return found

    def nothing(self, wildcards: Any = None) -> list[str]:
        """Input function of what needs no records: begins the run."""
        self.begin()
        return []

    def plan(self, wildcards: Any = None) -> list[str]:
        """Input function: plan and study as they were frozen; in a dry run before the first run there are none."""
        self.begin()
        files = (self.campaign.plan_file, self.campaign.study_file)
        return [str(path) for path in files if path.exists()]

    def priority(self, wildcards: Any) -> int:
        """The planned order as Snakemake's priority: the first block has the highest."""
        state = self._state(wildcards)
        return len(self._by_block) - state.block.order + 1 if state else 0

    def seconds(self, wildcards: Any) -> float:
        """How long the block may take."""
        state = self._state(wildcards)
        return self.campaign.block_seconds(len(state.paths)) if state else 0.0

    def place(self, wildcards: Any) -> dict[str, float]:
        """Where the block stands in this call, for the progress line."""
        state = self._state(wildcards)
        total = max(len(self._number), 1)
        return {"number": self._number.get(id(state), total), "total": total, "since": self._since}

    def again(self, wildcards: Any) -> bool:
        """Whether the block is to be measured although it is finished: asked for by --config or by --forcerun."""
        state = self._state(wildcards)
        if state is None:
            return False
        asked = id(state) in self._number and state.status.finished
        return asked or _key(state) in self._forced

    def _state(self, wildcards: Any) -> BlockState | None:
        return self._by_block.get((str(wildcards.cell), int(wildcards.repetition)))

    def begin(self) -> None:
        """Once, while the graph is built: print the plan, take the lock, freeze the plan, force what is redone."""
        if self._begun or not self._workflow.is_main_process:
            return
        self._begun = True
        dag, settings = self._workflow.dag, self._workflow.dag_settings
        rules = {rule.name for rule in dag.forcerules}
        rule_of = {
            (c, r): group.name for group in self.groups for c in group.cells for r in group.repetitions
        }
        self._forced = frozenset(
            _key(state)
            for state in self.campaign.states
            # `only` limits what is measured, also under --forceall
            if self.campaign.selected(state)
            and (
                settings.forceall
                or any(str(path) in dag.forcefiles for path in state.paths)
                or rule_of[_key(state)] in rules
            )
        )
        # What Snakemake takes for finished since its files are there, but Tare does not.
        dag.forcefiles.update(
            str(path) for state in self.campaign.to_measure for path in state.paths if path.exists()
        )
        if self._goes_on:
            # A look that rested on as many blocks may be there from before; and records that are missing need nobody
            # who asks for them, where their table is there already.
            dag.forcefiles.add(str(precision.file_of(self.campaign.study_dir, len(self.campaign.resting))))
        if self._workflow.execution_settings is None:
            return  # --dag, --summary and the like
        coming = {_key(state) for state in self.campaign.to_measure}
        say(plan_text(self.campaign, forced=len(self._forced - coming)))
        if not (self._workflow.dryrun or self._workflow.touch):
            try:
                self._take_over()
            except (StudyError, LockHeld) as error:
                raise SystemExit(f"Tare: {error}") from None

    def _take_over(self) -> None:
        scheduler = self._workflow.scheduling_settings.scheduler
        if scheduler != "greedy":
            raise StudyError(
                f"Snakemake's scheduler is {scheduler!r}, which does not keep the planned order; call it with the "
                "project's profile (profiles/default, read when Snakemake is called from the project's folder) "
                "or with --scheduler greedy."
            )
        self._lock = freeze.begin(self.campaign, say)
        self._since = time.time()


def _key(state: BlockState) -> tuple[str, int]:
    return state.block.cell, state.block.repetition


def _group_key(state: BlockState) -> tuple[int, tuple[str, ...]]:
    return state.block.wave, tuple(sorted(state.block.environments))


def say(text: str) -> None:
    """Print for the user; standard output belongs to --dag and its like."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass  # nobody listens; that is no reason not to measure


def open_session(workflow: Any, config: Mapping[str, Any], root: str | Path) -> Session:
    """A session, or the end of the program with the one sentence that says why not."""
    try:
        return Session(workflow, config, Path(root))
    except (StudyError, LockHeld) as error:
        raise SystemExit(f"Tare: {error}") from None
    except OSError as error:
        raise SystemExit(
            f"Tare: {error.filename or 'A file'} can't be read: {error.strerror or error}."
        ) from None
