"""Taking turns. Knows nothing of Snakemake, engines or frameworks: whatever can take a turn can be measured.

All runs of a block are alive at once and one at a time works, so that noise that lasts longer than a turn, which on a
shared machine is most of it, meets the runs of a round alike and cancels in their ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol, TypeVar

from tare.records.schema import Turn


class RunFailed(Exception):
    """A run can't go on; its message is one sentence.

    Attributes:
        stage: what was going on.
        timed_out: whether it was ended for giving no answer.
    """

    def __init__(self, reason: str, stage: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.stage, self.timed_out = reason, stage, timed_out


class Runner(Protocol):
    """Something that works when told to and is idle otherwise."""

    def turn(self, *, round_index: int, position: int, steps: int, settle: int) -> Turn:
        """Take `settle` untimed steps, then `steps` timed ones.

        Raises:
            RunFailed: it broke, or gave no answer in time.
        """


R = TypeVar("R", bound=Runner)


def take_turns(
    runners: Sequence[R],
    *,
    steps: int,
    settle: int,
    min_rounds: int,
    max_rounds: int,
    deadline_t: float,
    clock: Callable[[], float],
    random: Random,
    on_turn: Callable[[R, Turn], None],
    on_failure: Callable[[R, RunFailed], None],
    on_round: Callable[[int], None] = lambda done: None,
) -> int:
    """Rounds of turns until the deadline, each runner once a round in random order.

    A round that was begun is finished, so that every run of a block has the same number of turns. A runner that fails
    is left out from then on and the others go on: what they measure is still a comparison.

    Args:
        deadline_t: no round begins after this time, and none that would, at the pace of the longest so far, end after
            it, once `min_rounds` are done.

    Returns:
        The number of whole rounds.
    """
    alive = list(runners)
    longest_s = 0.0
    for done in range(max_rounds):
        begun = clock()
        if done >= min_rounds and begun + longest_s > deadline_t:
            return done
        order = list(alive)
        random.shuffle(order)
        for position, runner in enumerate(order):
            try:
                turn = runner.turn(round_index=done, position=position, steps=steps, settle=settle)
            except RunFailed as failure:
                alive.remove(runner)
                on_failure(runner, failure)
            else:
                on_turn(runner, turn)
        if not alive:
            return done
        longest_s = max(longest_s, clock() - begun)
        on_round(done + 1)
    return max_rounds
