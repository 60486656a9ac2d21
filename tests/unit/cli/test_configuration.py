"""config/README.md says what the models check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tare.campaign.options import DEFAULTS, KEYS, parse
from tare.cli import configuration
from tare.plan.axes import DATA_SETS, Matrix
from tare.plan.environment import ENGINES, Environment
from tare.plan.matrix import cells
from tare.plan.study import Rounds, Study, load
from tare.worker.frameworks import FRAMEWORKS
from tare.worker.networks import NETWORKS

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "config" / "README.md"


def test_the_page_is_current():
    made = configuration.markdown()
    assert PAGE.read_text(encoding="utf-8") == made, (
        "make it anew: python -m tare.cli.configuration > config/README.md"
    )


@pytest.mark.parametrize("model", [Study, Matrix, Environment, Rounds])
def test_every_key_has_its_row(model):
    text = configuration.markdown()
    for name, field in model.model_fields.items():
        (row,) = re.findall(rf"^\| `{name}` \| ([^\n]+) \|$", text.partition(_head(model))[2], re.MULTILINE)[
            :1
        ]
        assert field.description.replace("|", "\\|") in row
        assert ("**needed**" in row) == field.is_required()


def _head(model) -> str:
    return {
        Study: "## The study file",
        Matrix: "### `matrix`",
        Environment: "### `environments`",
        Rounds: "### `rounds`",
    }[model]


def test_every_option_has_its_row():
    text = configuration.markdown()
    for key, meaning in KEYS.items():
        assert f"| `{key}` | {f'`{DEFAULTS[key]}`' if key in DEFAULTS else ''} | {meaning} |" in text


def test_everything_that_a_study_may_name_is_listed():
    text = configuration.markdown()
    listed = text.partition("## What there is")[2]
    for name in (*FRAMEWORKS, *ENGINES, *DATA_SETS):
        assert f"- `{name}`" in listed
    for name, network in NETWORKS.items():
        assert f"| `{name}` | {network.title} |" in listed
        assert f"{network.parameters:,}" in listed


def test_no_row_is_broken():
    """Every row of a table has as many cells as its head."""
    for table in re.findall(r"(?:^\|.*\|\n)+", configuration.markdown(), re.MULTILINE):
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(counts) == 1, table


def test_the_example_is_a_study(tmp_path):
    path = tmp_path / "minimal.yaml"
    path.write_text(configuration.EXAMPLE, encoding="utf-8")
    study = load(path)
    assert [cell.name for cell in cells(study)] == ["lenet-torch"]
    assert [e.name for e in study.environments] == ["bare", "bubblewrap", "bare-again"]
    assert f"```yaml\n{configuration.EXAMPLE}```" in configuration.markdown()


def test_the_names_of_cells_that_the_page_shows_are_names_of_cells(tmp_path):
    from tests.unit.studies import matrix, study

    text = configuration.markdown()
    many = {"batch_size": 32}, {"gpu": "V100", "gpus_per_learner": 2, "learners": 4}, {}
    for axes in many:
        (cell,) = cells(study(matrix=matrix(**axes)))
        assert f"`{cell.name}`" in text


def test_the_defaults_are_those_of_the_options(tmp_path):
    (tmp_path / "config" / "studies").mkdir(parents=True)
    (tmp_path / "config" / "studies" / "quick.yaml").touch()
    assert parse(DEFAULTS, tmp_path) == parse({}, tmp_path)
