"""A run is what its evidence says, not what its label says."""

import pytest

from tare.measure.attest import contradiction
from tare.plan.study import ENGINES
from tare.worker import evidence
from tare.worker.launch import inherited_variables
from tests.unit.simulated import MARKERS, seen_inside

CONTAINERS = [engine for engine in ENGINES if engine != "bare"]


@pytest.fixture
def outside():
    return evidence.collect(inherited_variables()) | {"marker_files": []}


@pytest.mark.parametrize("engine", ENGINES)
def test_evidence_that_fits_the_label(engine, outside):
    assert contradiction(engine, seen_inside(engine), outside) == ""


@pytest.mark.parametrize("engine", CONTAINERS)
def test_a_container_that_was_silently_not_used(engine, outside):
    wrong = contradiction(engine, seen_inside("bare"), outside)
    assert wrong.startswith(f"the run labelled '{engine}' was in the controller's own namespaces: mnt")


@pytest.mark.parametrize("engine", CONTAINERS)
def test_bare_that_was_in_a_container(engine, outside):
    assert "other namespaces than the controller" in contradiction("bare", seen_inside(engine), outside)


@pytest.mark.parametrize("key", ["root_mount", "cgroup"])
def test_bare_with_another_root_or_cgroup(key, outside):
    inside = {**seen_inside("bare"), key: "another"}
    assert contradiction("bare", inside, outside).endswith("than the controller: another")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("key", ["boot_id", "kernel"])
def test_another_machine(engine, key, outside):
    wrong = contradiction(engine, {**seen_inside(engine), key: "another"}, outside)
    assert "on another machine than the controller" in wrong
    assert "another there" in wrong


@pytest.mark.parametrize("engine", CONTAINERS)
@pytest.mark.parametrize("real", CONTAINERS)
def test_an_engine_that_is_a_shim_for_another(engine, real, outside):
    wrong = contradiction(engine, seen_inside(real), outside)
    assert bool(wrong) == (engine != real)
    assert not wrong or f"labelled '{engine}'" in wrong


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("marker", MARKERS.values())
def test_a_marker_on_the_metal_proves_nothing(engine, marker, outside):
    outside["marker_files"] = [marker]
    inside = seen_inside(engine)
    shows_files_of_host = engine in ("bare", "bubblewrap")
    inside["marker_files"] = sorted({*inside["marker_files"], *([marker] if shows_files_of_host else [])})
    assert contradiction(engine, inside, outside) == ""
    assert contradiction("docker", {**seen_inside("bare"), "marker_files": ["/.dockerenv"]}, outside) != ""


def test_an_unmarked_container_with_a_root_of_its_own_is_no_bubblewrap(outside):
    outside["marker_files"] = ["/.dockerenv"]
    inside = seen_inside("docker")
    assert contradiction("docker", inside, outside) == ""
    assert "had another root than the controller: / overlay overlay" in contradiction(
        "bubblewrap", inside, outside
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_no_evidence_is_no_proof(engine, outside):
    assert contradiction(engine, {}, outside) != ""


def test_each_namespace_of_bare_must_be_the_controllers(outside):
    for name in outside["namespaces"]:
        inside = {**outside, "namespaces": {**outside["namespaces"], name: f"{name}:[1]"}}
        assert contradiction("bare", inside, outside).endswith(f"than the controller: {name}")
