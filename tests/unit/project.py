"""A project in a folder of its own, on a machine whose engines, GPUs and CPUs a test sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tare.campaign import campaign as campaign_module
from tare.campaign import freeze, job, probing
from tare.campaign.campaign import Campaign, look
from tare.campaign.state import BlockState
from tare.cli import doctor
from tare.plan import specification
from tare.platforms import Availability
from tare.records import store
from tare.telemetry import gpu
from tests.unit import studies
from tests.unit.factory import asked


@dataclass
class Machine:
    """What is here: every engine but those in `down` (engine -> reason, remedy), these GPUs, so many CPUs."""

    down: dict[str, tuple[str, str]] = field(default_factory=dict)
    gpus: list[str] = field(default_factory=list)
    cpus: int = 2
    asked: list[str] = field(default_factory=list)

    def probe(
        self, engines: Iterable[str], *, apptainer_asked: bool, trial: bool = False
    ) -> dict[str, Availability]:
        """Stands for `tare.campaign.probing.probe`."""
        wanted = list(dict.fromkeys(engines))
        self.asked += wanted
        found = {
            engine: Availability(engine not in self.down, *self.down.get(engine, ())) for engine in wanted
        }
        if "apptainer" in found and found["apptainer"].usable and not apptainer_asked:
            found["apptainer"] = probing._WITHOUT_FLAG
        return found


@dataclass
class Project:
    """A project with one study, `small` unless a test names it otherwise."""

    root: Path
    machine: Machine
    name: str = "small"

    @property
    def study_dir(self) -> Path:
        return self.root / "results" / self.name

    def write(self, **changes: Any) -> None:
        """Write the study: lenet in torch, bare and docker, 6 repetitions, with these changes."""
        studies.write(self.root / "config" / "studies" / f"{self.name}.yaml", **{"threads": None} | changes)

    def look(self, *, apptainer_asked: bool = True, **config: Any) -> Campaign:
        """One call's view."""
        return look({"study": self.name, **config}, self.root, apptainer_asked=apptainer_asked)

    def begin(self, *, apptainer_asked: bool = True, **config: Any) -> Campaign:
        """Plan and study as a real run freezes them."""
        campaign = self.look(apptainer_asked=apptainer_asked, **config)
        freeze.begin(campaign, say=lambda sentence: None).release()
        return campaign

    def measure(self, states: Iterable[BlockState], **other: Any) -> None:
        """Write the records of these blocks as they are asked for; `other` as in tests.unit.factory.record."""
        study, _ = freeze.read(self.study_dir)
        for state in states:
            for name in state.block.environments:
                store.write(self.study_dir, asked(study, state.block, name, **other))

    def all_measured(self, **config: Any) -> Campaign:
        """A run to the end."""
        campaign = self.begin(**config)
        self.measure(campaign.to_measure)
        return self.look()


def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine where every engine answers, without a GPU, with 2 CPUs; no engine is asked for real."""
    one = Machine()
    for module in (campaign_module, probing, job, doctor):
        monkeypatch.setattr(module, "probe", one.probe)
    monkeypatch.setattr(gpu, "names", lambda: one.gpus)
    monkeypatch.setattr(specification.os, "sched_getaffinity", lambda pid: set(range(one.cpus)))
    return one


def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose folder is the working folder."""
    monkeypatch.chdir(root)
    one = Project(root, machine(monkeypatch))
    one.write()
    return one
