"""Which further blocks a study needs to be as precise as it wishes, by the records that there are."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tare.campaign.state import BlockState, final_records
from tare.plan.errors import StudyError
from tare.plan.study import Study
from tare.records.store import BadRecord, write_atomically

if TYPE_CHECKING:
    from tare.stats.precision import Reached

# (cell, repetition)
Key = tuple[str, int]


@dataclass(frozen=True)
class Look:
    """What was known of a study's precision at one moment.

    Attributes:
        reached: each comparison that can be made.
        further: the next block of every cell that is not precise enough, in the order of measuring.
    """

    reached: tuple[Reached, ...]
    further: tuple[Key, ...]


def file_of(study_dir: Path, blocks: int) -> Path:
    """Where the look is kept that rests on so many blocks."""
    return study_dir / "precision" / f"{blocks}.json"


def looked_at(study_dir: Path) -> bool:
    """Whether a study was ever measured until its intervals were narrow enough."""
    return any(study_dir.glob("precision/*.json"))


def judge(study: Study, study_dir: Path, plan: pd.DataFrame, states: Sequence[BlockState]) -> Look | None:
    """Look at what is measured; None where the study wishes no precision. Changes nothing.

    A look that was kept is taken where it rests on just these records: reading thousands of them takes seconds.

    Args:
        states: all blocks of the plan, those too that are measured only if needed.

    Raises:
        StudyError: a record is damaged, or lies at another's place.
    """
    if study.precision_pct is None:
        return None
    finished = [state for state in states if state.status.finished]
    reached = _kept(file_of(study_dir, len(finished)), fingerprint(study, finished))
    if reached is None:
        try:
            reached = _reached(study, study_dir, plan, finished, study.precision_pct)
        except BadRecord as error:
            raise StudyError(str(error)) from error
    return Look(reached, tuple(next_blocks(reached, states)))


def next_blocks(reached: Iterable[Reached], states: Sequence[BlockState]) -> list[Key]:
    """The next block of every comparison that is not precise enough, each block once, in the order of measuring.

    A comparison whose first blocks are not all measured yet asks for none, nor does one that has had all its blocks.
    """
    of_cell: dict[str, list[BlockState]] = defaultdict(list)
    for state in states:
        of_cell[state.block.cell].append(state)
    found: dict[Key, int] = {}
    for one in reached:
        if one.enough:
            continue
        pair = {one.environment, one.baseline}
        unfinished = [
            state.block
            for state in of_cell[one.cell]
            if pair <= {*state.block.environments} and not state.status.finished
        ]
        if unfinished and all(block.if_needed for block in unfinished):
            block = min(unfinished, key=lambda block: block.order)
            found[block.cell, block.repetition] = block.order
    return sorted(found, key=found.__getitem__)


def write(path: Path, look: Look, study: Study, states: Iterable[BlockState]) -> None:
    """Keep a look.

    Args:
        states: all blocks of the plan, as they were when it was made.
    """
    finished = [state for state in states if state.status.finished]
    content = {
        "wished_half_width_pct": study.precision_pct,
        "blocks": len(finished),
        "comparisons": [one.as_dict() for one in look.reached],
        "further": [{"cell": cell, "repetition": repetition} for cell, repetition in look.further],
        "fingerprint": fingerprint(study, finished),
    }
    write_atomically(path, json.dumps(content, indent=1) + "\n")


def further(path: Path) -> list[Key]:
    """The blocks that a look that was kept asks for.

    Raises:
        OSError, ValueError, KeyError: it can't be read.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    return [(str(block["cell"]), int(block["repetition"])) for block in content["further"]]


def fingerprint(study: Study, finished: Iterable[BlockState]) -> str:
    """Hash of all that a look rests on: the study, the records by their times, and the statistics themselves."""
    parts = [study.model_dump_json()]
    for state in finished:
        for path, spec_hash in zip(state.paths, state.block.spec_hashes, strict=True):
            seen = path.stat()
            block = f"{state.block.cell}/{state.block.repetition}/{path.stem}"
            parts.append(f"{block} {spec_hash} {seen.st_mtime_ns} {seen.st_size}")
    code = sorted(resources.files("tare.stats").iterdir(), key=lambda file: file.name)
    parts += [file.read_text(encoding="utf-8") for file in code if file.name.endswith(".py")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _kept(path: Path, found: str) -> tuple[Reached, ...] | None:
    # here, since it loads what studies that wish no precision do not need
    from tare.stats.precision import Reached

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["fingerprint"] != found:
            return None
        return tuple(Reached(**one) for one in content["comparisons"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # made anew from the records


def _reached(
    study: Study, study_dir: Path, plan: pd.DataFrame, finished: Sequence[BlockState], wished_pct: float
) -> tuple[Reached, ...]:
    from tare.stats.overhead import of_study
    from tare.stats.precision import reached

    records = list(final_records(study_dir, finished))
    return tuple(reached(of_study(study, records, plan), wished_pct))
