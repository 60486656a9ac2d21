"""Taking turns: order, rounds, deadline, and what happens to the others when one breaks."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.measure.lockstep import RunFailed, take_turns
from tests.unit.factory import turn
from tests.unit.simulated import Clock


class Runner:
    """Takes `step_s` a step, and breaks in the rounds it is told to."""

    def __init__(self, name, clock, step_s=0.5, breaks_in=()):
        self.name, self.clock, self.step_s, self.breaks_in = name, clock, step_s, breaks_in
        self.asked = []

    def turn(self, *, round_index, position, steps, settle):
        self.asked.append((round_index, position, steps, settle))
        self.clock.advance((settle + steps) * self.step_s)
        if round_index in self.breaks_in:
            raise RunFailed("broke", "turn")
        return turn([self.step_s] * steps, round=round_index, position=position)


def lockstep(runners, clock, *, steps=2, settle=1, rounds=(2, 5), deadline=1e9, seed=1):
    """What happened: [(runner, turn)], failures by runner, number of rounds, and the rounds as they were told."""
    turns, failures, told = [], {}, []
    done = take_turns(
        runners, steps=steps, settle=settle, min_rounds=rounds[0], max_rounds=rounds[1], deadline_t=deadline,
        clock=clock, random=Random(seed), on_turn=lambda runner, made: turns.append((runner.name, made)),
        on_failure=lambda runner, failure: failures.setdefault(runner.name, failure), on_round=told.append,
    )  # fmt: skip
    return turns, failures, done, told


def orders(turns):
    """The order of each round, by name."""
    rounds = {}
    for name, made in turns:
        rounds.setdefault(made.round, []).append(name)
    return [tuple(names) for names in rounds.values()]


def test_each_runner_goes_once_a_round_and_position_and_round_are_recorded():
    clock = Clock()
    runners = [Runner(name, clock) for name in "abc"]
    turns, failures, done, told = lockstep(runners, clock)
    assert (done, told, failures) == (5, [1, 2, 3, 4, 5], {})
    assert Counter(name for name, _ in turns) == {"a": 5, "b": 5, "c": 5}
    assert [(made.round, made.position) for _, made in turns] == [(r, p) for r in range(5) for p in range(3)]


def test_the_order_within_a_round_is_random_but_the_same_for_the_same_seed():
    def order(seed):
        clock = Clock()
        return orders(lockstep([Runner(name, clock) for name in "abc"], clock, rounds=(1, 60), seed=seed)[0])

    assert order(1) == order(1) != order(2)
    assert len(set(order(1))) == 6, "in 60 rounds every order of three should have come up"


def test_every_turn_settles_also_when_the_same_runner_goes_twice_in_a_row():
    clock = Clock()
    runner = Runner("a", clock)
    lockstep([runner], clock, steps=4, settle=1, rounds=(1, 3))
    assert [(steps, settle) for _, _, steps, settle in runner.asked] == [(4, 1)] * 3


@pytest.mark.parametrize(
    ("left_s", "done"),
    [
        (0.0, 2),  # rounds of 3 s: none fits, yet the least number is made
        (8.9, 2),
        (9.1, 3),
        (15.1, 5),
        (99.0, 5),  # never more than the most
    ],
)
def test_no_round_begins_that_would_end_after_the_deadline(left_s, done):
    clock = Clock()
    runners = [Runner("a", clock), Runner("b", clock)]
    turns, _, rounds, _ = lockstep(runners, clock, deadline=clock.now + left_s)
    assert rounds == done
    assert len(turns) == 2 * done


def test_a_runner_that_breaks_is_left_out_and_the_others_go_on():
    clock = Clock()
    runners = [Runner("a", clock), Runner("b", clock, breaks_in=(2,)), Runner("c", clock)]
    turns, failures, done, _ = lockstep(runners, clock)
    assert done == 5
    assert list(failures) == ["b"]
    assert Counter(name for name, _ in turns) == {"a": 5, "b": 2, "c": 5}
    assert runners[1].asked[-1][0] == 2, "a broken runner is not asked again"


def test_it_ends_when_all_have_broken():
    clock = Clock()
    runners = [Runner("a", clock, breaks_in=(1,)), Runner("b", clock, breaks_in=(0,))]
    turns, failures, done, told = lockstep(runners, clock)
    assert (done, told) == (1, [1])
    assert set(failures) == {"a", "b"}
    assert [name for name, _ in turns] == ["a"]


def test_no_runner_at_all_makes_no_round():
    assert lockstep([], Clock())[2] == 0


def test_other_errors_are_not_taken_for_a_failure_of_the_run():
    clock = Clock()
    runner = Runner("a", clock)
    runner.turn = lambda **asked: 1 / 0
    with pytest.raises(ZeroDivisionError):
        lockstep([runner], clock)


@given(
    durations_s=st.lists(st.floats(0.001, 3.0), min_size=1, max_size=4),
    budget_s=st.floats(0, 60),
    least=st.integers(1, 4),
    more=st.integers(0, 6),
    seed=st.integers(0, 2**32),
)
def test_whatever_the_pace_all_runners_have_equally_many_turns(durations_s, budget_s, least, more, seed):
    clock = Clock()
    runners = [Runner(str(number), clock, step_s) for number, step_s in enumerate(durations_s)]
    deadline = clock.now + budget_s
    turns, _, done, _ = lockstep(runners, clock, rounds=(least, least + more), deadline=deadline, seed=seed)
    assert least <= done <= least + more
    assert Counter(name for name, _ in turns) == {runner.name: done for runner in runners}
    round_s = sum(3 * step_s for step_s in durations_s)
    assert done == least or clock.now <= deadline + 1e-9 * round_s
