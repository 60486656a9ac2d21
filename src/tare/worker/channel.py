"""The worker's end of the channel: one JSON object a line, in on standard input, out on standard output.

Frameworks and libraries print to standard output as they like, so the channel takes the two descriptors for itself
first and points descriptor 1 at standard error, which goes to the run's log.
"""

from __future__ import annotations

import io
import json
import os
import queue
import sys
import threading
import time
from typing import Any

EXIT_CHANNEL_CLOSED = 3
_GRACE_S = 2.0


class ChannelClosed(Exception):
    """The controller has gone."""


class Channel:
    """A duplex channel of JSON lines over two file descriptors."""

    def __init__(self, reading: int, writing: int, exit_when_closed: bool = True) -> None:
        self._reading = os.fdopen(reading, "rb")
        self._writing = writing
        self._exit_when_closed = exit_when_closed
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="tare-channel", daemon=True).start()

    @classmethod
    def take_over_standard_streams(cls) -> Channel:
        """Keep descriptors 0 and 1 for the channel; whoever reads or prints from now on gets nothing and the log."""
        reading, writing = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        # a file is buffered in blocks otherwise, and what was printed before a crash would be lost
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)
        return cls(reading, writing)

    def _read(self) -> None:
        # Blocked in read() for the whole of a turn: costs the timed steps nothing. It is a thread of its own so that a
        # closed channel is noticed in the middle of a step: a worker whose controller was killed must not train on.
        try:
            for line in self._reading:
                self._lines.put(line)
        except OSError:
            pass  # a broken channel is a closed one
        self._lines.put(None)
        if self._exit_when_closed:
            time.sleep(_GRACE_S)
            os._exit(EXIT_CHANNEL_CLOSED)

    def receive(self) -> tuple[str, dict[str, Any]]:
        """The next message as (name, content).

        Raises:
            ChannelClosed: the other end was closed.
            ValueError: the line is not an object with one key.
        """
        line = self._lines.get()
        if line is None:
            raise ChannelClosed
        message = json.loads(line)
        if not isinstance(message, dict) or len(message) != 1:
            raise ValueError("a message has one key, its name: " + line.decode("utf-8", "replace")[:200])
        return next(iter(message.items()))

    def send(self, name: str, content: dict[str, Any]) -> None:
        """Send one message, whole.

        Raises:
            ChannelClosed: the other end was closed.
        """
        line = (json.dumps({name: content}, allow_nan=True) + "\n").encode()
        try:
            while line:
                line = line[os.write(self._writing, line) :]
        except OSError as error:
            raise ChannelClosed from error
