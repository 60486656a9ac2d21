"""Records on disk: read with validation, written whole or not at all, replaced only by moving the old one aside."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from tare.records.schema import SCHEMA_VERSION, Record


class BadRecord(ValueError):
    """A file that is no valid record; the message names the file and the first fault."""


def path_of(study_dir: Path, cell: str, repetition: int, environment: str) -> Path:
    """Where the record of one run lies."""
    return study_dir / "runs" / cell / str(repetition) / f"{environment}.json"


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader, a crash or a full disk finds the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read(path: Path) -> Record:
    """Read and validate one record.

    Raises:
        BadRecord: the file is missing, no JSON, of a newer schema, or a value is wrong.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise BadRecord(f"{path} can't be read: {error.strerror}.") from error
    except ValueError as error:
        raise BadRecord(f"{path} is no JSON ({error}); move it away and its block is measured again.") from error
    version = content.get("schema_version") if isinstance(content, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise BadRecord(
            f"{path} has schema version {version}, this Tare reads up to {SCHEMA_VERSION}; install a newer Tare."
        )
    try:
        return Record.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the record"
        raise BadRecord(
            f"{path}: {where}: {first['msg']}; move the file away and its block is measured again."
        ) from error


def write(study_dir: Path, record: Record) -> Path:
    """Write a record; one that lies at its place already is moved to `superseded/` first.

    Raises:
        OSError: the disk is full or the folder can't be written; what was there before is still there.
    """
    path = path_of(study_dir, record.cell.name, record.repetition, record.environment)
    text = record.model_dump_json(indent=1) + "\n"
    if path.exists():
        supersede(study_dir, path)
    write_atomically(path, text)
    return path


def supersede(study_dir: Path, path: Path) -> Path:
    """Keep a copy of a record that is about to be replaced under `superseded/`, named by the time of the replacement.

    The record itself stays until its successor is renamed over it, so that a full disk at this moment loses nothing.
    """
    relative = path.relative_to(study_dir / "runs")
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    kept = study_dir / "superseded" / relative.parent / f"{relative.stem}.{stamp}.json"
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


def write_aside(study_dir: Path, record: Record) -> Path:
    """Keep a record that must not take the place of a better one: under `superseded/`, never in the statistics."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    folder = study_dir / "superseded" / record.cell.name / str(record.repetition)
    path = folder / f"{record.environment}.{stamp}.json"
    write_atomically(path, record.model_dump_json(indent=1) + "\n")
    return path
