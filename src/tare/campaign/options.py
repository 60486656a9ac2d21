"""What a user says with `--config`, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tare.plan.errors import StudyError, nearest, shown

# key -> what it does, for messages and for config/README.md
KEYS = {
    "study": "Name of a study in `config/studies/`, or the path of a study's YAML file.",
    "results": "Folder that takes the results of all studies.",
    "only": "Pattern of cell names, or several with commas: only these are measured; tables hold all.",
    "redo": "true: measure again what is measured already; the old records go to `superseded/`.",
    "retry_failed": "true: measure the blocks again in which a run failed.",
    "add": "Environments, with commas, to be added that could not be used when the study was begun.",
    "lock": "What to do when another run uses the study or the machine: `wait` for it, or `stop`.",
}
# what holds where a key is left out, in the same words
DEFAULTS = {"study": "quick", "results": "results", "redo": "false", "retry_failed": "false", "lock": "wait"}


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


def configured(root: Path) -> dict[str, Any]:
    """What `config/config.yaml` says, as Snakemake takes it; nothing where there is no such file.

    Raises:
        StudyError: it is no YAML, or no mapping.
    """
    path = root / "config" / "config.yaml"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise StudyError(f"{path} can't be read: {' '.join(str(error).split())}.") from error
    if content is not None and not isinstance(content, dict):
        raise StudyError(f"{path} must hold keys and values, such as `study: quick`.")
    return content or {}


def parse(config: Mapping[str, Any], root: Path) -> Options:
    """Options of Snakemake's configuration.

    Args:
        root: the project's folder; studies are looked up under its `config/studies/`.

    Raises:
        StudyError: an unknown key, or a value of the wrong kind.
    """
    for key in config:
        if key not in KEYS:
            raise StudyError(f"--config {key}: unknown key{nearest(str(key), KEYS)}")
    results = Path(_text(config, "results")).expanduser()
    there = next((path for path in (results, *results.parents) if path.exists()), None)
    if there is not None and not there.is_dir():
        raise StudyError(
            f"{there} is no folder, so results can't be written there; move it away, or name a folder with "
            "--config results=FOLDER."
        )
    lock = _text(config, "lock")
    if lock not in ("wait", "stop"):
        raise StudyError(f"--config lock={lock}: must be `wait` or `stop`.")
    return Options(
        study_file=study_file(_text(config, "study"), root),
        results=results,
        only=_list(config, "only"),
        redo=_flag(config, "redo"),
        retry_failed=_flag(config, "retry_failed"),
        add=_list(config, "add"),
        wait=lock == "wait",
    )


def study_file(value: str, root: Path) -> Path:
    """The file of a study given by name or by path.

    Raises:
        StudyError: there is no such study.
    """
    if value.endswith((".yaml", ".yml")) or "/" in value:
        path = Path(value).expanduser()
        if not _is_file(path):
            raise StudyError(
                f"--config study={value}: there is no such file; "
                "give the path of a YAML file, or a study's name."
            )
        return path
    folder = root / "config" / "studies"
    path = folder / f"{value}.yaml"
    if not _is_file(path):
        known = [p.stem for p in folder.glob("*.yaml")]
        raise StudyError(f"--config study={value}: there is no such study in {folder}{nearest(value, known)}")
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long, a folder that can't be looked into
        return False


def _text(config: Mapping[str, Any], key: str) -> str:
    value = config.get(key, DEFAULTS[key])
    # Snakemake makes a number of what looks like one: a study may be called 2024
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise StudyError(
            f"--config {key}: must be text, not {shown(value)}; give a value, or leave the key out."
        )
    return str(value)


def _list(config: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The parts of a list; an empty one is refused.

    With `only=$CELL redo=true` and no CELL, everything would be measured again.
    """
    if key not in config:
        return ()
    value = config[key]
    parts = value if isinstance(value, list) else ["" if value is None else value]
    if not all(isinstance(part, str | int) and not isinstance(part, bool) for part in parts):
        raise StudyError(f"--config {key}: must be names separated by commas, not {shown(value)}.")
    names = [name.strip() for part in parts for name in str(part).split(",")]
    if not any(names):
        raise StudyError(f"--config {key}: is empty; name something, or leave the key out.")
    return tuple(dict.fromkeys(name for name in names if name))


def _flag(config: Mapping[str, Any], key: str) -> bool:
    value = config.get(key, False)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        value = value.lower() == "true"
    if not isinstance(value, bool):
        raise StudyError(f"--config {key}: must be true or false, not {shown(value)}.")
    return value
