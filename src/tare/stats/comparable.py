"""Whether two runs differ only in what is being measured.

An environment may differ from its baseline by its nature and by the options that were declared for it: that
is what is compared (`Record.evidence`, `Record.platform`, variables, arguments). What nobody declared, such
as another build of the framework or fewer CPUs, makes the two incomparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tare.records.schema import Record
from tare.stats.pairs import Pair

# The part of the specification that says how the environment is made: its declared options.
OPTIONS = "environment"
# Resources that an option limits on purpose: then the limit is what is being measured.
LIMITED_BY_OPTION = {"cpus": ("cpus", "cpu_quota"), "memory": ("memory_limit_bytes",)}
MOST_DIFFERENCES = 3


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, keys joined by dots."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _declared(record: Record) -> set[str]:
    """Resources that a declared option of the record's environment limits."""
    options = record.spec.get(OPTIONS)
    if not isinstance(options, Mapping):
        return set()
    return {
        resource
        for option, resources in LIMITED_BY_OPTION.items()
        if options.get(option) is not None
        for resource in resources
    }


def _common(record: Record) -> dict[str, Any]:
    """What has to be the same in both runs, by a readable name."""
    spec = {key: value for key, value in record.spec.items() if key != OPTIONS}
    return {
        **{f"spec {key}": value for key, value in flat(spec).items()},
        **{f"software {key}": value for key, value in flat(record.software).items()},
        **{f"resource {key}": value for key, value in flat(record.resources).items()},
        "threads": record.threads,
        "items per step": record.items_per_step,
    }


def _short(value: Any, most: int = 40) -> str:
    text = "none" if value is None else " ".join(str(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def differences(pair: Pair) -> list[str]:
    """What differs between the two runs and should not, a phrase each; empty where they can be compared."""
    baseline, platform = _common(pair.baseline), _common(pair.platform)
    allowed = {f"resource {name}" for name in _declared(pair.baseline) | _declared(pair.platform)}
    names = (pair.baseline.environment, pair.platform.environment)
    found = []
    for key in [*baseline, *(key for key in platform if key not in baseline)]:
        if key in allowed or baseline.get(key) == platform.get(key):
            continue
        ours, theirs = (_short(values.get(key)) for values in (baseline, platform))
        found.append(f"{key} is {ours} in {names[0]} and {theirs} in {names[1]}")
    return found


def changes(runs: Sequence[Record]) -> list[str]:
    """What changed from block to block in the runs of one environment, a phrase each.

    An estimate over blocks of different software or machines would be one of nothing in particular.
    """
    seen: dict[str, list[str]] = {}
    for run in runs:
        values = {
            **{f"software {key}": value for key, value in flat(run.software).items()},
            **{f"resource {key}": value for key, value in flat(run.resources).items()},
            **{f"host {key}": value for key, value in flat(run.host).items()},
            **{f"engine {key}": run.platform.get(key) for key in ("version", "runtime", "storage_driver")},
        }
        for key, value in values.items():
            kinds = seen.setdefault(key, [])
            if _short(value) not in kinds:
                kinds.append(_short(value))
    return [
        f"{key} changed between blocks of {runs[0].environment}: {', '.join(kinds[:MOST_DIFFERENCES])}"
        for key, kinds in seen.items()
        if len(kinds) > 1
    ]


def comparable(pairs: Iterable[Pair]) -> str:
    """`yes`, or `not comparable: ` and what differs within or between the blocks, the first few of it."""
    pairs = list(pairs)
    found = list(dict.fromkeys(text for pair in pairs for text in differences(pair)))
    found += changes([pair.baseline for pair in pairs]) + changes([pair.platform for pair in pairs])
    if not found:
        return "yes"
    more = f"; and {len(found) - MOST_DIFFERENCES} more" if len(found) > MOST_DIFFERENCES else ""
    return f"not comparable: {'; '.join(found[:MOST_DIFFERENCES])}{more}"
