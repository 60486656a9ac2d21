"""The metal itself: the worker is a process of this host, as the controller is."""

from __future__ import annotations

from typing import Any

from tare.platforms.base import Availability, Launch
from tare.platforms.process import ProcessHandle, sweep_processes


class Bare:
    """No platform at all: what the others are weighed against."""

    engine = "bare"

    def probe(self) -> Availability:
        """Always usable."""
        return Availability(usable=True)

    def prepare(self) -> None:
        """Nothing is needed."""

    def start(self, launch: Launch) -> ProcessHandle:
        """Start the worker as it is."""
        return ProcessHandle(list(launch.program), launch, launch.variables)

    def describe(self) -> dict[str, Any]:
        """Nothing lies between worker and kernel."""
        return {"engine": "bare"}

    def sweep(self, campaign: str) -> list[str]:
        """Kill leftover workers; bubblewrap's and apptainer's are processes of this host too."""
        return sweep_processes(campaign)
