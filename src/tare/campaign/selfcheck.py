"""The last self-check of this machine, for the reports of other studies. Read if it is there, never needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tare.campaign import freeze, precision
from tare.campaign.state import all_records
from tare.plan.errors import StudyError
from tare.records import store
from tare.records.schema import Record
from tare.stats import known

NAME = "self-check"
# What makes a machine another one; a kernel that was updated is the same machine, but was not checked.
_MACHINE = ("cpu", "logical_cpus", "memory_bytes", "architecture", "kernel")


def read(study_dir: Path) -> tuple[known.SelfCheck, list[Record]]:
    """The known answers of a study, and its records.

    Raises:
        StudyError: the study was never begun, or a file is damaged.
        BadRecord: a record is damaged, or lies at another's place.
    """
    study, plan = freeze.read(study_dir)
    records, looked_at = all_records(study_dir), precision.looked_at(study_dir)
    day = max((record.started_at[:10] for record in records), default="")
    return known.SelfCheck(known.answers(records, plan, study, looked_at=looked_at), day), records


def last(results: Path, machine: Mapping[str, Any]) -> known.SelfCheck | None:
    """The last self-check on this machine; None where there is none that can be read.

    Args:
        results: folder of all results.
        machine: what the records say of the host.
    """
    try:
        check, records = read(results / NAME)
    except (StudyError, store.BadRecord, ValueError, OSError):
        return None
    here = all(record.host.get(key) == machine.get(key) for record in records for key in _MACHINE)
    return check if check.answers and records and here else None
