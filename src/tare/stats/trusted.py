"""Whether a record agrees with itself, so that a number can rest on it.

A record says some things twice: what was asked of its run and the hash of that, the label and what the run was asked
to be, the evidence and the verdict on it. A file that was edited, or damaged in a way that leaves it readable, mostly
changes one of the two. This finds it; it does not find a forger, who changes both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tare.measure.attest import attested
from tare.plan.specification import digest
from tare.records.schema import Record
from tare.stats.traits import LIMITS, OPTIONS, TRAITS

# What reading evidence of another shape than the worker's comes to.
_MISSHAPEN = (KeyError, TypeError, ValueError, AttributeError, IndexError)


def fault(record: Record) -> str:
    """In what a record contradicts itself, as `key: what is wrong`; empty where it does not.

    Args:
        record: valid by its schema, whatever became of its run.
    """
    return next(_faults(record), "")


def _faults(record: Record) -> Iterator[str]:
    if digest(record.spec) != record.spec_hash:
        yield f"spec: is not the text behind the hash {record.spec_hash}"
    yield from _labels(record)
    yield from _place(record)
    if record.status == "ok":
        yield from _rounds(record)
        yield from _attestation(record)
    yield from _traits(record)


def _labels(record: Record) -> Iterator[str]:
    """What the record says of its run beside what was asked of it; older specifications do not tell all of it."""
    asked = record.spec
    told = record.cell.model_dump()
    pairs: list[tuple[str, Any, Any]] = [
        *((f"cell.{key}", told.get(key), value) for key, value in _part(asked, "cell").items()),
        ("engine", record.engine, _part(asked, OPTIONS).get("engine", record.engine)),
        ("seed", record.seed, asked.get("seed", record.seed)),
        ("threads", record.threads, asked.get("threads", record.threads)),
    ]
    if not record.schedule_reason:
        pairs.append(("schedule", record.schedule, asked.get("schedule", record.schedule)))
    for key, own, wanted in pairs:
        if own != wanted:
            yield f"{key}: is {own!r}, but {wanted!r} was asked for"


def _part(asked: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = asked.get(key)
    return found if isinstance(found, Mapping) else {}


def _place(record: Record) -> Iterator[str]:
    """The place in the block."""
    if len(set(record.block)) != len(record.block):
        yield "block: names an environment twice"
    if record.environment not in record.block:
        yield f"block: does not name {record.environment}"
    elif record.slot >= len(record.block) or record.block[record.slot] != record.environment:
        yield f"slot: {record.slot} is not that of {record.environment} in the block"


def _rounds(record: Record) -> Iterator[str]:
    """Each round once, in their order: a round counted twice, or left out, would be compared with others' wrongly."""
    if [turn.round for turn in record.turns] != list(range(len(record.turns))):
        yield f"turns: their rounds are not 0 to {len(record.turns) - 1}, each once and in this order"


def _attestation(record: Record) -> Iterator[str]:
    """The verdict on where the run was, made anew from the evidence."""
    if not record.attested:
        yield "attested: is empty, so that nothing says where the run was"
        return
    if record.attested != record.engine:
        yield f"attested: the run labelled {record.engine!r} was found to be in {record.attested!r}"
    outside = record.evidence.get("controller")
    try:
        found = attested(record.evidence, outside if isinstance(outside, dict) else {})
    except _MISSHAPEN:
        found = "nothing that can be told"
    if found != record.attested:
        yield f"evidence: shows {found}, not {record.attested}"


def _traits(record: Record) -> Iterator[str]:
    """What environments are told apart by must be there in the form that it is compared in."""
    for trait in (*TRAITS, *LIMITS.values()):
        try:
            value = trait.value(record)
            if value is not None:
                trait.text(value)
        except _MISSHAPEN:
            yield f"evidence: what it says of {trait.name} can't be read"
