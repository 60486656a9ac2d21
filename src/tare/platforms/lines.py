"""The controller's end of a worker's channel: JSON lines with deadlines, whatever carries the bytes."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from typing import Any

# A reply of the worker is a few kilobytes; a line beyond this is no reply but a program gone wild.
MAX_LINE_BYTES = 4 << 20
# A worker sends a handful of lines unasked while it starts; so many that nobody took are a program gone wild too.
MAX_WAITING_LINES = 1000


class ChannelError(RuntimeError):
    """The channel is of no more use; the message says why in one sentence."""


class ChannelClosed(ChannelError):
    """The worker's end was closed."""


class ChannelTimeout(ChannelError):
    """No reply came in time."""


class Lines:
    """A duplex channel of lines.

    Args:
        read: returns the next bytes as they come, b"" at the end; blocking.
        write: takes all bytes given; OSError when the other end is gone.
        end_input: tells the worker that nothing more will come.
        close: called once, when nothing more is read: closes what `read` reads from. It is called by the thread that
            reads, since closing a descriptor under a reader lets it read from whatever is opened next.
    """

    def __init__(
        self,
        read: Callable[[], bytes],
        write: Callable[[bytes], None],
        end_input: Callable[[], None],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._read = read
        self._write = write
        self._end_input = end_input
        self._close = close
        self._lines: queue.Queue[bytes | ChannelError] = queue.Queue()
        self._broken: ChannelError | None = None
        # A thread of its own, so that a worker that prints while nobody listens never blocks on a full pipe. During
        # a turn it sleeps in read().
        self._thread = threading.Thread(target=self._pump, name="tare-lines", daemon=True)
        self._thread.start()

    def _pump(self) -> None:
        rest = b""
        end: ChannelError = ChannelClosed("the worker closed its channel")
        try:
            while data := self._read():
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._lines.put(line)
                if len(rest) > MAX_LINE_BYTES:
                    end = ChannelError(f"the worker sent a line of more than {MAX_LINE_BYTES >> 20} MiB")
                    break
                if self._lines.qsize() > MAX_WAITING_LINES:
                    end = ChannelError(f"the worker sent more than {MAX_WAITING_LINES} lines unasked")
                    break
        except Exception:
            pass  # however reading fails, the channel has ended
        finally:
            self._lines.put(end)
            try:
                self._close()
            except OSError:
                pass

    def send(self, name: str, content: dict[str, Any]) -> None:
        """Send one message.

        Raises:
            ChannelClosed: the worker is gone.
        """
        try:
            self._write((json.dumps({name: content}) + "\n").encode())
        except (OSError, ValueError) as error:
            raise ChannelClosed("the worker closed its channel") from error

    def receive(self, timeout_s: float) -> tuple[str, dict[str, Any]]:
        """The next message as (name, content).

        Raises:
            ChannelTimeout: nothing came within `timeout_s`.
            ChannelClosed: the worker is gone.
            ChannelError: what came is no message.
        """
        if self._broken is not None:
            raise self._broken
        try:
            line = self._lines.get(timeout=max(timeout_s, 0.0))
        except queue.Empty:
            raise ChannelTimeout(f"no answer within {timeout_s:.0f} s") from None
        if isinstance(line, ChannelError):
            self._broken = line
            raise line
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict) or len(message) != 1:
            shown = line[:200].decode("utf-8", "replace")
            raise ChannelError(f"the worker sent something that is no message: {shown!r}")
        name, content = next(iter(message.items()))
        if not isinstance(content, dict):
            raise ChannelError(f"the worker's message {name[:200]!r} has no content")
        return name, content

    def end_input(self) -> None:
        """Close the direction to the worker; the worker then exits by itself."""
        try:
            self._end_input()
        except (OSError, ValueError):
            pass

    def wait_closed(self, timeout_s: float) -> bool:
        """Whether the worker's end is closed and all that it sent has been read, within the time."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()
