"""Every command in the documentation is run, in a copy of the project whose quick study is quicker still.

Commands stand in fenced blocks marked `sh`, one a line. A fenced block marked `yaml` whose first line is `# NAME.yaml`
is a file that the commands after it may use; so is one marked `csv`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.workflow.conftest import PARTS, ROOT, Project

pytestmark = pytest.mark.docs

PAGES = [ROOT / "README.md", ROOT / "config" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(sh|yaml|csv)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What this test can't run, and what does run it.
ELSEWHERE = {
    "make test": ".ci/run",
    "make engines": ".ci/run",
    "make lint": ".ci/run",
    "make self-check": "make test-full",
    "make test-full": "by hand, its result in docs/full-run.md",
}
QUICKER = {
    "title": "The quick study, quicker",
    "matrix": {"model": ["lenet"], "framework": ["torch"]},
    "environments": [
        "bare",
        {"name": "bubblewrap", "optional": True},
        {"name": "apptainer", "optional": True},
        {"name": "bare-again", "engine": "bare", "fallback": True},
    ],
    "repetitions": 3,
    "rounds": {"min": 2, "max": 2},
    "warmup_steps": 2,
    "time_budget_s": 30,
}


def fences(kind: str) -> list[tuple[str, str]]:
    """(page, content) of all fenced blocks of a kind."""
    return [
        (page.name, content)
        for page in PAGES
        for found, content in FENCE.findall(page.read_text(encoding="utf-8"))
        if found == kind
    ]


def commands() -> list[str]:
    """Every command of the documentation, once."""
    lines = [line.strip() for _, content in fences("sh") for line in content.splitlines()]
    return list(
        dict.fromkeys(line.split("  #")[0].strip() for line in lines if line and not line.startswith("#"))
    )


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose quick study was measured, with the files that the documentation shows."""
    folder = tmp_path_factory.mktemp("docs") / "project"
    folder.mkdir()
    for part in (*PARTS, "Makefile", "pyproject.toml", "requirements", "tools", "benchmarks"):
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    (folder / "src").symlink_to(ROOT / "src")
    (folder / "config" / "studies" / "quick.yaml").write_text(yaml.safe_dump(QUICKER))
    for _, content in fences("yaml"):
        first = content.splitlines()[0]
        if first.startswith("# ") and first.endswith(".yaml"):
            study = yaml.safe_load(content)
            shorter = {**study, "rounds": {"min": 2, "max": 2}, "repetitions": 1, "warmup_steps": 2}
            (folder / first.removeprefix("# ")).write_text(yaml.safe_dump(shorter))
    for _, content in fences("csv"):
        (folder / content.splitlines()[0].removeprefix("# ")).write_text(content)
    project = Project(folder, study="quick", variables={"VENV": sys.prefix})
    project.snakemake()
    return project


def test_the_documentation_has_commands() -> None:
    assert {"make run", "make test", "make doctor", "snakemake --cores 8 --use-singularity"} <= set(
        commands()
    )


def test_what_is_run_elsewhere_is_in_the_documentation() -> None:
    assert set(ELSEWHERE) <= set(commands())
    ci = (ROOT / ".ci" / "run").read_text()
    assert all(
        command in ci
        for command, where in ELSEWHERE.items()
        if where == ".ci/run" and "engines" not in command
    )
    assert "tools/engines up" in ci


@pytest.mark.parametrize("command", [c for c in commands() if c not in ELSEWHERE])
def test_command(quick: Project, command: str) -> None:
    done = subprocess.run(
        ["bash", "-euc", command], cwd=quick.folder, env=quick.environment(), capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_studies_in_the_documentation_are_valid() -> None:
    from tare.plan.study import parse

    for page, content in fences("yaml"):
        study = yaml.safe_load(content)
        if isinstance(study, dict) and "matrix" in study:
            parse({"name": "example", **study}, page)


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / Path(target)).exists(), f"{page.name}: {target}"
