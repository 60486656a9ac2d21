"""The controller's side of the worker's protocol (see `tare.worker.__main__`), every answer with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tare.measure.lockstep import RunFailed
from tare.platforms.lines import ChannelClosed, ChannelError, ChannelTimeout, Lines
from tare.records.schema import Turn

PROTOCOL = 1
_STAGES = {
    "hello": "start",
    "ready": "start",
    "warmed": "warm-up",
    "turned": "turn",
    "evaluated": "evaluate",
    "stopped": "stop",
}


class Conversation:
    """One worker, spoken to in turn.

    Args:
        lines: the channel.
        timeout_s: how long any one answer may take.
        on_phase: told of each phase that the worker reports while it starts, with its monotonic time.
    """

    def __init__(self, lines: Lines, timeout_s: float, on_phase: Callable[[str, float], None]) -> None:
        self._lines = lines
        self._timeout_s = timeout_s
        self._on_phase = on_phase

    def start(self, content: dict[str, Any]) -> None:
        """Send what the worker is to build; it goes to work while others are started."""
        self._send("start", content, "ready")

    def ready(self) -> dict[str, Any]:
        """Wait until the worker has built everything: parameters, software, resources, evidence."""
        hello = self._receive("hello")
        if hello.get("protocol") != PROTOCOL:
            raise RunFailed(f"the worker speaks protocol {hello.get('protocol')!r}, not {PROTOCOL}", "start")
        self._on_phase("process_started", float(hello["t"]))
        return self._receive("ready")

    def warm_up(self, steps: int) -> list[float]:
        """Untimed steps; returns their durations in seconds."""
        answer = self._ask("warmup", {"steps": steps}, "warmed")
        self._on_phase("first_step_done", float(answer["first_step_t"]))
        self._on_phase("warm", float(answer["t"]))
        return [float(s) for s in answer["durations_s"]]

    def turn(self, *, round_index: int, position: int, steps: int, settle: int) -> Turn:
        """One turn; an answer with another number of steps than was asked for is a failure, never a measurement."""
        answer = self._ask("turn", {"steps": steps, "settle": settle}, "turned")
        try:
            turn = Turn(round=round_index, position=position, steps=steps, **answer)
        except (TypeError, ValueError) as error:
            said = str(error).splitlines()[0]
            raise RunFailed(f"the worker's answer to a turn of {steps} steps is wrong: {said}", "turn") from None
        if len(turn.settle_s) != settle:
            raise RunFailed(f"the worker took {len(turn.settle_s)} settling steps, not {settle}", "turn")
        return turn

    def evaluate(self) -> dict[str, Any]:
        """Losses and accuracy."""
        return self._ask("evaluate", {}, "evaluated")

    def stop(self) -> None:
        """Tell the worker to end, and wait for its word."""
        self._ask("stop", {}, "stopped")
        self._lines.end_input()

    def _ask(self, name: str, content: dict[str, Any], answer: str) -> dict[str, Any]:
        self._send(name, content, answer)
        return self._receive(answer)

    def _send(self, name: str, content: dict[str, Any], answer: str) -> None:
        try:
            self._lines.send(name, content)
        except ChannelClosed:
            # Its last words, if there are any, say more than that it is gone.
            self._receive(answer)

    def _receive(self, wanted: str) -> dict[str, Any]:
        stage = _STAGES[wanted]
        deadline = time.monotonic() + self._timeout_s
        while True:
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
                raise RunFailed(str(content.get("reason", "the worker failed")), stage)
            if name == wanted:
                return content
            if name == "phase":
                self._on_phase(str(content["name"]), float(content["t"]))
            else:
                raise RunFailed(f"the worker said {name!r} where {wanted!r} was due", stage)
