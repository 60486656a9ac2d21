"""Reading a study that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare import platforms
from tare.plan.axes import Matrix
from tare.plan.environment import ENGINES, Environment
from tare.plan.errors import StudyError
from tare.plan.study import Rounds, Study, load, parse
from tests.unit.studies import content, matrix, study, write

ROOT = Path(__file__).resolve().parents[3]


def test_left_out_keys_have_their_defaults(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "matrix: {model: lenet, framework: torch}\nenvironments: [bare, docker]\n", encoding="utf-8"
    )
    read = load(path)
    assert read.name == "mine"  # the file's
    assert (read.repetitions, read.schedule, read.threads, read.seed) == (6, "lockstep", None, 1)
    assert (read.rounds.min, read.rounds.max) == (8, 80)
    assert read.matrix.data == ["digits"]
    assert [(e.name, e.engine, e.baseline) for e in read.environments] == [
        ("bare", "bare", "bare"),
        ("docker", "docker", "bare"),
    ]
    assert [e.is_baseline for e in read.environments] == [True, False]
    assert not any(e.optional or e.fallback for e in read.environments)


def test_one_value_is_a_list_of_one():
    assert (
        study(matrix=matrix(model="lenet", batch_size=32)).matrix
        == study(matrix=matrix(model=["lenet"], batch_size=[32])).matrix
    )


def test_numbers_as_people_write_them(tmp_path):
    path = tmp_path / "mine.yaml"
    written = {
        "1e3": 1000.0, "1.5e+2": 150.0, "1.5e-3": 0.0015, "900": 900.0, "1_000": 1000.0, "2E2": 200.0, "0.5": 0.5,
        ".5": 0.5, "1.": 1.0,
    }  # fmt: skip
    for text, value in written.items():
        path.write_text(
            f"matrix: {{model: lenet, framework: torch}}\nenvironments: [bare]\ntime_budget_s: {text}\n",
            encoding="utf-8",
        )
        assert load(path).time_budget_s == value


@pytest.mark.parametrize("text", ["0900", "15:00", "0x3e8", "0o17", "1:30.5"])
def test_numbers_that_people_do_not_write(tmp_path, text):
    """YAML 1.1 would take 0900 as text, 0700 as 448 and 15:00 as 900."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"matrix: {{model: lenet, framework: torch}}\nenvironments: [bare]\nrepetitions: {text}\n",
        encoding="utf-8",
    )
    with pytest.raises(StudyError, match=rf"repetitions: must be .*, not '{text}'"):
        load(path)


def test_merged_keys_are_not_keys_that_are_there_twice(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "matrix: {model: lenet, framework: torch}\n"
        "environments:\n"
        "  - &first {name: bare, optional: false}\n"
        "  - &second {<<: *first, name: docker, engine: docker, optional: true}\n"
        "  - {<<: *second, name: docker-2}\n",
        encoding="utf-8",
    )
    assert [(e.name, e.engine, e.optional) for e in load(path).environments] == [
        ("bare", "bare", False),
        ("docker", "docker", True),
        ("docker-2", "docker", True),
    ]


def test_a_byte_order_mark_is_no_part_of_a_key(tmp_path):
    path = write(tmp_path / "mine.yaml")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(path).matrix.model == ["lenet"]


def test_a_ladder_of_baselines():
    ladder = study(
        environments=["bare", {"name": "bubblewrap"}, {"name": "docker", "baseline": "bubblewrap"}]
    )
    assert [e.baseline for e in ladder.environments] == ["bare", "bare", "bubblewrap"]
    assert ladder.environment("docker").baseline == "bubblewrap"


def test_several_roots():
    assert parse(
        content(environments=["bare", {"name": "podman", "baseline": "podman"}]) | {"name": "x"}, "x"
    )


def test_a_study_comes_back_from_its_json():
    for one in (study(), study(rounds={"min": 1, "max": 2}, time_budget_per_environment_s=5.0, threads=None)):
        assert Study.model_validate_json(one.model_dump_json()) == one


@pytest.mark.parametrize(
    ("per_environment", "usable", "seconds"),
    [(None, 5, 900), (180, 2, 360), (180, 5, 900), (180, 9, 900), (180, 0, 180), (1000, 1, 900)],
)
def test_the_budget_is_the_tighter_one(per_environment, usable, seconds):
    assert study(time_budget_s=900, time_budget_per_environment_s=per_environment).budget_s(usable) == seconds


def test_options_of_an_environment_are_what_determines_how_it_runs():
    entry = study(environments=["bare", {"name": "again", "engine": "bare", "optional": True}])
    assert entry.environment("again").options() == entry.environment("bare").options()
    assert entry.environment("again").options() == {"engine": "bare", "software": "host"}


def test_every_engine_has_its_platform():
    assert set(ENGINES) == set(platforms.ENGINES)


def test_every_field_is_described():
    """config/README.md is made of the descriptions."""
    for model in (Study, Matrix, Environment, Rounds):
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"
            assert field.description.endswith("."), f"{model.__name__}.{name}"


@pytest.mark.parametrize("path", sorted((ROOT / "config" / "studies").glob("*.yaml")), ids=lambda p: p.stem)
def test_the_studies_that_come_with_tare(path):
    assert load(path).name == path.stem


def test_the_quick_study_is_what_its_users_are_told():
    quick = load(ROOT / "config" / "studies" / "quick.yaml")
    assert quick.matrix.model == ["lenet"]
    assert quick.matrix.framework == ["torch", "tensorflow"]
    assert (quick.repetitions, quick.schedule) == (12, "lockstep")
    assert [e.name for e in quick.environments if not e.fallback] == [*ENGINES]
    assert all(e.optional for e in quick.environments if e.engine != "bare")
    assert quick.budget_s(2) <= 6 * 60
    assert quick.budget_s(5) <= 15 * 60
