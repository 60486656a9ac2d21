"""Machine, software and engines."""

from __future__ import annotations

from tare.report import facts
from tests.unit.factory import HOST, SOFTWARE, record


def as_dict(found):
    return {fact.name: fact.value for fact in found}


def test_equal_values_are_said_once():
    assert as_dict(facts.machine([record(), record(repetition=2)]))["kernel"] == HOST["kernel"]


def test_values_that_differ_are_said_with_where():
    runs = [
        record(),
        record(environment="podman"),
        record(environment="docker", software=SOFTWARE | {"torch": "2.12.0"}),
    ]
    assert as_dict(facts.software(runs)["torch"])["torch"] == "2.13.0+cpu (bare and podman); 2.12.0 (docker)"


def test_values_for_people():
    assert facts.value_text("cpus", [0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert facts.value_text("memory_bytes", 2**33) == "8 GiB"
    assert facts.value_text("x", None) == "none"
    assert facts.value_text("x", False) == "no"
    assert facts.value_text("x", ["a", "b"]) == "a, b"
    assert facts.name_text("cgroup.memory_limit_bytes") == "cgroup: memory limit"


def test_a_value_of_each_run_is_told_by_its_range():
    runs = [record(repetition=n, platform={"prepare_s": n / 10, "digest": f"d{n}"}) for n in range(1, 7)]
    found = as_dict(facts.engines(runs)["bare"])
    assert found == {"prepare (s)": "0.1 to 0.6", "digest": "d1; d2; d3; d4; and 2 more"}


def test_how_an_environment_was_started():
    found = facts.starts([record(arguments=["docker", "run", "a b"], environment="docker"), record()])
    assert [(s.environment, s.arguments) for s in found] == [
        ("docker", "docker run 'a b'"),
        ("bare", "bare python3 -m tare.worker"),
    ]
    assert found[0].variables == "HOME=/tmp/run OMP_NUM_THREADS=2"


def test_engines_and_resources():
    runs = [
        record(),
        record(environment="docker", platform={"version": "27", "security": {"seccomp": "default"}}),
    ]
    assert as_dict(facts.engines(runs)["docker"]) == {"version": "27", "security: seccomp": "default"}
    assert as_dict(facts.given(runs))["cpus"] == "0-1"
