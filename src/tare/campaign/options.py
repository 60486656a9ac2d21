"""What a user says with `--config`, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.plan.errors import StudyError, nearest

# key -> what it does, for messages and for config/README.md
KEYS = {
    "study": "Name of a study in `config/studies/`, or the path of a study's YAML file.",
    "results": "Folder that takes the results of all studies.",
    "only": "Pattern (or several, separated by commas) of cell names: only these are measured; tables hold all.",
    "redo": "true: measure again what is measured already; the old records go to `superseded/`.",
    "retry_failed": "true: measure the blocks again in which a run failed.",
    "add": "Environments (separated by commas) that could not be used when the study was begun, to be added now.",
    "lock": "What to do when another run uses the study or the machine: `wait` for it, or `stop`.",
}


@dataclass(frozen=True)
class Options:
    """The options of one call."""

    study_file: Path
    results: Path
    only: tuple[str, ...] = ()
    redo: bool = False
    retry_failed: bool = False
    add: tuple[str, ...] = ()
    wait: bool = True


def parse(config: Mapping[str, Any], root: Path) -> Options:
    """Options of Snakemake's configuration.

    Args:
        root: the project's folder; studies are looked up under its `config/studies/`.

    Raises:
        StudyError: an unknown key, or a value of the wrong kind.
    """
    for key in config:
        if key not in KEYS:
            raise StudyError(f"--config {key}: unknown key{nearest(key, KEYS)}")
    lock = str(config.get("lock", "wait"))
    if lock not in ("wait", "stop"):
        raise StudyError(f"--config lock={lock}: must be `wait` or `stop`.")
    return Options(
        study_file=study_file(str(config.get("study", "quick")), root),
        results=Path(str(config.get("results", "results"))),
        only=_list(config.get("only")),
        redo=_flag(config, "redo"),
        retry_failed=_flag(config, "retry_failed"),
        add=_list(config.get("add")),
        wait=lock == "wait",
    )


def study_file(value: str, root: Path) -> Path:
    """The file of a study given by name or by path.

    Raises:
        StudyError: there is no such study.
    """
    if value.endswith((".yaml", ".yml")) or "/" in value:
        path = Path(value)
        if not path.is_file():
            raise StudyError(f"There is no study file {value}; give the path of a YAML file, or a name.")
        return path
    folder = root / "config" / "studies"
    path = folder / f"{value}.yaml"
    if not path.is_file():
        raise StudyError(
            f"There is no study {value!r} in {folder}{nearest(value, [p.stem for p in folder.glob('*.yaml')])}"
        )
    return path


def _list(value: Any) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    parts = value if isinstance(value, list) else str(value).split(",")
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _flag(config: Mapping[str, Any], key: str) -> bool:
    value = config.get(key, False)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        value = value.lower() == "true"
    if not isinstance(value, bool):
        raise StudyError(f"--config {key}={value}: must be true or false.")
    return value
