"""What has to be said about a row of overhead.csv: failed, missing and stale runs, none dropped silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from tare.records.schema import Record

_ENDED = {"failed": "failed", "timeout": "timed out", "interrupted": "interrupted"}
MOST_REASONS = 3


def count(number: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def failures(runs: Collection[Record], planned: int, of: str = "") -> list[str]:
    """A phrase for each way in which runs ended badly, with their reasons.

    Args:
        runs: the runs of one cell and environment.
        planned: how many runs there are to be.
        of: name of the environment, where the row belongs to another.
    """
    phrases = []
    for status, word in _ENDED.items():
        reasons = Counter(
            run.failure.reason.rstrip(". ")
            for run in runs
            if run.status == status and run.failure is not None
        )
        if not reasons:
            continue
        listed = [
            f"{reason} ({n} times)" if n > 1 < len(reasons) else reason for reason, n in reasons.most_common()
        ]
        more = (
            f"; and {count(len(listed) - MOST_REASONS, 'other reason')}" if len(listed) > MOST_REASONS else ""
        )
        runs_of = count(planned, "run") + (f" of {of}" if of else "")
        phrases.append(f"{reasons.total()} of {runs_of} {word}: {'; '.join(listed[:MOST_REASONS])}{more}")
    return phrases


def unusable(reason: str, remedy: str) -> str:
    """Reason and remedy as one text."""
    return ". ".join(part.strip().rstrip(".") for part in (reason, remedy) if part.strip())


def absent(planned: Collection[int], *runs: Mapping[int, Record]) -> int:
    """How many planned repetitions lack a record in any of the environments given."""
    return sum(any(repetition not in records for records in runs) for repetition in planned)
