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
        self._piece_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trainer, name)

    def step(self) -> None:
        """One step of the trainer, and the wait."""
        clock = time.perf_counter
        begun = clock()
        self._trainer.step()
        now = clock()
        end = begun + (now - begun) * self._factor
        # as long as there is time for another piece of the usual length
        while now + self._piece_s < end:
            self._trainer.keep_busy()
            before, now = now, clock()
            piece_s = now - before
            # one that was interrupted counts for little, or no piece would ever seem to fit again
            self._piece_s += (min(piece_s, 2 * self._piece_s or piece_s) - self._piece_s) / 8
        while clock() < end:
            pass
