"""The axes of a study: what its cells are made of."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from pydantic import Field, field_validator, model_validator

from tare.plan.base import Count, Model, known
from tare.plan.errors import shown
from tare.plan.quiet import SETTINGS
from tare.worker.frameworks import FRAMEWORKS
from tare.worker.networks import NETWORKS

DATA_SETS = ("digits",)
_GPU = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 ./_+()-]*[A-Za-z0-9)+])?")
_NO_GPU = ("none", "cpu", "no", "null", "false")


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
        return known(values, NETWORKS, "network")

    @field_validator("framework")
    @classmethod
    def _frameworks(cls, values: list[str]) -> list[str]:
        return known(values, FRAMEWORKS, "framework")

    @field_validator("data")
    @classmethod
    def _data_sets(cls, values: list[str]) -> list[str]:
        return known(values, DATA_SETS, "data set")

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
        return values if values is None else known(values, SETTINGS, "value of settings")

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
