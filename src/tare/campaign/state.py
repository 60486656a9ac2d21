"""What is on disk of a plan: which blocks are done, and why the others are not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import get_args

import pandas as pd

from tare.plan.table import Block, blocks
from tare.records import store
from tare.records.schema import Record
from tare.records.schema import Status as RecordStatus
from tare.stats.trusted import fault


class Status(Enum):
    """State of a block; only DONE and FAILED are never measured again by themselves."""

    DONE = "done"
    FAILED = "failed"
    MISSING = "missing"
    INTERRUPTED = "interrupted"
    STALE = "stale"
    UNREADABLE = "unreadable"

    @property
    def finished(self) -> bool:
        """Whether every run of the block has its final record."""
        return self in (Status.DONE, Status.FAILED)


@dataclass(frozen=True)
class BlockState:
    """A block, its record files in the order of its environments, and where it stands."""

    block: Block
    paths: tuple[Path, ...]
    status: Status

    @property
    def begun(self) -> bool:
        """Whether a record of it is there, whatever it is worth."""
        return self.status.finished or any(path.exists() for path in self.paths)


def states(study_dir: Path, plan: pd.DataFrame) -> list[BlockState]:
    """The state of each block of the plan, in its order."""
    return [state(study_dir, block) for block in blocks(plan)]


def state(study_dir: Path, block: Block) -> BlockState:
    """The state of one block."""
    paths = tuple(store.path_of(study_dir, block.cell, block.repetition, name) for name in block.environments)
    seen = [_look(path, spec_hash) for path, spec_hash in zip(paths, block.spec_hashes, strict=True)]
    found = {status for status, _ in seen}
    # the worst of the runs decides
    order = (Status.UNREADABLE, Status.STALE, Status.INTERRUPTED, Status.MISSING, Status.FAILED, Status.DONE)
    worst = next(status for status in order if status in found)
    if worst.finished and len({block_id for _, block_id in seen}) > 1:
        # records of two measurings, as a crash between their renames leaves them: no comparison can be made of it
        worst = Status.INTERRUPTED
    if worst is Status.MISSING and (study_dir / "interrupted" / block.cell / str(block.repetition)).is_dir():
        worst = Status.INTERRUPTED
    return BlockState(block, paths, worst)


def _look(path: Path, spec_hash: str) -> tuple[Status, str]:
    """A record's status, and which measuring of its block it comes from."""
    # Three keys are all that is needed, so the record is not validated here: a plan may have thousands.
    try:
        content = json.loads(path.read_bytes())
        status, found, block_id = content["status"], content["spec_hash"], str(content.get("block_id", ""))
    except FileNotFoundError:
        return Status.MISSING, ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Status.UNREADABLE, ""
    if status not in get_args(RecordStatus):
        return Status.UNREADABLE, block_id
    if found != spec_hash:
        return Status.STALE, block_id
    if status == "interrupted":
        return Status.INTERRUPTED, block_id
    return (Status.DONE if status == "ok" else Status.FAILED), block_id


def current_records(study_dir: Path, plan: pd.DataFrame) -> Iterator[Record]:
    """The records that tables are made from: those of the plan, final, and of the specification it has now.

    Raises:
        BadRecord: one of them is damaged, contradicts itself, or lies at another's place.
    """
    for block in blocks(plan):
        for name, spec_hash in zip(block.environments, block.spec_hashes, strict=True):
            path = store.path_of(study_dir, block.cell, block.repetition, name)
            if path.exists():
                record = store.read(path)
                if record.spec_hash == spec_hash and record.status != "interrupted":
                    _check(study_dir, path, record)
                    yield record


def all_records(study_dir: Path) -> list[Record]:
    """Every record of a study: those that were made for other settings or repetitions are not used, but counted.

    Raises:
        BadRecord: one of them is damaged, contradicts itself, or lies at another's place.
    """
    found = []
    for path in store.scan(study_dir):
        record = store.read(path)
        _check(study_dir, path, record)
        found.append(record)
    return found


def final_records(study_dir: Path, finished: Iterable[BlockState]) -> Iterator[Record]:
    """The records of blocks that are finished.

    Raises:
        BadRecord: one of them is damaged, contradicts itself, or lies at another's place.
    """
    for state in finished:
        for path in state.paths:
            record = store.read(path)
            _check(study_dir, path, record)
            yield record


def _check(study_dir: Path, path: Path, record: Record) -> None:
    """Refuse a record that is another's, or that contradicts itself.

    One copied to another's place would be counted under a wrong label: the hash holds no names.
    """
    found = record.cell.name, record.repetition, record.environment
    if path != store.path_of(study_dir, *found):
        raise store.BadRecord(
            f"{path} is the record of cell {found[0]}, repetition {found[1]}, environment {found[2]}; "
            "move it away and its block is measured again."
        )
    wrong = fault(record)
    if wrong:
        raise store.BadRecord(f"{path}: {wrong}; move the file away and its block is measured again.")
