"""The controller's side of the worker's protocol (see `tare.worker.__main__`), every answer with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tare.measure.lockstep import RunFailed
from tare.platforms.lines import ChannelClosed, ChannelError, ChannelTimeout, Lines
from tare.records.schema import Metrics, Turn

PROTOCOL = 1
_STAGES = {
    "hello": "start",
    "ready": "start",
    "warmed": "warm-up",
    "turned": "turn",
    "used": "turn",
    "evaluated": "evaluate",
    "stopped": "stop",
}
_LONGEST_REASON = 500


class _Answer(BaseModel):
    """What must be in an answer; more may be."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class Phase(_Answer):
    """A phase of the worker's start has ended."""

    name: str
    t: float


class Hello(_Answer):
    """The worker's first words."""

    protocol: Any = None
    t: float


class Ready(_Answer):
    """Everything is built.

    Attributes:
        software: versions and build strings.
        resources: what the worker may use of the machine.
        evidence: `tare.worker.evidence.collect()`.
        test_items: size of the held-out part of the data.
        classes: number of classes in the data.
    """

    software: dict[str, str]
    resources: dict[str, Any]
    evidence: dict[str, Any]
    test_items: int
    classes: int


class Warmed(_Answer):
    """The untimed steps, with their durations in seconds.

    Attributes:
        libraries: `tare.worker.libraries.loaded()`, when they were done.
        threads: `tare.worker.evidence.working_threads()` of them.
        waits_t, cpu_s: monotonic clock and CPU time when all that was done.
    """

    durations_s: list[float]
    first_step_t: float
    t: float
    libraries: dict[str, str] = Field(default_factory=dict)
    threads: dict[str, Any] = Field(default_factory=dict)
    waits_t: float
    cpu_s: float


class Used(_Answer):
    """Counters of the worker's process since its start.

    Attributes:
        t: monotonic clock.
        cpu_s: CPU time.
        cpu_wait_s: time that its threads were ready to run and had no CPU; None where there is no such account.
        throttling: of each control group around it: periods, throttled periods, seconds throttled.
    """

    t: float
    cpu_s: float
    cpu_wait_s: float | None
    involuntary_switches: int
    voluntary_switches: int
    major_faults: int
    throttling: dict[str, tuple[int, int, float]]


class _Evaluated(_Answer):
    training_loss: float | None
    test_loss: float | None
    test_accuracy: float | None = Field(ge=0, le=1)
    steps_trained: int = Field(ge=0)


A = TypeVar("A", bound=BaseModel)


class Conversation:
    """One worker, spoken to in turn.

    Args:
        lines: the channel.
        timeout_s: how long any one answer may take.
        on_phase: told of each phase that the worker reports while it starts, with its monotonic time.

    Each method raises RunFailed where the worker fails, gives no answer in time, or one that makes no sense.
    """

    def __init__(self, lines: Lines, timeout_s: float, on_phase: Callable[[str, float], None]) -> None:
        self._lines = lines
        self._timeout_s = timeout_s
        self._on_phase = on_phase

    def start(self, content: dict[str, Any]) -> None:
        """Send what the worker is to build; it goes to work while others are started."""
        self._send("start", content, "start")

    def ready(self) -> Ready:
        """Wait until the worker has built everything: parameters, software, resources, evidence."""
        hello = _checked(Hello, self._receive("hello"), "hello", "start")
        if hello.protocol != PROTOCOL:
            raise RunFailed(f"the worker speaks protocol {hello.protocol!r}, not {PROTOCOL}", "start")
        self._on_phase("process_started", hello.t)
        return _checked(Ready, self._receive("ready"), "ready", "start")

    def warm_up(self, steps: int) -> Warmed:
        """Untimed steps."""
        warmed = _checked(Warmed, self._ask("warmup", {"steps": steps}, "warmed"), "warmed", "warm-up")
        if len(warmed.durations_s) != steps or min(warmed.durations_s) <= 0:
            raise RunFailed(
                f"the worker's answer to {steps} warm-up steps is wrong: {warmed.durations_s}", "warm-up"
            )
        self._on_phase("first_step_done", warmed.first_step_t)
        self._on_phase("warm", warmed.t)
        return warmed

    def turn(self, *, round_index: int, position: int, steps: int, settle: int) -> Turn:
        """One turn; an answer with another number of steps than was asked for is a failure, never a measurement."""
        answer = self._ask("turn", {"steps": steps, "settle": settle}, "turned")
        asked = {"round": round_index, "position": position, "steps": steps}
        turn = _checked(Turn, {**answer, **asked}, "turned", "turn")
        if len(turn.settle_s) != settle:
            raise RunFailed(f"the worker took {len(turn.settle_s)} settling steps, not {settle}", "turn")
        return turn

    def usage(self) -> Used:
        """What the worker's process has used so far."""
        return _checked(Used, self._ask("usage", {}, "used"), "used", "turn")

    def evaluate(self, *, test_items: int, classes: int) -> Metrics:
        """Losses and accuracy on the held-out part, whose size and classes are known already."""
        answer = _checked(_Evaluated, self._ask("evaluate", {}, "evaluated"), "evaluated", "evaluate")
        return Metrics(**answer.model_dump(), test_items=test_items, classes=classes)

    def stop(self) -> None:
        """Tell the worker to end, and wait for its word."""
        self._ask("stop", {}, "stopped")
        self._lines.end_input()

    def _ask(self, name: str, content: dict[str, Any], answer: str) -> dict[str, Any]:
        self._send(name, content, _STAGES[answer])
        return self._receive(answer)

    def _send(self, name: str, content: dict[str, Any], stage: str) -> None:
        try:
            self._lines.send(name, content)
        except ChannelClosed:
            # Its last words, if there are any, say more than that it is gone.
            while True:
                self._next(stage, time.monotonic() + self._timeout_s)

    def _receive(self, wanted: str) -> dict[str, Any]:
        stage = _STAGES[wanted]
        deadline = time.monotonic() + self._timeout_s
        while True:
            name, content = self._next(stage, deadline)
            if name == wanted:
                return content
            if name != "phase":
                raise RunFailed(f"the worker said {name[:100]!r} where {wanted!r} was due", stage)
            phase = _checked(Phase, content, "phase", stage)
            self._on_phase(phase.name, phase.t)

    def _next(self, stage: str, deadline: float) -> tuple[str, dict[str, Any]]:
        """The next message that is no error."""
        try:
            name, content = self._lines.receive(deadline - time.monotonic())
        except ChannelTimeout:
            raise RunFailed(
                f"the worker gave no answer within {self._timeout_s:g} s (timeout_s)", stage, timed_out=True
            ) from None
        except ChannelClosed:
            raise RunFailed("the worker ended without a word", stage) from None
        except ChannelError as error:
            raise RunFailed(str(error), stage) from None
        if name == "error":
            raise RunFailed(str(content.get("reason") or "the worker failed")[:_LONGEST_REASON], stage)
        return name, content


def _checked(model: type[A], content: dict[str, Any], name: str, stage: str) -> A:
    """An answer that is as it must be."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        said = f"{where}: {message}" if where else message
        raise RunFailed(f"the worker's answer {name!r} is wrong: {said}", stage) from None
