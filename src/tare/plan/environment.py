"""The environments of a study: the ways of running the program, and what each is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from tare.plan.base import Model, as_name, known
from tare.plan.errors import shown

ENGINES = ("bare", "bubblewrap", "docker", "podman", "apptainer")
# Names by which a reader takes an environment for that platform, whatever is measured under them.
_PLATFORMS = (*ENGINES, "chroot", "singularity", "slurm", "kubernetes")


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
        return as_name(value)

    @field_validator("engine")
    @classmethod
    def _engine(cls, value: str) -> str:
        return known([value], ENGINES, "engine")[0]

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


def check_together(environments: Sequence[Environment]) -> None:
    """See that the environments of a study have names of their own and baselines that end somewhere.

    Raises:
        ValueError: they don't; the message says which and what to do.
    """
    by_name: dict[str, Environment] = {}
    for environment in environments:
        if environment.name in by_name:
            raise ValueError(
                f"{environment.name!r} is named twice; give one of them another name and its engine"
            )
        by_name[environment.name] = environment
    for environment in environments:
        _follow_baselines(environment, by_name)
        again, baseline = f"{environment.baseline}-again", by_name[environment.baseline]
        if environment.name == again and environment.options() != baseline.options():
            raise ValueError(
                f"{again!r} means {baseline.name!r} a second time, but it has another engine or other options; "
                "give it another name"
            )


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
