"""The contract that every platform keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from tare.platforms.lines import Lines

# The variable (and, with the prefix dropped, the label) by which anything that Tare started can be found again.
RUN_VARIABLE = "TARE_RUN"
LABEL = "tare.run"
# A probe that takes longer than this counts as "does not answer": the plan must not hang on a dead daemon.
PROBE_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Availability:
    """Whether an environment can be used here; if not, the reason and the remedy, a sentence each."""

    usable: bool
    reason: str = ""
    remedy: str = ""
    version: str = ""


@dataclass(frozen=True)
class Launch:
    """One worker to start.

    Attributes:
        token: unique name of the run, `<campaign>-<random>`; the campaign part is the same for all runs under one host
            lock, so that leftovers of a killed campaign can be told from the runs of somebody else.
        program: the worker's argument vector inside the environment.
        variables: the whole set of environment variables of the worker.
        run_dir: the run's own folder, writable, its HOME and TMPDIR and working directory.
        read_only: host paths that the worker needs, seen at the same paths inside.
        log: file that takes whatever worker and engine print.
    """

    token: str
    program: tuple[str, ...]
    variables: dict[str, str]
    run_dir: Path
    read_only: tuple[Path, ...]
    log: Path

    def check_paths(self, engine: str, unwritable: str) -> None:
        """Refuse paths that can't be named on an engine's command line.

        Args:
            unwritable: the characters that mean something else there.

        Raises:
            EngineError: a path holds one of them.
        """
        for path in (*self.read_only, self.run_dir):
            for character in unwritable:
                if character in str(path):
                    raise EngineError(
                        f"{engine} can't mount {str(path)!r}, since {character!r} in a path means something else to it;"
                        " move the project, the virtual environment or TMPDIR to a path without it"
                    )

    def open_log(self) -> BinaryIO:
        """The log, opened for adding to its end, unbuffered.

        Raises:
            EngineError: it can't be written.
        """
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            return self.log.open("ab", buffering=0)
        except OSError as error:
            raise EngineError(f"the log {self.log} can't be written: {error.strerror}") from error


class EngineError(RuntimeError):
    """The engine refused or failed; the message is one sentence with the engine's own words."""


class WorkerHandle(Protocol):
    """A started worker."""

    lines: Lines
    arguments: list[str]

    def kill(self) -> None:
        """End the worker and all its children now; no error when it is gone already."""

    def wait(self, timeout_s: float) -> int | None:
        """The exit status (137 = killed), or None when it has not ended within the time."""

    def close(self) -> None:
        """Kill what still runs and remove what the engine keeps of the run (container, pipes); may be called twice."""


class Platform(Protocol):
    """An engine that can run workers."""

    engine: str

    def probe(self) -> Availability:
        """Whether it is usable here; bounded by PROBE_TIMEOUT_S, starts nothing that stays."""

    def prepare(self) -> None:
        """Pull or build what a start needs; never inside a timed part.

        Raises:
            EngineError: it could not be made ready.
        """

    def start(self, launch: Launch) -> WorkerHandle:
        """Start one worker.

        Raises:
            EngineError: the engine refused.
        """

    def describe(self) -> dict[str, Any]:
        """Versions and settings of the engine that bear on speed."""

    def sweep(self, campaign: str) -> list[str]:
        """Remove whatever an earlier, killed campaign left; returns what was removed, in words."""


@dataclass(frozen=True)
class HostSoftware:
    """The host's userland and Python environment, to be mounted read-only at the same paths (`software: host`)."""

    system: tuple[Path, ...] = ()
    python: tuple[Path, ...] = field(default=())

    @property
    def paths(self) -> tuple[Path, ...]:
        """All paths, outermost first, none inside another."""
        kept: list[Path] = []
        for path in sorted({*self.system, *self.python}):
            if not any(path.is_relative_to(other) for other in kept):
                kept.append(path)
        return tuple(kept)
