"""Snakemake for real, on copies of the project, with a study of a few seconds: bare against itself, one cell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("Snakefile", "workflow", "profiles", "config")
TINY = {
    "title": "A study for tests",
    "matrix": {"model": ["lenet"], "framework": ["torch"]},
    "environments": ["bare", {"name": "again", "engine": "bare"}],
    "repetitions": 2,
    "rounds": {"min": 2, "max": 2},
    "warmup_steps": 2,
    "time_budget_s": 10,
}


@dataclass
class Project:
    """A copy of the project with a study of its own."""

    folder: Path
    study: str = "tiny"
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        """The study's folder."""
        return self.folder / "results" / self.study

    def write_study(self, **changes: object) -> None:
        """Write the study, with changes to the tiny one."""
        path = self.folder / "config" / "studies" / f"{self.study}.yaml"
        path.write_text(yaml.safe_dump({**TINY, **changes}), encoding="utf-8")

    def command(self, *arguments: str, config: str = "") -> list[str]:
        """The command line of Snakemake."""
        settings = [f"study={self.study}", *config.split()]
        return [sys.executable, "-m", "snakemake", "--cores", "8", "--config", *settings, *arguments]

    def environment(self) -> dict[str, str]:
        """Variables for child processes: a lock of the test's own, and the checkout's package."""
        lock = {"TARE_HOST_LOCK": str(self.folder / "host.lock")}
        bin_dir = str(Path(sys.executable).parent)
        path = {"PATH": f"{bin_dir}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
        return {**os.environ, **lock, **path, **self.variables}

    def snakemake(
        self, *arguments: str, config: str = "", expect: int | None = 0
    ) -> subprocess.CompletedProcess[str]:
        """Run Snakemake to its end; its exit status must be `expect`."""
        return self.run(*self.command(*arguments, config=config), expect=expect)

    def tare(self, *arguments: str, expect: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run the command `tare`."""
        return self.run(sys.executable, "-m", "tare.cli", *arguments, expect=expect)

    def run(self, *argv: str, expect: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run a command in the project's folder."""
        done = subprocess.run(
            argv,
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if expect is not None:
            assert done.returncode == expect, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *arguments: str, config: str = "") -> subprocess.Popen[str]:
        """Start Snakemake as the leader of a process group of its own."""
        return subprocess.Popen(
            self.command(*arguments, config=config), cwd=self.folder, env=self.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def record(self, repetition: int, environment: str, cell: str = "lenet-torch") -> Path:
        """Where a record lies."""
        return self.results / "runs" / cell / str(repetition) / f"{environment}.json"

    def started_at(self) -> dict[str, str]:
        """When each run was started, by its path under runs/: tells which were measured again."""
        runs = self.results / "runs"
        return {
            str(path.relative_to(runs)): json.loads(path.read_text())["started_at"]
            for path in sorted(runs.glob("*/*/*.json"))
        }


def _project(folder: Path) -> Project:
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / part)
    (folder / "src").symlink_to(ROOT / "src")
    project = Project(folder)
    project.write_study()
    return project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project that has measured nothing yet."""
    return _project(tmp_path / "project")


@pytest.fixture(scope="session")
def _measured_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Project, subprocess.CompletedProcess[str]]:
    project = _project(tmp_path_factory.mktemp("measured") / "project")
    return project, project.snakemake()


@pytest.fixture(scope="session")
def first_run(
    _measured_once: tuple[Project, subprocess.CompletedProcess[str]],
) -> subprocess.CompletedProcess[str]:
    """The run that measured the project of `measured`."""
    return _measured_once[1]


@pytest.fixture
def measured(
    _measured_once: tuple[Project, subprocess.CompletedProcess[str]], tmp_path: Path
) -> Callable[[], Project]:
    """Makes copies of a project whose tiny study was measured."""

    def copy() -> Project:
        folder = tmp_path / "copy"
        # with time stamps, and with Snakemake's own memory of what it made
        shutil.copytree(_measured_once[0].folder, folder, symlinks=True)
        return Project(folder)

    return copy
