"""What records say of machine, software and engines, as names and values for people."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tare.records.schema import Record
from tare.report import wording
from tare.stats.comparable import flat

# A fact that takes more values than this is told by its range.
_MOST_VALUES = 4


@dataclass(frozen=True)
class Fact:
    """A name and its value; where it isn't the same everywhere, all values with where they were seen."""

    name: str
    value: str


@dataclass(frozen=True)
class Start:
    """How the runs of one environment were started, told by the first; others differ in names of folders.

    Attributes:
        where: framework and settings, where runs of the environment differ in them and so in variables.
    """

    environment: str
    where: str
    engine: str
    arguments: str
    variables: str


def facts(seen: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Fact]:
    """Facts from (where, values) pairs, in the order in which they are met."""
    values: dict[str, dict[str, list[str]]] = {}
    for where, mapping in seen:
        for key, value in flat(mapping).items():
            places = values.setdefault(key, {}).setdefault(value_text(key, value), [])
            if where not in places:
                places.append(where)
    return [Fact(name_text(key), _joined(by_value)) for key, by_value in values.items()]


def _joined(by_value: Mapping[str, Sequence[str]]) -> str:
    if len(by_value) == 1:
        return next(iter(by_value))
    said = [
        f"{value} ({wording.listed(places)})" if any(places) else value for value, places in by_value.items()
    ]
    if len(said) <= _MOST_VALUES:
        return "; ".join(said)
    try:
        ordered = sorted(by_value, key=float)
    except ValueError:
        return f"{'; '.join(said[:_MOST_VALUES])}; and {len(said) - _MOST_VALUES} more"
    return f"{ordered[0]} to {ordered[-1]}"


def name_text(key: str) -> str:
    """A key of a record as a name: `memory_total_bytes` is `memory total`, `prepare_s` is `prepare (s)`."""
    if key.endswith("_s"):
        key = f"{key.removesuffix('_s')} (s)"
    return key.removesuffix("_bytes").replace("_", " ").replace(".", ": ")


def value_text(key: str, value: Any) -> str:
    """A value of a record for people: sizes in binary units, runs of whole numbers as ranges."""
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and key.endswith("_bytes"):
        return wording.size(value)
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, int) and not isinstance(item, bool) for item in value):
            return _ranges(sorted(value))
        return ", ".join(str(item) for item in value) or "none"
    return str(value)


def _ranges(numbers: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def machine(records: Sequence[Record]) -> list[Fact]:
    """The host."""
    return facts(("", record.host) for record in records)


def given(records: Sequence[Record]) -> list[Fact]:
    """What the workers saw that they may use."""
    threads = [(record.environment, {"threads": record.threads} | record.resources) for record in records]
    return facts(threads)


def software(records: Sequence[Record]) -> dict[str, list[Fact]]:
    """Versions and builds, by framework."""
    names = sorted({record.cell.framework for record in records})
    return {
        name: facts((r.environment, r.software) for r in records if r.cell.framework == name and r.software)
        for name in names
    }


def engines(records: Sequence[Record]) -> dict[str, list[Fact]]:
    """Versions and settings of the engines, by environment."""
    names = list(dict.fromkeys(record.environment for record in records if record.platform))
    return {name: facts(("", r.platform) for r in records if r.environment == name) for name in names}


def starts(records: Sequence[Record]) -> list[Start]:
    """How each environment was started, once for each framework and each of the settings."""
    kinds = {(record.cell.framework, record.cell.settings) for record in records}
    first = {(r.environment, r.cell.framework, r.cell.settings): r for r in reversed(records)}
    order = list(dict.fromkeys(record.environment for record in records))
    return [
        Start(
            environment=name,
            where=f"{framework}, settings {settings}" if len(kinds) > 1 else "",
            engine=record.engine,
            arguments=shlex.join(record.arguments),
            variables=" ".join(
                f"{key}={shlex.quote(value)}" for key, value in sorted(record.variables.items())
            ),
        )
        for (name, framework, settings), record in sorted(
            first.items(), key=lambda e: (order.index(e[0][0]), e[0][1:])
        )
    ]
