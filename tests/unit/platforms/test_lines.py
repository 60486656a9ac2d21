"""The channel over real pipes: whole lines with deadlines, however the bytes come."""

import json
import os
import threading

import pytest

from tare.platforms import lines as module
from tare.platforms.lines import MAX_LINE_BYTES, ChannelClosed, ChannelError, ChannelTimeout, Lines


class Pipe:
    """A `Lines` with the worker's ends of its two pipes."""

    def __init__(self):
        self._reading, self.say_to = os.pipe()
        self.hear_from, self._writing = os.pipe()
        self.closed = threading.Event()
        self.lines = Lines(
            lambda: os.read(self._reading, 1 << 16),
            lambda data: os.write(self._writing, data) and None,
            lambda: os.close(self._writing),
            self._close,
        )

    def _close(self):
        os.close(self._reading)
        self.closed.set()

    def say(self, data):
        while data:
            data = data[os.write(self.say_to, data) :]

    def end(self):
        os.close(self.say_to)
        self.say_to = None


@pytest.fixture
def pipe():
    made = Pipe()
    yield made
    if made.say_to is not None:
        made.end()
    assert made.lines.wait_closed(5)
    os.close(made.hear_from)
    try:
        os.close(made._writing)
    except OSError:
        pass


def test_messages_are_one_line_of_json_each(pipe):
    pipe.lines.send("turn", {"steps": 4, "text": "a\nb é"})
    line = os.read(pipe.hear_from, 1000)
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"turn": {"steps": 4, "text": "a\nb é"}}


def test_lines_that_come_in_pieces_and_together(pipe):
    for piece in (b'{"a": {"x"', b": 1}}\n", b'{"b": {}}\n{"c": {}}\n{"d"', b": {}}\n"):
        pipe.say(piece)
    assert [pipe.lines.receive(5) for _ in range(4)] == [("a", {"x": 1}), ("b", {}), ("c", {}), ("d", {})]


def test_nothing_in_time(pipe):
    with pytest.raises(ChannelTimeout, match="no answer within 0 s"):
        pipe.lines.receive(0.01)
    with pytest.raises(ChannelTimeout):
        pipe.lines.receive(-5.0)
    pipe.say(b'{"late": {}}\n')
    assert pipe.lines.receive(5) == ("late", {}), "what comes late is still there"


def test_what_was_said_before_the_end_is_heard_and_the_end_stays(pipe):
    pipe.say(b'{"last": {}}\n{"half')
    pipe.end()
    assert pipe.lines.receive(5) == ("last", {})
    for _ in range(2):
        with pytest.raises(ChannelClosed):
            pipe.lines.receive(5)


def test_the_reading_end_is_closed_when_the_worker_ends(pipe):
    pipe.end()
    assert pipe.closed.wait(5)


@pytest.mark.parametrize(
    "line", [b"hello", b"\xff\xfe", b"[]", b"3", b"null", b"{}", b'{"a":{},"b":{}}', b"", b"[" * 50_000]
)
def test_a_line_that_is_no_message(pipe, line):
    pipe.say(line + b'\n{"next": {}}\n')
    with pytest.raises(ChannelError, match="no message") as caught:
        pipe.lines.receive(5)
    assert len(str(caught.value)) < 1000
    assert pipe.lines.receive(5) == ("next", {})


def test_a_message_without_content(pipe):
    pipe.say(b'{"turned": 3}\n')
    with pytest.raises(ChannelError, match="'turned' has no content"):
        pipe.lines.receive(5)


def test_megabytes_without_a_newline_end_the_channel(pipe):
    def flood():
        try:
            pipe.say(b"x" * (MAX_LINE_BYTES + (1 << 20)))
        except BrokenPipeError:
            pass  # so a worker gone wild is noticed by itself too

    thread = threading.Thread(target=flood)
    thread.start()
    with pytest.raises(ChannelError, match="a line of more than 4 MiB"):
        pipe.lines.receive(20)
    thread.join(5)
    assert not thread.is_alive(), "it must not be left writing into a full pipe"


def test_a_long_line_within_the_limit_is_fine(pipe):
    text = "x" * (MAX_LINE_BYTES - 100)
    thread = threading.Thread(target=pipe.say, args=(json.dumps({"a": {"text": text}}).encode() + b"\n",))
    thread.start()
    assert pipe.lines.receive(20) == ("a", {"text": text})
    thread.join(5)


def test_a_flood_of_lines_that_nobody_asked_for_ends_the_channel(pipe, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAITING_LINES", 10)

    def flood():
        try:
            while True:
                pipe.say(b'{"a": {}}\n' * 100)
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=flood)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()

    def receive_all():
        while True:
            pipe.lines.receive(5)

    with pytest.raises(ChannelError, match="lines unasked"):
        receive_all()


def test_sending_to_a_worker_that_is_gone(pipe):
    os.close(pipe.hear_from)
    with pytest.raises(ChannelClosed):
        pipe.lines.send("turn", {})
    pipe.hear_from = os.open(os.devnull, os.O_RDONLY)


def test_after_the_input_was_ended_nothing_can_be_sent(pipe):
    pipe.lines.end_input()
    assert os.read(pipe.hear_from, 10) == b""
    pipe.lines.end_input()  # twice is no error
    with pytest.raises(ChannelClosed):
        pipe.lines.send("turn", {})


def test_an_error_in_reading_is_the_end_of_the_channel():
    def read():
        raise RuntimeError("the SDK has a bug")

    with pytest.raises(ChannelClosed):
        Lines(read, lambda data: None, lambda: None).receive(5)
