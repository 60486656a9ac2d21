"""What the parts of a study's configuration have in common: strictness, units, names."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tare.plan.errors import nearest, shown

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")

Seconds = Annotated[float, Field(gt=0, le=1e8)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class Model(BaseModel):
    """A part of the configuration; unknown keys are errors that name the nearest right one."""

    # strict: `true` is no number and "64" no batch size
    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, strict=True, allow_inf_nan=False
    )


def known(values: list[str], there_are: Collection[str], what: str) -> list[str]:
    """The values, each of which is to be one of those that there are; `what` names the kind in the ValueError."""
    for value in values:
        if value not in there_are:
            raise ValueError(f"there is no {what} {shown(value)}{nearest(value, there_are)}")
    return values


def as_name(value: str) -> str:
    """The value, which is to be a name of files and folders; else a ValueError says what such a name is made of."""
    if not _NAME.fullmatch(value):
        raise ValueError(
            f"{shown(value)} can't be a name; write a `name:` of lower-case letters, digits, `_`, `.`, `-`, "
            "the first a letter or digit"
        )
    return value
