"""Steps made longer by a known share."""

import pytest

from tare.worker import injection
from tare.worker.injection import Lengthened


class Clock:
    def __init__(self):
        self.now = 5.0

    def __call__(self):
        self.now += 1e-6
        return self.now


class Trainer:
    parameters = 7

    def __init__(self, clock, step_s):
        self.clock, self.step_s, self.taken, self.kept_busy = clock, step_s, 0, 0

    def step(self):
        self.clock.now += self.step_s
        self.taken += 1

    def keep_busy(self):
        self.clock.now += 2e-6 if self.kept_busy % 3 else 9e-6
        self.kept_busy += 1

    def loss(self):
        return 0.5


@pytest.mark.parametrize("injected_pct", [0.5, 3, 10, 250])
@pytest.mark.parametrize("step_s", [0.002, 0.3])
def test_a_step_takes_its_share_longer(monkeypatch, injected_pct, step_s):
    clock = Clock()
    monkeypatch.setattr(injection.time, "perf_counter", clock)
    trainer = Trainer(clock, step_s)
    longer = Lengthened(trainer, injected_pct)
    begun = clock.now
    for _ in range(10):
        longer.step()
    beyond_s = (clock.now - begun) / 10 - step_s * (1 + injected_pct / 100)
    assert 0 <= beyond_s < 9e-6 + 4e-6  # at most one piece of work and the readings of the clock
    assert trainer.taken == 10
    # the threads are at work for nearly all of the wait: asleep, they would make the next step longer
    waited_s = 10 * step_s * injected_pct / 100
    assert trainer.kept_busy * 6e-6 > 0.3 * waited_s


def test_all_else_is_the_trainers_own():
    longer = Lengthened(Trainer(Clock(), 0.01), 3)
    assert (longer.parameters, longer.loss()) == (7, 0.5)
    with pytest.raises(AttributeError):
        longer.nothing  # noqa: B018
