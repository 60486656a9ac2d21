"""Steps made longer by a known share: an answer that is known beforehand, to check the whole instrument by."""

from __future__ import annotations

import time
from typing import Any


class Lengthened:
    """A trainer whose every step takes a known share longer, by real waiting; everything else is the trainer's own.

    The wait is spent on the CPU and not asleep: a process that sleeps comes back to cold caches and a slower clock,
    and the next step would be longer by more than was asked for. On several threads a wait of more than some tenths of
    a millisecond lets the framework's other threads fall asleep all the same; waking them costs the next step a little.

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
        end = begun + (clock() - begun) * self._factor
        while clock() < end:
            pass
