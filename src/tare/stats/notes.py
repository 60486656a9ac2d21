"""What has to be said about a row of overhead.csv: failed, missing and stale runs, none dropped silently."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from itertools import pairwise
from statistics import median

from tare.records.schema import Record
from tare.telemetry.noise_verdict import NOISY, SEPARATOR

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


def is_noisy(run: Record) -> bool:
    """Whether something disturbed the run while it was measured."""
    return run.noise_verdict.startswith(NOISY)


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def noise_reasons(runs: Collection[Record]) -> list[str]:
    """Why runs were noisy, most frequent first: `other processes used 31 to 38 % of the CPUs (2 times)`."""
    seen: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        if is_noisy(run):
            for reason in run.noise_verdict.removeprefix(NOISY).split(SEPARATOR):
                # a reason has one number; runs that differ in it alone have the same reason
                number = _NUMBER.search(reason)
                seen[_NUMBER.sub("#", reason, count=1)].append(number.group() if number else "")
    found = []
    for reason, numbers in sorted(seen.items(), key=lambda item: -len(item[1])):
        low, high = min(numbers, key=_value), max(numbers, key=_value)
        times = f" ({len(numbers)} times)" if len(numbers) > 1 else ""
        found.append(reason.replace("#", low if low == high else f"{low} to {high}", 1) + times)
    return found


def _value(number: str) -> float:
    return float(number or 0)


def noise(runs: Collection[Record], of: str = "") -> list[str]:
    """A phrase on the noisy ones among runs that ended well; they count all the same.

    Args:
        runs: the runs of one cell and environment.
        of: name of the environment, where the row belongs to another.
    """
    good = [run for run in runs if run.status == "ok"]
    noisy = [run for run in good if is_noisy(run)]
    if not noisy:
        return []
    reasons = noise_reasons(noisy)
    more = (
        f"; and {count(len(reasons) - MOST_REASONS, 'other reason')}" if len(reasons) > MOST_REASONS else ""
    )
    runs_of = count(len(good), "run") + (f" of {of}" if of else "")
    return [f"{len(noisy)} of {runs_of} noisy: {'; '.join(reasons[:MOST_REASONS])}{more}"]


# Less CPU time than this after a turn is what any framework's threads use to fall asleep: torch's, told not to spin for
# long, 2 ms.
_SPINNING_S = 4e-3


def _spun_s(run: Record) -> float:
    """CPU time that a run's threads used after a turn, each, the median over its waits."""
    waits = [
        (following.cpu_s[0] - one.cpu_s[1]) / max(run.threads - 1, 1)
        for one, following in pairwise(run.turns)
        if one.cpu_s is not None and following.cpu_s is not None
    ]
    return median(waits) if waits else 0.0


def spinning(runs: Collection[Record]) -> list[str]:
    """A phrase where threads of lockstep runs spun while they waited, even if only into the next run's settling step.

    Args:
        runs: the runs of one cell in an environment and its baseline.
    """
    good = [run for run in runs if run.status == "ok" and run.schedule == "lockstep" and len(run.block) > 1]
    spun_s = [spun for run in good if (spun := _spun_s(run)) >= _SPINNING_S]
    if not spun_s:
        return []
    return [
        f"threads of {len(spun_s)} of {count(len(good), 'run')} went on spinning for {1e3 * median(spun_s):.0f} ms "
        "after each of their turns, into the next run's"
    ]


def unusable(reason: str, remedy: str) -> str:
    """Reason and remedy as one text."""
    return ". ".join(part.strip().rstrip(".") for part in (reason, remedy) if part.strip())


def absent(planned: Collection[int], *runs: Mapping[int, Record]) -> int:
    """How many planned repetitions lack a record in any of the environments given."""
    return sum(any(repetition not in records for records in runs) for repetition in planned)
