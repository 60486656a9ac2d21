"""What makes two runs incomparable, and what does not."""

from __future__ import annotations

import pytest

from tare.stats.comparable import comparable, differences
from tare.stats.pairs import Pair
from tests.unit.factory import RESOURCES, SOFTWARE, record

SPEC = {"data_sha256": "ab", "steps": {"warm_up": 3}}


def pair(**platform) -> Pair:
    platform["spec"] = SPEC | platform.get("spec", {})
    return Pair(record(spec=SPEC), record(environment="docker", **platform))


def test_equal_runs_can_be_compared():
    assert comparable([pair(), pair()]) == "yes"


def test_what_lies_in_the_nature_of_an_environment_does_not_count():
    other = pair(
        evidence={"root_mount": "overlay"},
        platform={"storage_driver": "overlay2"},
        variables={"HOME": "/run"},
        arguments=["docker", "run"],
        slot=3,
        spec={"environment": {"engine": "docker", "shm_size": "1g"}},
    )
    assert comparable([other]) == "yes"


@pytest.mark.parametrize(
    ("platform", "said"),
    [
        (
            {"software": SOFTWARE | {"torch": "2.12.0"}},
            "software torch is 2.13.0+cpu in bare and 2.12.0 in docker",
        ),
        (
            {"software": {k: v for k, v in SOFTWARE.items() if k != "numpy"}},
            "software numpy is 2.3.1 in bare and none",
        ),
        ({"resources": RESOURCES | {"cpus": [0]}}, "resource cpus is [0, 1] in bare and [0] in docker"),
        (
            {"resources": RESOURCES | {"memory_limit_bytes": 1024}},
            "memory_limit_bytes is none in bare and 1024",
        ),
        (
            {"spec": {"quiet": ["gc_off"]}},
            "spec quiet is ['gc_off', 'huge_pages', 'one_heap'] in bare and ['gc_off'] in docker",
        ),
        ({"spec": {"data_sha256": "cd"}}, "spec data_sha256 is ab in bare and cd in docker"),
        ({"spec": {"steps": {"warm_up": 9}}}, "spec steps.warm_up is 3 in bare and 9 in docker"),
        ({"threads": 1}, "spec threads is 2 in bare and 1 in docker; threads is 2"),
    ],
)
def test_what_nobody_declared_is_named(platform, said):
    found = comparable([pair(), pair(**platform)])
    assert found.startswith("not comparable: ")
    assert said in found


def test_a_limit_that_was_declared_is_what_is_being_measured():
    limited = {"spec": {"environment": {"memory": "1g"}}}
    assert comparable([pair(**limited, resources=RESOURCES | {"memory_limit_bytes": 2**30})]) == "yes"
    found = comparable([pair(**limited, resources=RESOURCES | {"cpu_quota": 1.0})])
    assert "cpu_quota" in found


def test_a_difference_in_every_block_is_said_once_and_long_lists_are_cut():
    platform = {"software": SOFTWARE | dict.fromkeys(SOFTWARE, "other")}
    assert len(differences(pair(**platform))) == 4
    found = comparable([pair(**platform)] * 5)
    assert found.count(" in docker") == 3
    assert found.endswith("; and 1 more")
