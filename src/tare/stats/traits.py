"""What environments differ in by their nature: by an option that was declared, or by an engine's own default.

Such a difference is part of what is being measured. It is told (`differs: ...`), and the estimate is made all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tare.records.schema import Record

_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_SECCOMP = {"0": "off", "1": "strict", "2": "filter"}
_WHOLE_UID_MAP = ["0", "0", str(2**32 - 1)]
# What the part of the specification is called that says how an environment is made: its declared options.
OPTIONS = "environment"
# Resources that an option limits on purpose.
LIMITED_BY_OPTION = {"cpus": ("cpus", "cpus_after_import", "cpu_quota"), "memory": ("memory_limit_bytes",)}


def size(value: float) -> str:
    """Bytes in the largest unit that leaves a number above 1."""
    number, unit = float(value), 0
    while abs(number) >= 1024 and unit < len(_BINARY_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.4g} {_BINARY_UNITS[unit]}"


@dataclass(frozen=True)
class Trait:
    """One way in which environments differ.

    Attributes:
        name: as tables and figures name it.
        value: of a record; None where it is not known, as in older records.
        text: the value in few words, with its unit.
    """

    name: str
    value: Callable[[Record], Any]
    text: Callable[[Any], str] = str


def _evidence(*keys: str) -> Callable[[Record], Any]:
    def value(record: Record) -> Any:
        found: Any = record.evidence
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    return value


def _capabilities(record: Record) -> tuple[str, str] | None:
    """In effect, and those that the process could ever have."""
    status = record.evidence.get("status") or {}
    return (status["CapEff"], status["CapBnd"]) if {"CapEff", "CapBnd"} <= status.keys() else None


def _capabilities_text(value: tuple[str, str]) -> str:
    effective, possible = (int(part, 16).bit_count() for part in value)
    return f"{effective} of {possible} possible"


def _network(record: Record) -> str | None:
    own, hosts = _evidence("namespaces", "net")(record), _evidence("controller", "namespaces", "net")(record)
    return None if own is None or hosts is None else "the host's" if own == hosts else "of its own"


def _root_type(record: Record) -> str | None:
    """Of the root's file system; older records have it as the second word of `root_mount`."""
    found = _evidence("mounts", "/", "type")(record)
    words = str(record.evidence.get("root_mount") or "").split()
    return found or (words[1] if len(words) > 1 else None)


def _speculation(record: Record) -> tuple[str, str] | None:
    status = record.evidence.get("status") or {}
    keys = ("Speculation_Store_Bypass", "SpeculationIndirectBranch")
    return (status[keys[0]], status[keys[1]]) if set(keys) <= status.keys() else None


def _security_profile(record: Record) -> str | None:
    """Of SELinux's labels (user:role:type:level) without the categories, which are drawn anew for each container."""
    profile = record.evidence.get("security_profile")
    if not isinstance(profile, str):
        return None
    fields = profile.split(":")
    return ":".join(fields[:4]) if len(fields) > 4 else profile


def _open_files_text(value: int) -> str:
    return "unlimited" if value < 0 else f"{value:,}"


def _limited(key: str) -> Callable[[Record], Any]:
    """A limit, `none` where there is none; None where the record does not tell."""

    def value(record: Record) -> Any:
        if key not in record.resources:
            return None
        return "none" if record.resources[key] is None else record.resources[key]

    return value


def _limit_text(text: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: value if isinstance(value, str) else text(value)


def _mitigations(record: Record) -> tuple[tuple[str, str], ...] | None:
    """What the kernel does against faults of the processor, those that there are.

    Without what it does for guests (`KVM: ...`), which changes when one is started.
    """
    found = record.evidence.get("mitigations")
    if not isinstance(found, Mapping) or not found:
        return None
    return tuple(sorted((name, text) for name, text in found.items() if not str(text).startswith("KVM")))


def _injected(record: Record) -> Any:
    """Percent by which each step is lengthened on purpose; `none` where nothing is, as in all that name no option."""
    options = record.spec.get(OPTIONS)
    return options.get("injected") or "none" if isinstance(options, Mapping) else None


TRAITS = (
    Trait(
        "injected waiting",
        _injected,
        lambda value: value if isinstance(value, str) else f"{value:g} %",
    ),
    Trait("/dev/shm", _evidence("shm_bytes"), size),
    Trait("seccomp", _evidence("status", "Seccomp"), lambda value: _SECCOMP.get(value, str(value))),
    Trait("speculation", _speculation, lambda value: f"{value[0]} (stores), {value[1]} (branches)"),
    Trait("capabilities", _capabilities, _capabilities_text),
    Trait(
        "no-new-privileges",
        _evidence("status", "NoNewPrivs"),
        lambda value: "off" if value == "0" else "on",
    ),
    Trait("security profile", _security_profile),
    Trait("network", _network),
    Trait(
        "user ids", _evidence("uid_map"), lambda value: "the host's" if value == _WHOLE_UID_MAP else "mapped"
    ),
    Trait("root file system", _root_type),
    Trait("open files", _evidence("open_files_limit"), _open_files_text),
)
# Limits that an option of the environment declares, by the resource that it limits.
LIMITS = {
    "cpus": Trait("CPUs", _limited("cpus"), _limit_text(lambda value: str(len(value)))),
    "cpu_quota": Trait("CPU quota", _limited("cpu_quota"), _limit_text(lambda value: f"{value:g} CPUs")),
    "memory_limit_bytes": Trait("memory limit", _limited("memory_limit_bytes"), _limit_text(size)),
}
NAMES = tuple(trait.name for trait in (*TRAITS, *LIMITS.values()))
# Those that bear on the speed of a run by themselves: an environment in which they change is not one environment.
STEADY = (
    *(trait for trait in TRAITS if trait.name in ("seccomp", "speculation")),
    Trait("mitigations", _mitigations, lambda value: "; ".join(f"{name}: {text}" for name, text in value)),
)


def declared(record: Record) -> set[str]:
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


def traits_apart(baseline: Record, platform: Record) -> list[str]:
    """What the two differ in by nature or declaration, a phrase each: `/dev/shm 64 MiB in docker and 24 GiB in bare`.

    A value that either record does not tell makes no difference.
    """
    limited = declared(baseline) | declared(platform)
    found = []
    for trait in (*TRAITS, *(trait for resource, trait in LIMITS.items() if resource in limited)):
        ours, theirs = trait.value(baseline), trait.value(platform)
        if ours is None or theirs is None or ours == theirs:
            continue
        texts = [trait.text(theirs), trait.text(ours)]
        if texts[0] == texts[1]:  # as many capabilities, but others
            texts = [" ".join(map(str, v)) if isinstance(v, list | tuple) else str(v) for v in (theirs, ours)]
        found.append(
            f"{trait.name} {texts[0]} in {platform.environment} and {texts[1]} in {baseline.environment}"
        )
    return found
