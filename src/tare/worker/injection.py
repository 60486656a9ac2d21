"""Steps made longer by a known share: an answer that is known beforehand, to check the whole instrument by."""

from __future__ import annotations

import time
from typing import Any


class Lengthened:
    """A trainer whose every step takes a known share longer, by real waiting; everything else is the trainer's own.

    The wait is spent at work and not asleep, and by all of the framework's threads: where they fall asleep during the
    wait, waking them makes the next step longer by more than was asked for (10 % came out as 11.4 % so, with LeNet on 2
    threads).

    Args:
        trainer: see `tare.worker.frameworks.Trainer`.
        injected_pct: how much longer each step takes, percent of its own duration: 3 makes 10 ms 10.3 ms.
    """

    def __init__(self, trainer: Any, injected_pct: float) -> None:
        self._trainer = trainer
        self._factor = 1 + injected_pct / 100

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trainer, name)

    def step(self) -> None:
        """One step of the trainer, and the wait."""
        clock = time.perf_counter
        begun = clock()
        self._trainer.step()
        now = clock()
        end, longest_s = begun + (now - begun) * self._factor, 0.0
        while now + longest_s < end:
            self._trainer.keep_busy()
            before, now = now, clock()
            longest_s = max(longest_s, now - before)
        while clock() < end:
            pass
