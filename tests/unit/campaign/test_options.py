"""What a user says with --config."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.campaign.options import DEFAULTS, KEYS, Options, parse
from tare.plan.errors import StudyError
from tests.unit.studies import write


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("quick", "mine", "2024"):
        write(tmp_path / "config" / "studies" / f"{name}.yaml")
    return tmp_path


def test_nothing_said(root):
    assert parse({}, root) == Options(root / "config" / "studies" / "quick.yaml", Path("results"))


def test_everything_said(root):
    said = {
        "study": "mine", "results": "/elsewhere", "only": "lenet-*, fcn-r-torch", "redo": True,
        "retry_failed": "True", "add": ["docker", "podman"], "lock": "stop",
    }  # fmt: skip
    assert parse(said, root) == Options(
        study_file=root / "config" / "studies" / "mine.yaml", results=Path("/elsewhere"),
        only=("lenet-*", "fcn-r-torch"), redo=True, retry_failed=True, add=("docker", "podman"), wait=False,
    )  # fmt: skip


@pytest.mark.parametrize("results", ["file", "file/deeper/still"])
def test_results_in_what_is_no_folder(root, results):
    (root / "file").write_text("")
    with pytest.raises(
        StudyError, match=r"^file is no folder, so results can't be written there; move it away"
    ):
        parse({"results": results}, root)


def test_every_key_is_documented_and_every_default_is_one():
    assert set(DEFAULTS) <= set(KEYS)
    assert set(KEYS) == {"study", "results", "only", "redo", "retry_failed", "add", "lock"}


@pytest.mark.parametrize("value", ["mine", "config/studies/mine.yaml", "./config/studies/mine.yaml"])
def test_a_study_by_name_or_path(root, value):
    assert parse({"study": value}, root).study_file.resolve() == root / "config" / "studies" / "mine.yaml"


def test_a_study_whose_name_is_a_number(root):
    assert parse({"study": 2024}, root).study_file.stem == "2024"


def test_a_home_folder(root, monkeypatch):
    monkeypatch.setenv("HOME", str(root))
    assert parse({"results": "~/r", "study": "~/config/studies/mine.yaml"}, root).results == root / "r"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"stduy": "mine"}, "--config stduy: unknown key; did you mean 'study'?"),
        (
            {"cores": 8},
            "--config cores: unknown key; there is add, lock, only, redo, results, retry_failed, study.",
        ),
        ({3: 8}, "--config 3: unknown key; there is add, lock, only, redo, results, retry_failed, study."),
        (
            {"study": "quik"},
            "--config study=quik: there is no such study in ROOT/config/studies; did you mean 'quick'?",
        ),
        (
            {"study": "vgg"},
            "--config study=vgg: there is no such study in ROOT/config/studies; there is 2024, mine, quick.",
        ),
        (
            {"study": "vgg.yaml"},
            "--config study=vgg.yaml: there is no such file; give the path of a YAML file, or a study's name.",
        ),
        (
            {"study": "config/studies/mine"},
            "--config study=config/studies/mine: there is no such file; "
            "give the path of a YAML file, or a study's name.",
        ),
        ({"study": None}, "--config study: must be text, not nothing; give a value, or leave the key out."),
        ({"study": ""}, "--config study: must be text, not ''; give a value, or leave the key out."),
        ({"study": ["a"]}, "--config study: must be text, not a list; give a value, or leave the key out."),
        ({"results": True}, "--config results: must be text, not true; give a value, or leave the key out."),
        ({"lock": "maybe"}, "--config lock=maybe: must be `wait` or `stop`."),
        ({"redo": 1}, "--config redo: must be true or false, not 1."),
        ({"redo": "yes"}, "--config redo: must be true or false, not 'yes'."),
        ({"retry_failed": None}, "--config retry_failed: must be true or false, not nothing."),
        # with `only=$CELL redo=true` and no CELL, everything would be measured again
        ({"only": None, "redo": True}, "--config only: is empty; name something, or leave the key out."),
        ({"only": " , "}, "--config only: is empty; name something, or leave the key out."),
        ({"only": []}, "--config only: is empty; name something, or leave the key out."),
        ({"only": {"a": 1}}, "--config only: must be names separated by commas, not keys and values."),
        ({"only": [["a"]]}, "--config only: must be names separated by commas, not a list."),
        ({"add": True}, "--config add: must be names separated by commas, not true."),
    ],
)
def test_what_is_wrong_gets_one_sentence(root, said, sentence):
    with pytest.raises(StudyError) as caught:
        parse(said, root)
    assert str(caught.value).replace(str(root), "ROOT") == sentence


@pytest.mark.parametrize("value", ["x" * 5000, "/" + "x" * 5000, "nul\0.yaml", "a\0"])
def test_a_name_that_no_file_can_have_gets_a_sentence_too(root, value):
    with pytest.raises(StudyError, match="there is no such"):
        parse({"study": value}, root)


def test_a_project_without_studies(tmp_path):
    with pytest.raises(StudyError, match=r"there is no such study in .*; there is none\.$"):
        parse({}, tmp_path)
