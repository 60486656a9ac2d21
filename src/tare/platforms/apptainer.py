"""Apptainer (or Singularity): an empty sandbox folder with the host's userland bound read-only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from tare.platforms import hostsoftware
from tare.platforms.base import Availability, EngineError, Launch
from tare.platforms.process import ProcessHandle, ask, sweep_processes

# Where Apptainer keeps its own files: no part of how a container is run.
_KEPT_OPTIONS = ("_CACHEDIR", "_TMPDIR", "_CONFIGDIR")


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


def variables(caller: Mapping[str, str], launch: Launch) -> dict[str, str]:
    """The variables of the program itself (the worker's own are set by `launch.py`).

    Options that the caller has set as variables, such as APPTAINER_BIND, are left out: they would change what is
    measured without anybody having declared it.
    """
    kept = {
        name: value
        for name, value in caller.items()
        if not name.startswith(("APPTAINER", "SINGULARITY")) or name.endswith(_KEPT_OPTIONS)
    }
    # The token is in apptainer's own variables too, so that a sweep finds its helper processes.
    return {**kept, **launch.variables, "PATH": caller.get("PATH", os.defpath)}


def cache_dir() -> Path:
    """Where Tare keeps what it can make again: TARE_CACHE, or `tare` in the user's cache folder.

    Raises:
        EngineError: the user has no home folder.
    """
    own = os.environ.get("TARE_CACHE")
    if own:
        return Path(own).absolute()
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "tare"
    except RuntimeError as error:
        raise EngineError(
            "there is no home folder to keep the sandbox folder in; set TARE_CACHE to a folder"
        ) from error


class Apptainer:
    """Apptainer of the calling user."""

    engine = "apptainer"

    def __init__(self) -> None:
        self._program = shutil.which("apptainer") or shutil.which("singularity")

    @cached_property
    def _sandbox(self) -> Path:
        return cache_dir() / "sandboxes" / f"host-{hostsoftware.image_tag()}"

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
        launch.check_paths("apptainer", ':,"\\\n')
        argv = arguments(self._program, self._sandbox, launch)
        return ProcessHandle(argv, launch, variables(os.environ, launch))

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
