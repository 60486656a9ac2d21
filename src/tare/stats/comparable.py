"""Whether two runs differ only in what is being measured.

Environments differ in two ways. What follows from a declared option or from an engine's default (`tare.stats.traits`)
is part of what is compared: it is told, and the estimate is made. What nobody declared, such as another build of the
framework or fewer CPUs, makes the two incomparable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tare.records.schema import Record
from tare.stats.pairs import Pair
from tare.stats.traits import NAMES, OPTIONS, STEADY, declared, traits_apart

YES = "yes"
DIFFERS = "differs: "
NOT_COMPARABLE = "not comparable: "
SEPARATOR = "; "
MOST_DIFFERENCES = 3
# Of long values that begin alike so many characters are shown before they part.
_BEFORE = 8
_TOTALS = ("resource memory_total_bytes", "host memory_bytes")
_TOTAL_TOLERANCE = 0.01


def is_comparable(text: str) -> bool:
    """Whether a value of the column `comparable` lets an estimate be made."""
    return text == YES or text.startswith(DIFFERS)


def differing_traits(text: str) -> list[str]:
    """What a value of the column `comparable` says that differs by nature or declaration, the names alone, in order."""
    if not text.startswith(DIFFERS):
        return []
    phrases = text.removeprefix(DIFFERS).split(SEPARATOR)
    return [name for name in NAMES if any(phrase.startswith(f"{name} ") for phrase in phrases)]


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, keys joined by dots."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


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


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _apart(values: Sequence[Any]) -> list[str]:
    """Values in few words each; where long ones begin alike, from shortly before they part."""
    texts = ["none" if value is None else " ".join(str(value).split()) for value in values]
    found = []
    for text in texts:
        alike = [_alike(text, other) for other in texts if other != text and _short(other) == _short(text)]
        common = max(0, min(alike, default=0) - _BEFORE)
        found.append(_short(f"…{text[common:]}" if common else text))
    return found


def _alike(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginnings."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _same(key: str, one: Any, other: Any) -> bool:
    """Whether two values are the same; the kernel's total of memory moves a little with each start and ballooning."""
    if key in _TOTALS and isinstance(one, int) and isinstance(other, int):
        return math.isclose(one, other, rel_tol=_TOTAL_TOLERANCE)
    return bool(one == other)


def _named(names: Sequence[str], most: int = 2) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def other_libraries(one: Record, other: Record) -> list[str]:
    """Loaded libraries that are other builds in two runs, or loaded in one only, by name."""
    names = sorted(one.libraries.keys() | other.libraries.keys())
    return [name for name in names if one.libraries.get(name) != other.libraries.get(name)]


def differences(pair: Pair) -> list[str]:
    """What differs between the two runs and should not, a phrase each; empty where they can be compared."""
    baseline, platform = _common(pair.baseline), _common(pair.platform)
    allowed = {f"resource {name}" for name in declared(pair.baseline) | declared(pair.platform)}
    names = (pair.baseline.environment, pair.platform.environment)
    found = []
    for key in [*baseline, *(key for key in platform if key not in baseline)]:
        if key in allowed or _same(key, baseline.get(key), platform.get(key)):
            continue
        ours, theirs = _apart([baseline.get(key), platform.get(key)])
        found.append(f"{key} is {ours} in {names[0]} and {theirs} in {names[1]}")
    libraries = other_libraries(pair.baseline, pair.platform)
    if libraries:
        found.append(f"libraries of {names[0]} and {names[1]} are not the same: {_named(libraries)}")
    return found


def _kept(run: Record) -> dict[str, Any]:
    """What has to stay the same from block to block, by a readable name; only what the record tells."""
    engine = {f"engine {key}": run.platform.get(key) for key in ("version", "runtime", "storage_driver")}
    steady = {trait.name: trait.value(run) for trait in STEADY}
    return {
        **{f"software {key}": value for key, value in flat(run.software).items()},
        **{f"resource {key}": value for key, value in flat(run.resources).items()},
        **{f"host {key}": value for key, value in flat(run.host).items()},
        **{key: value for key, value in (engine | steady).items() if value is not None},
    }


def changes(runs: Sequence[Record]) -> list[str]:
    """What changed from block to block in the runs of one environment, a phrase each.

    An estimate over blocks of different software or machines would be one of nothing in particular. What an older
    record does not tell is no change.
    """
    seen: dict[str, list[Any]] = {}
    for run in runs:
        for key, value in _kept(run).items():
            kinds = seen.setdefault(key, [])
            if not any(_same(key, value, kind) for kind in kinds):
                kinds.append(value)
    found = [
        f"{key} changed between blocks of {runs[0].environment}: {', '.join(_apart(kinds[:MOST_DIFFERENCES]))}"
        for key, kinds in seen.items()
        if len(kinds) > 1
    ]
    told = [run for run in runs if run.libraries]
    libraries = sorted({name for run in told[1:] for name in other_libraries(told[0], run)})
    if libraries:
        found.append(f"libraries changed between blocks of {runs[0].environment}: {_named(libraries)}")
    return found


def comparable(pairs: Iterable[Pair]) -> str:
    """`yes`, `differs: ` and what differs by nature or declaration, or `not comparable: ` and what else differs.

    Of the latter the first few are named; of the former all, in a fixed order.
    """
    pairs = list(pairs)
    found = list(dict.fromkeys(text for pair in pairs for text in differences(pair)))
    found += changes([pair.baseline for pair in pairs]) + changes([pair.platform for pair in pairs])
    if found:
        more = f"{SEPARATOR}and {len(found) - MOST_DIFFERENCES} more" if len(found) > MOST_DIFFERENCES else ""
        return f"{NOT_COMPARABLE}{SEPARATOR.join(found[:MOST_DIFFERENCES])}{more}"
    apart = {text for pair in pairs for text in traits_apart(pair.baseline, pair.platform)}
    order = sorted(
        apart, key=lambda text: (next(i for i, n in enumerate(NAMES) if text.startswith(f"{n} ")), text)
    )
    return f"{DIFFERS}{SEPARATOR.join(order)}" if order else YES
