"""The models of a study's configuration file.

Every key has its description and default here; `config/README.md` is generated from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tare.plan.errors import StudyError, nearest, shown
from tare.plan.quiet import DEFAULT, QUIET, SETTINGS, Settings
from tare.plan.reading import read_yaml
from tare.plan.sentences import sentence
from tare.worker.frameworks import FRAMEWORKS
from tare.worker.networks import NETWORKS

ENGINES = ("bare", "bubblewrap", "docker", "podman", "apptainer")
# Names by which a reader takes an environment for that platform, whatever is measured under them.
_PLATFORMS = (*ENGINES, "chroot", "singularity", "slurm", "kubernetes")
DATA_SETS = ("digits",)
# More than this many runs is a slip of the pen: at a minute each it would be two years.
MOST_RUNS = 1_000_000
# A BCa interval of fewer blocks is too narrow.
FEWEST_FOR_BCA = 20
# No width of an interval of fewer blocks is judged: their spread says too little.
FEWEST_FOR_PRECISION = 5
# How far a cell goes on where a study wishes a precision and names no end.
_MOST_REPETITIONS = 30
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_GPU = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 ./_+()-]*[A-Za-z0-9)+])?")
_NO_GPU = ("none", "cpu", "no", "null", "false")

Seconds = Annotated[float, Field(gt=0, le=1e8)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class Model(BaseModel):
    """A part of the configuration; unknown keys are errors that name the nearest right one."""

    # strict: `true` is no number and "64" no batch size
    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, strict=True, allow_inf_nan=False
    )


class Matrix(Model):
    """The axes whose every combination is a cell."""

    model: list[str] = Field(min_length=1, description="Networks by name.")
    framework: list[str] = Field(min_length=1, description="Frameworks by name.")
    data: list[str] = Field(default=["digits"], min_length=1, description="Data sets by name.")
    batch_size: list[Count] | None = Field(
        default=None, min_length=1, description="Items per step; left out, each network's own default."
    )
    gpu: list[str] = Field(
        default=["none"],
        min_length=1,
        description="`none` (the CPU), or part of the name that NVML gives, such as `V100`; "
        "a cell is measured only where a GPU of that name is.",
    )
    gpus_per_learner: list[Count] = Field(
        default=[1], min_length=1, description="GPUs of each learner; cells with `gpu: none` have 0."
    )
    learners: list[Count] = Field(
        default=[1], min_length=1, description="Training processes; this version starts one."
    )
    settings: list[str] | None = Field(
        default=None,
        min_length=1,
        description="`quiet`, `default` (none of the quiet settings), or both; left out, `quiet`, and `default` "
        "under `quiet: off`.",
    )

    @field_validator("*", mode="before")
    @classmethod
    def _one_value_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str | int) else value

    @field_validator("model")
    @classmethod
    def _models(cls, values: list[str]) -> list[str]:
        return _known(values, NETWORKS, "network")

    @field_validator("framework")
    @classmethod
    def _frameworks(cls, values: list[str]) -> list[str]:
        return _known(values, FRAMEWORKS, "framework")

    @field_validator("data")
    @classmethod
    def _data_sets(cls, values: list[str]) -> list[str]:
        return _known(values, DATA_SETS, "data set")

    @field_validator("gpu")
    @classmethod
    def _gpus(cls, values: list[str]) -> list[str]:
        for value in values:
            if value != "none" and value.casefold() in _NO_GPU:
                raise ValueError(f"{value!r} is no GPU; write `none` for the CPU")
            if len(value) > 64 or not _GPU.fullmatch(value):
                raise ValueError(
                    f"{shown(value)} is no part of a GPU's name; write `none`, or a name such as `V100`"
                )
        return values

    @field_validator("settings")
    @classmethod
    def _settings(cls, values: list[str] | None) -> list[str] | None:
        return values if values is None else _known(values, SETTINGS, "value of settings")

    @model_validator(mode="after")
    def _no_value_twice(self) -> Matrix:
        for axis, values in self:
            for value in values or []:
                if values.count(value) > 1:
                    raise ValueError(f"{axis} names {shown(value)} twice; name it once")
        return self

    @property
    def most_cells(self) -> int:
        """How many combinations there are; with `gpu: none` several of them may be one cell."""
        return prod(len(values) for _, values in self if values)


class Environment(Model):
    """One way of running the program."""

    name: str = Field(
        max_length=64, description="Name in tables and files; a bare string is name and engine."
    )
    engine: str = Field(
        default="", description=f"One of {', '.join(ENGINES)}; left out, the environment's name."
    )
    baseline: str = Field(
        default="bare", description="The environment that this one is compared with; `bare` is its own."
    )
    optional: bool = Field(
        default=False,
        description="true: where the engine can't be used its rows say why; "
        "false: the study stops before it measures.",
    )
    fallback: bool = Field(
        default=False,
        description="true: measured only where no other environment beside its baseline can be used.",
    )
    software: Literal["host"] = Field(
        default="host",
        description="`host`: an empty image, with the host's userland and Python mounted read-only.",
    )
    injected: Annotated[float, Field(gt=0, le=1000)] | None = Field(
        default=None,
        description="Percent by which each step is made longer, by real waiting: a known answer to check by; "
        "3 makes 10 ms 10.3 ms.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_a_name(cls, value: Any) -> Any:
        value = {"name": value} if isinstance(value, str) else value
        if isinstance(value, dict) and value.get("engine") is None and "name" in value:
            value = {**value, "engine": value["name"]}
        return value

    @field_validator("name")
    @classmethod
    def _named(cls, value: str) -> str:
        if value == "block":
            raise ValueError("'block' is the name of a block's own log; give the environment another name")
        return _name(value)

    @field_validator("engine")
    @classmethod
    def _engine(cls, value: str) -> str:
        return _known([value], ENGINES, "engine")[0]

    @model_validator(mode="after")
    def _no_other_platform_s_name(self) -> Environment:
        if self.name in _PLATFORMS and self.name != self.engine:
            raise ValueError(
                f"an environment with engine {self.engine!r} can't be named {self.name!r}, as another platform is: "
                "its rows would be taken for that one's; give it another name"
            )
        return self

    @property
    def is_baseline(self) -> bool:
        """Whether this environment is compared with nothing."""
        return self.baseline == self.name

    def options(self) -> dict[str, Any]:
        """What determines how the environment is run, without its name: part of a run's specification."""
        # what isn't asked for has no place in it: a further option must not make older records stale
        return self.model_dump(exclude={"name", "baseline", "optional", "fallback"}, exclude_none=True)


