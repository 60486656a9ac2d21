"""Apptainer (or Singularity): an empty sandbox folder with the host's userland bound read-only."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from tare.platforms import hostsoftware
from tare.platforms.base import Availability, EngineError, Launch
from tare.platforms.process import ProcessHandle, ask, sweep_processes


def arguments(program: str, sandbox: Path, launch: Launch) -> list[str]:
    """The argument vector of `apptainer exec`. Everything that is not named is apptainer's default."""
    binds = [f"{path}:{path}:ro" for path in launch.read_only]
    return [
        program,
        "--silent",
        "exec",
        "--no-mount",
        "tmp,home,cwd,hostfs",
        "--bind",
        ",".join([*binds, f"{launch.run_dir}:{launch.run_dir}"]),
        "--pwd",
        str(launch.run_dir),
        str(sandbox),
        *launch.program,
    ]


def cache_dir() -> Path:
    """Where Tare keeps what it can make again: TARE_CACHE, or `tare` in the user's cache folder."""
    own = os.environ.get("TARE_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(own) if own else Path(base) / "tare"


class Apptainer:
    """Apptainer of the calling user."""

    engine = "apptainer"

    def __init__(self) -> None:
        self._program = shutil.which("apptainer") or shutil.which("singularity")
        self._sandbox = cache_dir() / "sandboxes" / f"host-{hostsoftware.image_tag()}"

    def probe(self) -> Availability:
        """Ask the program for its version."""
        if self._program is None:
            return Availability(
                False,
                "apptainer is not installed",
                "Install Apptainer from its project's packages, or ask whoever runs this machine.",
            )
        try:
            return Availability(usable=True, version=ask([self._program, "--version"]).split()[-1])
        except EngineError as error:
            return Availability(False, str(error), "Install Apptainer anew from its project's packages.")

    def prepare(self) -> None:
        """Make the empty sandbox folder."""
        try:
            for name in hostsoftware.EMPTY_FOLDERS:
                (self._sandbox / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EngineError(
                f"the sandbox folder {self._sandbox} can't be made: {error.strerror}; set TARE_CACHE to another folder"
            ) from error

    def start(self, launch: Launch) -> ProcessHandle:
        """Start the worker in the sandbox."""
        if self._program is None:
            raise EngineError("apptainer is not installed")
        # The token is in apptainer's own variables too, so that a sweep finds its helper processes.
        variables = {**os.environ, **launch.variables, "PATH": os.environ.get("PATH", os.defpath)}
        return ProcessHandle(arguments(self._program, self._sandbox, launch), launch, variables)

    def describe(self) -> dict[str, Any]:
        """The program's version and how the container is made."""
        return {
            "engine": "apptainer",
            "version": self.probe().version,
            "program": self._program,
            "network": "host",
            "image": "empty sandbox folder",
        }

    def sweep(self, campaign: str) -> list[str]:
        """Leftover workers are processes of this host."""
        return sweep_processes(campaign)
