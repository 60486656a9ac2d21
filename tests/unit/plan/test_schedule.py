"""The order of blocks, and of the environments in them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.plan.schedule import block_order, slots

ENVIRONMENTS = ["bare", "bubblewrap", "docker", "podman", "apptainer"]


@settings(deadline=None)
@given(
    count=st.integers(1, 5), blocks=st.integers(1, 40), cell=st.text(max_size=5), seed=st.integers(0, 1000)
)
def test_each_environment_takes_each_slot_equally_often_up_to_remainders(count, blocks, cell, seed):
    environments = ENVIRONMENTS[:count]
    taken = Counter(
        (environment, slot)
        for index in range(blocks)
        for slot, environment in enumerate(slots(environments, cell, index, seed))
    )
    for environment in environments:
        times = [taken[environment, slot] for slot in range(count)]
        assert sum(times) == blocks
        assert max(times) - min(times) <= 1


@given(st.permutations(ENVIRONMENTS), st.integers(0, 20), st.integers(0, 9))
def test_slots_do_not_depend_on_the_order_in_the_file(environments, index, seed):
    found = slots(environments, "lenet-torch", index, seed)
    assert found == slots(ENVIRONMENTS, "lenet-torch", index, seed)
    assert sorted(found) == sorted(ENVIRONMENTS)


@pytest.mark.parametrize(("count", "design"), [(2, 2), (3, 6), (4, 4), (5, 10)])
def test_each_follows_each_other_equally_often(count, design):
    """What a run leaves behind (heat, caches) meets all others alike."""
    followed = Counter(
        pair
        for index in range(3 * design)
        for pair in pairwise(slots(ENVIRONMENTS[:count], "lenet-torch", index, 1))
    )
    assert len(followed) == count * (count - 1)
    assert len(set(followed.values())) == 1


def test_cells_do_not_all_begin_alike():
    firsts = Counter(slots(ENVIRONMENTS, f"cell-{number}", 0, 1)[0] for number in range(100))
    assert set(firsts) == set(ENVIRONMENTS)
    assert max(firsts.values()) < 40


def test_no_environment_has_no_slot():
    assert slots([], "c", 0, 1) == []


def test_the_order_of_cells_comes_from_the_seed_and_the_repetition():
    cells = [f"cell-{number}" for number in range(8)]
    orders = {(seed, r): tuple(block_order(cells, r, seed)) for seed in range(3) for r in range(1, 9)}
    assert len(set(orders.values())) == len(orders)
    assert all(sorted(order) == cells for order in orders.values())
    assert block_order(cells[::-1], 1, 1) == block_order(cells, 1, 1)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (block_order(["a", "b", "c", "d"], 1, 1), ["b", "c", "a", "d"]),
        (slots(["bare", "docker", "podman"], "a", 4, 1), ["bare", "podman", "docker"]),
    ],
)
def test_the_order_is_the_same_on_every_machine_and_in_every_version(found, expected):
    assert found == expected
