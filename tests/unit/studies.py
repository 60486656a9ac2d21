"""Small studies for tests, as their files say them.

study(environments=["bare", "docker"], repetitions=2)     a Study
write(folder / "mine.yaml", threads=2)                    the same as a YAML file
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tare.plan.study import Study, parse

MATRIX = {"model": ["lenet"], "framework": ["torch"]}


def content(**changes: Any) -> dict[str, Any]:
    """Keys and values of a small study; a key that is changed to None is left out."""
    keys = {"matrix": MATRIX, "environments": ["bare", "docker"], "threads": 2} | changes
    return {key: value for key, value in keys.items() if value is not None}


def study(name: str = "small", **changes: Any) -> Study:
    """A small study: lenet in torch, bare and docker, 6 repetitions."""
    return parse({"name": name} | content(**changes), f"{name}.yaml")


def matrix(**axes: Any) -> dict[str, Any]:
    """The small study's matrix with other axes."""
    return MATRIX | axes


def write(path: Path, **changes: Any) -> Path:
    """Write a small study as YAML."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content(**changes), sort_keys=False), encoding="utf-8")
    return path
