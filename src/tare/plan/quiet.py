"""The quiet settings: what makes two processes of the same program more nearly equally fast, each a switch of its own.

They are the same in every environment, and recorded. docs/measurement.md says what each of them was found to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field, model_validator

from tare.plan.base import Model
from tare.plan.errors import shown

# The values of the axis `settings`, the default first. `default` is the frameworks' own: the papers' protocol.
QUIET, DEFAULT = "quiet", "default"
SETTINGS = (QUIET, DEFAULT)
Settings = Literal["quiet", "default"]


@dataclass(frozen=True)
class Switch:
    """One quiet setting.

    Attributes:
        means: what it does, for the configuration's page.
        short: the same in a few words, for reports.
        variables: environment variables of the worker.
        only: the frameworks that it does anything for; empty for all.
        off: the frameworks for which it is off unless a study names it.
    """

    means: str
    short: str
    variables: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    off: tuple[str, ...] = ()

    def on(self, framework: str, asked: bool | None) -> bool:
        """Whether it is in force; `asked` is what the study says, None where it says nothing."""
        if self.only and framework not in self.only:
            return False
        return framework not in self.off if asked is None else asked


SWITCHES: Mapping[str, Switch] = {
    "huge_pages": Switch(
        "memory of malloc in huge pages (glibc)",
        "huge pages",
        {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    ),
    "one_heap": Switch(
        "malloc keeps its heap in one piece and never gives memory back (glibc)",
        "heap in one piece",
        {
            "MALLOC_ARENA_MAX": "1",
            "MALLOC_TOP_PAD_": str(512 << 20),
            "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
            "MALLOC_MMAP_MAX_": "0",
        },
    ),
    # Never for another framework: OpenMP binds the thread that loads it to one CPU, so a framework with threads of its
    # own (TensorFlow, once scikit-learn's OpenMP is loaded beside it) is left with that one CPU.
    "bind_threads": Switch(
        "each thread of OpenMP stays on a CPU of its own",
        "threads bound to CPUs",
        {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"},
        only=("torch",),
    ),
    # threads of a waiting worker must not spin into the next worker's turn
    "short_spin": Switch(
        "threads of OpenMP that wait for work soon stop spinning",
        "short spinning",
        {"GOMP_SPINCOUNT": "20000"},
        only=("torch",),
    ),
    "gc_off": Switch(
        "Python's garbage collector is frozen and off after warm-up", "garbage collector off after warm-up"
    ),
}


class Quiet(Model):
    """Which quiet settings are on in the cells of `settings: quiet`; None is what was found good for a framework."""

    huge_pages: bool | None = Field(
        default=None, description="Memory of malloc in huge pages (glibc). Left out: on."
    )
    one_heap: bool | None = Field(
        default=None,
        description="malloc keeps its heap in one piece and never gives memory back (glibc). Left out: on.",
    )
    bind_threads: bool | None = Field(
        default=None,
        description="Each OpenMP thread stays on a CPU of its own. torch only; left out: on.",
    )
    short_spin: bool | None = Field(
        default=None,
        description="OpenMP threads that wait for work soon stop spinning. torch only; left out: on.",
    )
    gc_off: bool | None = Field(
        default=None,
        description="Python's garbage collector is frozen and off after warm-up. Left out: on.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_a_word(cls, value: Any) -> Any:
        if value is True or value == "on":
            return {}
        if value is False or value == "off":
            return dict.fromkeys(cls.model_fields, False)
        if not isinstance(value, dict | cls):
            raise ValueError(f"must be on, off, or switches such as `huge_pages: false`, not {shown(value)}")
        return value

    @property
    def asked(self) -> dict[str, bool | None]:
        """Switch -> what the study says of it."""
        return dict(self)

    @property
    def off(self) -> bool:
        """Whether every switch is off."""
        return not any(value is not False for value in self.asked.values())


def in_force(settings: str, framework: str, asked: Mapping[str, bool | None]) -> list[str]:
    """The names of the switches that are on, in alphabetical order.

    Args:
        settings: the cell's, `quiet` or `default`.
        framework: the cell's.
        asked: switch -> what the study says; None, or left out, where it says nothing.
    """
    if settings == DEFAULT:
        return []
    return sorted(name for name, switch in SWITCHES.items() if switch.on(framework, asked.get(name)))


def variables(switches: list[str]) -> dict[str, str]:
    """The environment variables that these switches set."""
    return {name: value for switch in switches for name, value in SWITCHES[switch].variables.items()}