class Quiet(Model):
    """Which quiet settings are on in the cells of `settings: quiet`; None is what was found good for a framework."""

    huge_pages: bool | None = Field(
        default=None, description="Memory of malloc in huge pages (glibc). Left out: on."
    )
    one_heap: bool | None = Field(
        default=None,
        description="malloc keeps its heap in one piece and never gives memory back (glibc). Left out: on.",
    )
    bind_threads: bool | None = Field(
        default=None,
        description="Each OpenMP thread stays on a CPU of its own. torch only; left out: on.",
    )
    short_spin: bool | None = Field(
        default=None,
        description="OpenMP threads that wait for work soon stop spinning. torch only; left out: on.",
    )
    gc_off: bool | None = Field(
        default=None,
        description="Python's garbage collector is frozen and off after warm-up. Left out: on.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_a_word(cls, value: Any) -> Any:
        if value is True or value == "on":
            return {}
        if value is False or value == "off":
            return dict.fromkeys(cls.model_fields, False)
        if not isinstance(value, dict | cls):
            raise ValueError(f"must be on, off, or switches such as `huge_pages: false`, not {shown(value)}")
        return value

    @property
    def asked(self) -> dict[str, bool | None]:
        """Switch -> what the study says of it."""
        return dict(self)

    @property
    def off(self) -> bool:
        """Whether every switch is off."""
        return not any(value is not False for value in self.asked.values())


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
        return _name(value)

    @field_validator("environments")
    @classmethod
    def _environments(cls, values: list[Environment]) -> list[Environment]:
        by_name: dict[str, Environment] = {}
        for environment in values:
            if environment.name in by_name:
                raise ValueError(
                    f"{environment.name!r} is named twice; give one of them another name and its engine"
                )
            by_name[environment.name] = environment
        for environment in values:
            _follow_baselines(environment, by_name)
            again, baseline = f"{environment.baseline}-again", by_name[environment.baseline]
            if environment.name == again and environment.options() != baseline.options():
                raise ValueError(
                    f"{again!r} means {baseline.name!r} a second time, but it has another engine or other options; "
                    "give it another name"
                )
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


def _known(values: list[str], known: Any, what: str) -> list[str]:
    for value in values:
        if value not in known:
            raise ValueError(f"there is no {what} {shown(value)}{nearest(value, known)}")
    return values


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(
            f"{shown(value)} can't be a name; write a `name:` of lower-case letters, digits, `_`, `.`, `-`, "
            "the first a letter or digit"
        )
    return value


def _follow_baselines(environment: Environment, by_name: Mapping[str, Environment]) -> None:
    """Raise ValueError where the comparisons do not end with an environment that is its own baseline."""
    if environment.fallback and environment.is_baseline:
        raise ValueError(
            f"{environment.name!r} is a fallback and its own baseline; "
            "name the `baseline:` that it is compared with"
        )
    seen = [environment.name]
    while not by_name[seen[-1]].is_baseline:
        baseline = by_name[seen[-1]].baseline
        if baseline not in by_name:
            raise ValueError(
                f"{seen[-1]!r} is compared with {shown(baseline)}, which is not an environment of the study; "
                "add it, or name another `baseline:`"
            )
        if by_name[baseline].fallback:
            raise ValueError(
                f"{seen[-1]!r} is compared with {baseline!r}, a fallback, which is not always there; "
                "name another `baseline:`"
            )
        if baseline in seen:
            raise ValueError(
                f"the baselines go in a circle: {' -> '.join([*seen, baseline])}; "
                "one environment must be its own baseline"
            )
        seen.append(baseline)


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
