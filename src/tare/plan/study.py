"""A study's configuration file.

Every key has its description and default here; `config/README.md` is generated from them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, cast

from pydantic import Field, ValidationError, field_validator, model_validator

from tare.plan.axes import Matrix
from tare.plan.base import Count, Model, Seconds, as_name
from tare.plan.environment import Environment, check_together
from tare.plan.errors import StudyError
from tare.plan.quiet import DEFAULT, QUIET, Quiet, Settings
from tare.plan.reading import read_yaml
from tare.plan.sentences import sentence

# More than this many runs is a slip of the pen: at a minute each it would be two years.
MOST_RUNS = 1_000_000
# A BCa interval of fewer blocks is too narrow.
FEWEST_FOR_BCA = 20
# No width of an interval of fewer blocks is judged: their spread says too little.
FEWEST_FOR_PRECISION = 5
# How far a cell goes on where a study wishes a precision and names no end.
_MOST_REPETITIONS = 30


class Rounds(Model):
    """How many rounds of turns a block has."""

    min: Count = Field(default=8, description="Rounds that every block has, whatever they take.")
    max: Count = Field(
        default=80,
        description="Rounds after which a block ends: fresh processes then tell more than further rounds.",
    )

    @model_validator(mode="after")
    def _in_order(self) -> Rounds:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}; lower the one or raise the other")
        return self


class Study(Model):
    """One study: what is measured, in which environments, and how."""

    name: str = Field(
        default="", max_length=64, description="Folder under `results/`; left out, the file's name."
    )
    title: str = Field(default="", description="Heading of the report.")
    matrix: Matrix = Field(description="The axes whose every combination is a cell.")
    environments: list[Environment] = Field(
        min_length=1, description="How the program is run; `bare` is the baseline."
    )
    repetitions: int = Field(
        default=6, ge=1, le=10000, description="Blocks per cell, each of fresh processes."
    )
    precision_pct: float | None = Field(
        default=None,
        ge=0.01,
        lt=100,
        description="The half-width, in points, that each interval is to have at most: cells that are not there after "
        "`repetitions` blocks get further ones. Intervals are then made a little wider, as stopping needs it.",
    )
    max_repetitions: int | None = Field(
        default=None,
        ge=1,
        le=10000,
        description="Blocks per cell at most where `precision_pct` is asked for; left out, 30, or `repetitions` "
        "where that is more.",
    )
    schedule: Literal["lockstep", "sequential"] = Field(
        default="lockstep",
        description="`lockstep`: all environments of a block are alive at once and take turns; "
        "`sequential`: the papers' protocol, one run after the other.",
    )
    time_budget_s: Seconds = Field(
        default=3600,
        description="Seconds that measuring the whole study may take; sets the rounds per block. With `precision_pct` "
        "those of the first `repetitions` blocks of each cell; further blocks take as long each.",
    )
    time_budget_per_environment_s: Seconds | None = Field(
        default=None, description="A tighter budget: these seconds times the usable environments."
    )
    rounds: Rounds = Field(default=Rounds(), description="Bounds on the rounds per block.")
    steps_per_turn: Count | None = Field(
        default=None, description="Timed steps of a turn; left out, 2, or 1 for steps over 0.2 s."
    )
    warmup_steps: Count = Field(
        default=10, description="Untimed steps at the start of a run, recorded apart."
    )
    threads: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Threads of a run; left out, the CPUs that the first run of the study may use.",
    )
    quiet: Quiet = Field(
        default=Quiet(),
        description="`on`, `off` (the papers' plain protocol), or single switches: settings of malloc, OpenMP and "
        "the garbage collector that make equal processes more nearly equally fast, the same in every environment.",
        json_schema_extra={"words": ["on", "off"]},  # the first is the default
    )
    metric: Literal["throughput_images_per_sec", "second_per_batch"] = Field(
        default="throughput_images_per_sec", description="What the overhead is computed on."
    )
    margin_pct: float = Field(
        default=2.0, gt=0, lt=100, description="Overheads within this are equivalent for the purpose."
    )
    adjust: Literal["holm", "none"] = Field(
        default="holm",
        description="`holm`: the levels of intervals and verdicts hold for all comparisons of the table together; "
        "`none`: for each by itself, so that one in twenty true zeros comes out as a difference.",
    )
    interval: Literal["t", "bca"] = Field(
        default="t",
        description="`t`: the t interval over blocks; `bca`: a bootstrap over blocks (BCa), of 20 or more "
        "and with `adjust: none` only.",
    )
    timeout_s: Seconds = Field(
        default=600, description="A worker that gives no answer for so long is killed, its run failed."
    )
    seed: int = Field(
        default=1, ge=0, lt=2**31, description="Seed of the order, and with the repetition of the weights."
    )

    @field_validator("name")
    @classmethod
    def _named(cls, value: str) -> str:
        return as_name(value)

    @field_validator("environments")
    @classmethod
    def _environments(cls, values: list[Environment]) -> list[Environment]:
        check_together(values)
        return values

    @model_validator(mode="before")
    @classmethod
    def _no_old_key(cls, value: Any) -> Any:
        if isinstance(value, dict) and "settings" in value:
            old = value["settings"]
            instead = {
                QUIET: "`quiet: on` instead, or leave it out",
                DEFAULT: "`quiet: off` instead",
            }.get(old if isinstance(old, str) else "", "`settings: [quiet, default]` in `matrix` instead")
            raise ValueError(f"the key 'settings' is no longer at the top; write {instead}")
        return value

    @model_validator(mode="after")
    def _settings_agree(self) -> Study:
        asked = self.matrix.settings
        if asked is not None and self.quiet.off and QUIET in asked:
            raise ValueError(
                "quiet is off, but matrix.settings asks for quiet cells; take one of the two out"
            )
        if asked == [DEFAULT] and self.quiet != Quiet() and not self.quiet.off:
            raise ValueError(
                "quiet names switches, but matrix.settings asks for no quiet cell; take one of the two out"
            )
        return self

    @property
    def settings(self) -> list[Settings]:
        """The values of the axis."""
        return cast(list[Settings], self.matrix.settings or [DEFAULT if self.quiet.off else QUIET])

    @model_validator(mode="after")
    def _an_end_to_further_blocks(self) -> Study:
        if self.max_repetitions is None:
            return self
        if self.precision_pct is None:
            raise ValueError(
                "max_repetitions says how far a cell may go on until it is precise enough; add `precision_pct`, "
                "or take it out"
            )
        if self.max_repetitions < FEWEST_FOR_PRECISION:
            raise ValueError(
                f"max_repetitions is {self.max_repetitions}, and no interval of fewer than {FEWEST_FOR_PRECISION} "
                "blocks is judged; raise it, or take `precision_pct` out"
            )
        if self.max_repetitions < self.repetitions:
            raise ValueError(
                f"max_repetitions {self.max_repetitions} is below repetitions {self.repetitions}; "
                "lower the one or raise the other"
            )
        return self

    @model_validator(mode="after")
    def _not_endless(self) -> Study:
        runs = self.matrix.most_cells * len(self.environments) * self.most_repetitions
        if runs > MOST_RUNS:
            raise ValueError(
                f"{self.matrix.most_cells} cells x {len(self.environments)} environments x "
                f"{self.most_repetitions} repetitions are {runs} runs, more than {MOST_RUNS}; "
                "make several studies of it"
            )
        return self

    @model_validator(mode="after")
    def _enough_for_bca(self) -> Study:
        if self.interval == "bca" and self.repetitions < FEWEST_FOR_BCA:
            raise ValueError(
                f"`interval: bca` needs at least {FEWEST_FOR_BCA} repetitions and there are {self.repetitions}; "
                "ask for more, or write `interval: t`"
            )
        if self.interval == "bca" and self.precision_pct is not None:
            raise ValueError(
                "`interval: bca` can't make up for stopping by the width, as `precision_pct` does; "
                "take one of the two out"
            )
        if self.interval == "bca" and self.adjust == "holm":
            raise ValueError(
                "`interval: bca` is too narrow at the high levels that `adjust: holm` asks for; "
                "write `adjust: none`, or `interval: t`"
            )
        return self

    @property
    def most_repetitions(self) -> int:
        """Blocks per cell, those included that are measured only where precision needs them."""
        if self.precision_pct is None:
            return self.repetitions
        return self.max_repetitions or max(_MOST_REPETITIONS, self.repetitions)

    def environment(self, name: str) -> Environment:
        """The environment of that name; KeyError when there is none."""
        return {e.name: e for e in self.environments}[name]

    def budget_s(self, usable_environments: int) -> float:
        """Seconds for measuring, given how many environments can be used."""
        if self.time_budget_per_environment_s is None:
            return self.time_budget_s
        return min(self.time_budget_s, self.time_budget_per_environment_s * max(usable_environments, 1))


def load(path: Path) -> Study:
    """Read a study's YAML file.

    Raises:
        StudyError: the file is missing, no YAML, or a key or value in it is wrong.
    """
    return parse({"name": path.stem, **read_yaml(path, "The study")}, str(path))


def parse(content: Any, source: str) -> Study:
    """Make a study of a parsed configuration; `source` names the file in messages.

    Raises:
        StudyError: a key or value is wrong.
    """
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        raise StudyError(f"{source}: {sentence(error, Study)}") from None
