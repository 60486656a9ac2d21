"""The self-check as it comes with Tare, for real."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.workflow.conftest import ROOT, Project

pytestmark = pytest.mark.workflow


@pytest.mark.slow  # five minutes on an idle machine
@pytest.mark.timeout(900)
def test_known_answers_are_met(project: Project) -> None:
    for part in ("Makefile", "pyproject.toml", "requirements", "tools"):
        (project.folder / part).symlink_to(ROOT / part)
    project.variables["VENV"] = sys.prefix
    done = subprocess.run(
        ["make", "self-check"], cwd=project.folder, env=project.environment(), capture_output=True, text=True,
        timeout=800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "Self-check passed: 3 known answers met." in done.stdout
