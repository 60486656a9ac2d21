"""The quiet settings, each a switch of its own."""

from __future__ import annotations

import json

import pytest

from tare.plan import quiet
from tare.plan.matrix import cells
from tare.plan.quiet import Quiet
from tare.plan.specification import specification, switches
from tare.plan.study import load, parse
from tare.worker.frameworks import FRAMEWORKS
from tests.unit.studies import matrix, study, write


def on(framework: str = "torch", **changes) -> set[str]:
    one = study(**({"matrix": matrix(framework=framework)} | changes))
    return set(switches(one, cells(one)[0]))


def test_the_study_has_a_key_for_each_switch():
    assert list(Quiet.model_fields) == list(quiet.SWITCHES)
    assert all(name in quiet.SWITCHES for name in quiet.in_force("quiet", "torch", {}))


def test_the_garbage_collector_has_no_variable_and_all_others_do():
    assert [name for name, switch in quiet.SWITCHES.items() if not switch.variables] == ["gc_off"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_quiet_is_what_a_study_has_that_says_nothing(framework):
    assert on(framework) == on(framework, quiet=True) == on(framework, quiet="on") == on(framework, quiet={})
    assert on(framework) == set(quiet.in_force("quiet", framework, {}))
    assert on(framework)


@pytest.mark.parametrize("word", [False, "off", dict.fromkeys(quiet.SWITCHES, False)])
def test_off_is_the_plain_protocol_and_is_called_default(word):
    one = study(quiet=word)
    (cell,) = cells(one)
    assert (cell.name, cell.settings) == ("lenet-torch-default", "default")
    assert switches(one, cell) == []
    assert quiet.variables(switches(one, cell)) == {}


@pytest.mark.parametrize("name", quiet.in_force("quiet", "torch", {}))
def test_each_switch_is_turned_by_itself(name):
    assert on(quiet={name: False}) == on() - {name}
    assert on(quiet={name: True}) == on()


def test_openmp_is_bound_for_torch_only():
    """It binds whoever loads it: TensorFlow would be left with one CPU."""
    assert {"bind_threads", "short_spin"} <= on("torch")
    assert not {"bind_threads", "short_spin"} & on(
        "tensorflow", quiet={"bind_threads": True, "short_spin": True}
    )


def test_both_settings_are_two_cells_of_one_study():
    one = study(matrix=matrix(settings=["quiet", "default"]), quiet={"gc_off": False})
    quiet_cell, default_cell = cells(one)
    asked = [specification(one, cell, one.environment("bare"), 1) for cell in (quiet_cell, default_cell)]
    assert asked[0]["cell"]["settings"] == "quiet"
    assert "gc_off" not in asked[0]["quiet"]
    assert (asked[1]["cell"]["settings"], asked[1]["quiet"]) == ("default", [])


@pytest.mark.parametrize("text", ["off", "on", "{huge_pages: off}"])
def test_yamls_own_words_are_read(tmp_path, text):
    path = tmp_path / "mine.yaml"
    write(path)
    path.write_text(path.read_text() + f"\nquiet: {text}\n")
    assert load(path).quiet.off is (text == "off")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"quiet": False},
        {"quiet": {"one_heap": False}},
        {"matrix": matrix(settings="default")},
        {"matrix": matrix(settings=["quiet", "default"])},
    ],
    ids=str,
)
def test_a_study_is_the_same_after_it_was_frozen(changes):
    one = study(**changes)
    assert parse(json.loads(one.model_dump_json()), "study.json") == one
