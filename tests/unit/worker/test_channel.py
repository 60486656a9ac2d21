"""The worker's end of the channel: nothing that is printed breaks it, and no worker outlives its controller."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tare.worker import channel as module
from tare.worker.channel import EXIT_CHANNEL_CLOSED, Channel, ChannelClosed

SOURCE = Path(module.__file__).parents[2]


@pytest.fixture
def ends():
    """A channel and the controller's two descriptors."""
    to_worker, controller_writes = os.pipe()
    controller_reads, from_worker = os.pipe()
    made = Channel(to_worker, from_worker, exit_when_closed=False)
    ends = {
        "channel": made,
        "write": controller_writes,
        "read": controller_reads,
        "worker_writes": from_worker,
    }
    yield ends
    for name in ("write", "read", "worker_writes"):
        if ends[name] is not None:
            os.close(ends[name])


def close(ends, name):
    os.close(ends[name])
    ends[name] = None


def test_messages_come_in_order(ends):
    os.write(ends["write"], b'{"start": {"threads": 2}}\n{"turn": {"steps": 1}}\n')
    assert ends["channel"].receive() == ("start", {"threads": 2})
    assert ends["channel"].receive() == ("turn", {"steps": 1})


@pytest.mark.parametrize("line", [b"turn", b"[1]", b"{}", b'{"a": 1, "b": 2}', b"\xff"])
def test_what_is_no_message_is_an_error(ends, line):
    os.write(ends["write"], line + b"\n")
    with pytest.raises(ValueError):  # noqa: PT011 - the reason is for the log
        ends["channel"].receive()


def test_a_closed_channel_is_noticed_after_what_was_said(ends):
    os.write(ends["write"], b'{"stop": {}}\n')
    close(ends, "write")
    assert ends["channel"].receive() == ("stop", {})
    with pytest.raises(ChannelClosed):
        ends["channel"].receive()


def test_a_message_is_one_line_whatever_is_in_it(ends):
    ends["channel"].send("error", {"reason": "a\nb é"})
    line = os.read(ends["read"], 1000)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"error": {"reason": "a\nb é"}}


def test_a_message_longer_than_the_pipe_is_sent_whole(ends):
    text = "x" * 1_000_000
    got = []

    def read():
        while not got or not got[-1].endswith(b"\n"):
            got.append(os.read(ends["read"], 1 << 16))

    thread = threading.Thread(target=read)
    thread.start()
    ends["channel"].send("ready", {"text": text})
    thread.join(10)
    assert json.loads(b"".join(got)) == {"ready": {"text": text}}


def test_sending_to_nobody(ends):
    close(ends, "read")
    with pytest.raises(ChannelClosed):
        ends["channel"].send("turned", {})


# -- in a process of its own ------------------------------------------------------------------------------------------


@pytest.fixture
def worker(tmp_path):
    """Starts a process that has taken over its standard streams; its standard error goes to a log."""
    processes = []

    def start(code):
        prelude = "import os, sys, time\nfrom tare.worker import channel as module\nmodule._GRACE_S = 0.2\n"
        prelude += "channel = module.Channel.take_over_standard_streams()\n"
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", prelude + code],
                env={**os.environ, "PYTHONPATH": str(SOURCE)},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


PRINTING = """
import ctypes, subprocess
print("by Python")
os.write(1, b"by a descriptor\\n")
libc = ctypes.CDLL(None)
libc.printf(b"by C\\n")
libc.fflush(None)
subprocess.run(["echo", "by a child"])
sys.__stdout__.write("by the old name\\n")
channel.send("said", {"input": sys.stdin.read()})
"""


def test_whatever_is_printed_goes_to_the_log(worker, tmp_path):
    process = worker(PRINTING)
    out, _ = process.communicate(timeout=20)
    assert out == b'{"said": {"input": ""}}\n', "and whoever reads standard input gets nothing"
    log = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert sorted(log) == ["by C", "by Python", "by a child", "by a descriptor", "by the old name"]


def test_what_was_printed_before_a_crash_is_in_the_log(worker, tmp_path):
    process = worker("print('last words')\nos.kill(os.getpid(), 9)")
    process.communicate(timeout=20)
    assert (tmp_path / "log").read_text(encoding="utf-8") == "last words\n"


def test_a_worker_that_is_busy_exits_when_its_channel_closes(worker):
    process = worker("channel.send('hello', {})\nwhile True: time.sleep(60)")
    assert process.stdout.readline() == b'{"hello": {}}\n'
    process.stdin.close()
    assert process.wait(timeout=10) == EXIT_CHANNEL_CLOSED


def test_a_worker_that_computes_without_pause_exits_too(worker):
    process = worker("channel.send('hello', {})\nwhile True: pass")
    process.stdout.readline()
    began = time.monotonic()
    process.stdin.close()
    assert process.wait(timeout=10) == EXIT_CHANNEL_CLOSED
    assert time.monotonic() - began < 5


def test_the_grace_leaves_room_below_the_five_seconds_of_the_contract():
    assert 0 < module._GRACE_S <= 3


def test_children_do_not_hold_the_channel_open(worker):
    """A data loader that outlives its worker must not look like a worker that is still there."""
    process = worker(
        "import subprocess\nchild = subprocess.Popen(['sleep', '30'], close_fds=False)\n"
        "channel.send('child', {'pid': child.pid})\nchannel.receive()\nos._exit(0)"
    )
    child = json.loads(process.stdout.readline())["child"]["pid"]
    try:
        process.stdin.write(b'{"stop": {}}\n')
        process.stdin.flush()
        assert process.stdout.read() == b"", "the end was seen though the child lives"
        assert Path(f"/proc/{child}").exists()
    finally:
        os.kill(child, 9)
