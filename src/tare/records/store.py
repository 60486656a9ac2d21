"""Records on disk: read with validation, written whole or not at all, replaced only by moving the old one aside."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tare.records.schema import SCHEMA_VERSION, Record


class BadRecord(ValueError):
    """A file that is no valid record; the message names the file and the first fault."""


def path_of(study_dir: Path, cell: str, repetition: int, environment: str) -> Path:
    """Where the record of one run lies."""
    return study_dir / "runs" / cell / str(repetition) / f"{environment}.json"


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader, a crash or a full disk finds the old content or the new, never a part."""
    temporary = _beside(path)
    try:
        _put(temporary, text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _put(path: Path, text: str) -> None:
    """Write a file down to the disk: a full one is noticed here, not by whoever reads it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Record:
    """Read and validate one record.

    Raises:
        BadRecord: the file is missing, no JSON, of another schema, or a value is wrong.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise BadRecord(f"{path} can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise BadRecord(
            f"{path} is no JSON ({error}); move it away and its block is measured again."
        ) from error
    if isinstance(content, dict):
        _check_version(path, content.get("schema_version"))
    try:
        # strict: "0.01" is no duration, and true no repetition
        return Record.model_validate(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the record"
        what = first["msg"].removeprefix("Value error, ")
        raise BadRecord(
            f"{path}: {where}: {what}; move the file away and its block is measured again."
        ) from error


def _check_version(path: Path, version: Any) -> None:
    """Refuse a record of another schema: what its values mean is not known here."""
    if type(version) is int and version > SCHEMA_VERSION:
        raise BadRecord(
            f"{path} has schema version {version}, this Tare reads up to {SCHEMA_VERSION}; install a newer Tare."
        )
    if type(version) is not int or version != SCHEMA_VERSION:
        has = "no schema version" if version is None else f"the schema version {str(version)[:20]!r}"
        raise BadRecord(
            f"{path} has {has}, this Tare reads {SCHEMA_VERSION}; move it away and its block is measured again."
        )


def write(study_dir: Path, record: Record) -> Path:
    """Write one record: see `write_all`."""
    return write_all(study_dir, [record])[0]


def write_all(study_dir: Path, records: Sequence[Record]) -> list[Path]:
    """Write the records of a block; those that lie at their places already are copied to `superseded/` first.

    All are on the disk before the first one is given its name, so that a disk that fills up meanwhile leaves either
    all of the old ones or all of the new ones: one old and one new record would pass for a block measured in lockstep.

    Raises:
        OSError: the disk is full or the folder can't be written; what was there before is still there.
    """
    paths = [path_of(study_dir, r.cell.name, r.repetition, r.environment) for r in records]
    kept: list[Path] = []
    try:
        for path, record in zip(paths, records, strict=True):
            if path.exists():
                kept.append(supersede(study_dir, path))
            _put(_beside(path), record.model_dump_json(indent=1) + "\n")
    except BaseException:
        for needless in (*kept, *(_beside(path) for path in paths)):
            needless.unlink(missing_ok=True)
        raise
    for path in paths:
        _beside(path).replace(path)
    return paths


def supersede(study_dir: Path, path: Path) -> Path:
    """Keep a copy of a record that is about to be replaced under `superseded/`, named by the time of the replacement.

    The record itself stays until its successor is renamed over it, so that a full disk at this moment loses nothing.
    """
    cell, repetition, name = path.relative_to(study_dir / "runs").parts
    kept = _stamped(study_dir / "superseded", cell, repetition, name.removesuffix(".json"))
    kept.parent.mkdir(parents=True, exist_ok=True)
    temporary = kept.with_suffix(".tmp")
    try:
        shutil.copy2(path, temporary)
        temporary.replace(kept)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return kept


def scan(study_dir: Path) -> Iterator[Path]:
    """All record files of a study, in the order of their names."""
    return iter(sorted((study_dir / "runs").glob("*/*/*.json")))


def write_interrupted(study_dir: Path, record: Record) -> Path:
    """Keep what an interrupted run measured: under `interrupted/`, outside the statistics.

    Raises:
        OSError: as in `write`.
    """
    path = _stamped(study_dir / "interrupted", record.cell.name, record.repetition, record.environment)
    write_atomically(path, record.model_dump_json(indent=1) + "\n")
    return path


def _stamped(folder: Path, cell: str, repetition: int | str, environment: str) -> Path:
    """A file name that is free, since it ends with the time."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return folder / cell / str(repetition) / f"{environment}.{stamp}.json"
