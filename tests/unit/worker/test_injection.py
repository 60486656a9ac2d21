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
        self.clock, self.step_s, self.taken = clock, step_s, 0

    def step(self):
        self.clock.now += self.step_s
        self.taken += 1

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
    assert (clock.now - begun) / 10 == pytest.approx(step_s * (1 + injected_pct / 100), rel=2e-3)
    assert trainer.taken == 10


def test_all_else_is_the_trainers_own():
    longer = Lengthened(Trainer(Clock(), 0.01), 3)
    assert (longer.parameters, longer.loss()) == (7, 0.5)
    with pytest.raises(AttributeError):
        longer.nothing  # noqa: B018
