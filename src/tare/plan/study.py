"""The models of a study's configuration file.

Every key has its description and default here; `config/README.md` is generated from them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tare.plan.errors import StudyError, nearest
from tare.worker.frameworks import FRAMEWORKS
from tare.worker.networks import NETWORKS

ENGINES = ("bare", "bubblewrap", "docker", "podman", "apptainer")
DATA_SETS = ("digits",)
_NAME = r"^[a-z0-9][a-z0-9_.-]*$"


class Model(BaseModel):
    """A part of the configuration; unknown keys are errors that name the nearest right one."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class Matrix(Model):
    """The axes whose every combination is a cell."""

    model: list[str] = Field(min_length=1, description="Networks by name.")
    framework: list[str] = Field(min_length=1, description="Frameworks by name.")
    data: list[str] = Field(default=["digits"], min_length=1, description="Data sets by name.")
    batch_size: list[int] | None = Field(
        default=None, min_length=1, description="Items per step; left out, each network's own default."
    )
    gpu: list[str] = Field(
        default=["none"],
        min_length=1,
        description="`none` (the CPU), or part of the name that NVML gives, such as `V100`; "
        "a cell is measured only where a GPU of that name is.",
    )
    gpus_per_learner: list[int] = Field(
        default=[1], min_length=1, description="GPUs of each learner; cells with `gpu: none` have 0."
    )
    learners: list[int] = Field(
        default=[1], min_length=1, description="Training processes; this version starts one."
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

    @field_validator("batch_size", "gpus_per_learner", "learners")
    @classmethod
    def _positive(cls, values: list[int] | None) -> list[int] | None:
        if values is not None and min(values) < 1:
            raise ValueError(f"{min(values)} is below 1")
        return values

    @model_validator(mode="after")
    def _no_value_twice(self) -> Matrix:
        for axis, values in self:
            if values is not None and len(set(values)) != len(values):
                raise ValueError(f"{axis} names a value twice")
        return self


class Environment(Model):
    """One way of running the program."""

    name: str = Field(pattern=_NAME, description="Name in tables and files; a bare string is name and engine.")
    engine: str = Field(
        default="", description=f"One of {', '.join(ENGINES)}; left out, the environment's name."
    )
    baseline: str = Field(
        default="bare", description="The environment that this one is compared with; `bare` is its own."
    )
    optional: bool = Field(
        default=False,
        description="true: where the engine can't be used its rows say why; false: the study stops before it measures.",
    )
    fallback: bool = Field(
        default=False,
        description="true: measured only where no other environment beside its baseline can be used.",
    )
    software: Literal["host"] = Field(
        default="host",
        description="`host`: an empty image, with the host's userland and Python mounted read-only.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_a_name(cls, value: Any) -> Any:
        value = {"name": value} if isinstance(value, str) else value
        if isinstance(value, dict) and not value.get("engine"):
            value = {**value, "engine": value.get("name")}
        return value

    @field_validator("engine")
    @classmethod
    def _engine(cls, value: str) -> str:
        return _known([value], ENGINES, "engine")[0]

    @property
    def is_baseline(self) -> bool:
        """Whether this environment is compared with nothing."""
        return self.baseline == self.name

    def options(self) -> dict[str, Any]:
        """What determines how the environment is run, without its name: part of a run's specification."""
        return self.model_dump(exclude={"name", "baseline", "optional", "fallback"})


class Rounds(Model):
    """How many rounds of turns a block has."""

    min: int = Field(default=8, ge=1, description="Rounds that every block has, whatever they take.")
    max: int = Field(
        default=40,
        ge=1,
        description="Rounds after which a block ends: fresh processes then tell more than further rounds.",
    )

    @model_validator(mode="after")
    def _in_order(self) -> Rounds:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        return self


class Study(Model):
    """One study: what is measured, in which environments, and how."""

    name: str = Field(
        default="", pattern=_NAME, description="Folder under `results/`; left out, the file's name."
    )
    title: str = Field(default="", description="Heading of the report.")
    matrix: Matrix = Field(description="The axes whose every combination is a cell.")
    environments: list[Environment] = Field(
        min_length=1, description="How the program is run; `bare` is the baseline."
    )
    repetitions: int = Field(
        default=6, ge=1, le=10000, description="Blocks per cell, each of fresh processes."
    )
    schedule: Literal["lockstep", "sequential"] = Field(
        default="lockstep",
        description="`lockstep`: all environments of a block are alive at once and take turns; "
        "`sequential`: the papers' protocol, one run after the other.",
    )
    time_budget_s: float = Field(
        default=3600,
        gt=0,
        description="Seconds that measuring the whole study may take; sets the rounds per block.",
    )
    time_budget_per_environment_s: float | None = Field(
        default=None, gt=0, description="A tighter budget: these seconds times the usable environments."
    )
    rounds: Rounds = Field(default=Rounds(), description="Bounds on the rounds per block.")
    steps_per_turn: int | None = Field(
        default=None, ge=1, description="Timed steps of a turn; left out, 4, or 1 for steps over 0.2 s."
    )
    warmup_steps: int = Field(
        default=10, ge=1, description="Untimed steps at the start of a run, recorded apart."
    )
    threads: int | None = Field(
        default=None, ge=1, description="Threads of a run; left out, the CPUs that this process may use."
    )
    settings: Literal["quiet", "default"] = Field(
        default="quiet",
        description="`quiet`: settings of malloc, OpenMP and the garbage collector that make equal processes "
        "equally fast; `default`: the frameworks' own. The same in every environment either way.",
    )
    metric: Literal["throughput_images_per_sec", "second_per_batch"] = Field(
        default="throughput_images_per_sec", description="What the overhead is computed on."
    )
    margin_pct: float = Field(
        default=2.0, gt=0, lt=100, description="Overheads within this are equivalent for the purpose."
    )
    timeout_s: float = Field(
        default=600, gt=0, description="A worker that gives no answer for so long is killed, its run failed."
    )
    seed: int = Field(
        default=1, ge=0, lt=2**31, description="Seed of the order, and with the repetition of the weights."
    )

    @field_validator("environments")
    @classmethod
    def _environments(cls, values: list[Environment]) -> list[Environment]:
        names = [e.name for e in values]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name!r} is named twice; give one of them another name and its engine")
        by_name = {e.name: e for e in values}
        for environment in values:
            seen = [environment.name]
            while not by_name[seen[-1]].is_baseline:
                baseline = by_name[seen[-1]].baseline
                if baseline not in by_name:
                    raise ValueError(
                        f"{seen[-1]!r} is compared with {baseline!r}, which is not an environment of the study; "
                        f"add {baseline!r} or name another baseline"
                    )
                if baseline in seen:
                    raise ValueError(
                        f"the baselines go in a circle: {' -> '.join([*seen, baseline])}; "
                        "one environment must be its own baseline"
                    )
                seen.append(baseline)
        return values

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
            raise ValueError(f"there is no {what} {value!r}{nearest(value, known)}")
    return values


def load(path: Path) -> Study:
    """Read a study's YAML file.

    Raises:
        StudyError: the file is missing, no YAML, or a key or value in it is wrong.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"The study {path} can't be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        text = re.sub(r"\s+", " ", str(error))
        raise StudyError(f"The study {path} is no YAML: {text}.") from error
    if not isinstance(content, dict):
        raise StudyError(f"The study {path} must be a list of keys and values, such as `repetitions: 6`.")
    return parse({"name": path.stem, **content}, str(path))


def parse(content: dict[str, Any], source: str) -> Study:
    """Make a study of a parsed configuration; `source` names the file in messages.

    Raises:
        StudyError: a key or value is wrong.
    """
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        raise StudyError(f"{source}: {_sentence(error)}") from None


def _sentence(error: ValidationError) -> str:
    """The first fault in one sentence: key, what is wrong, what to do."""
    first = error.errors(include_url=False)[0]
    key = _key(first["loc"])
    if first["type"] == "extra_forbidden":
        known = _keys_beside(first["loc"])
        return f"unknown key {key!r}{nearest(str(first['loc'][-1]), known)}"
    if first["type"] == "missing":
        return f"the key {key!r} is missing."
    message = first["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    got = first["input"]
    shown = "" if first["type"] == "value_error" or isinstance(got, dict | list) else f", not {got!r}"
    return f"{key or 'the study'}: {message}{shown}" + ("" if message.endswith((".", "?")) else ".")


def _key(location: tuple[int | str, ...]) -> str:
    key = ""
    for part in location:
        key += f"[{part + 1}]" if isinstance(part, int) else (f".{part}" if key else str(part))
    return key


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    models: dict[str, type[Model]] = {"matrix": Matrix, "environments": Environment, "rounds": Rounds}
    model = models.get(str(location[0]), Study) if len(location) > 1 else Study
    return list(model.model_fields)
