"""The worker's side of the conversation, with a framework that only counts."""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tare.measure.conversation import PROTOCOL as CONTROLLERS_PROTOCOL
from tare.measure.conversation import Conversation
from tare.platforms.lines import Lines
from tare.worker import __main__ as module
from tare.worker.__main__ import PROTOCOL, converse
from tare.worker.channel import EXIT_CHANNEL_CLOSED, Channel


class Trainer:
    parameters = 431_080

    def __init__(self, network, data, batch_size, seed, device):
        self.made_with = (network.name, len(data.train_x), batch_size, seed, device)
        self.steps = 0

    def step(self):
        self.steps += 1

    def loss(self):
        return float("nan") if self.steps > 100 else 1.0 / self.steps

    def evaluate(self):
        return 0.5, 0.75


@pytest.fixture
def framework(monkeypatch):
    """Stands in for torch."""
    made = SimpleNamespace(
        Trainer=Trainer,
        configured=[],
        configure=lambda threads, device: made.configured.append((threads, device)),
        software=lambda: {"torch": "2.13.0", "blas": "mkl"},
        thread_count=lambda: made.configured[-1][0],
    )
    monkeypatch.setattr(module.frameworks, "load", lambda name: made)
    return made


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "digits.npz"
    np.savez(
        path,
        train_x=np.zeros((20, 28, 28, 1), np.float32),
        train_y=np.arange(20, dtype=np.int64) % 10,
        test_x=np.zeros((5, 28, 28, 1), np.float32),
        test_y=np.zeros(5, np.int64),
    )
    return path


@pytest.fixture
def start(data):
    return {
        "framework": "torch",
        "network": "lenet",
        "batch_size": 16,
        "threads": 2,
        "device": "cpu",
        "seed": 10001,
        "data_path": str(data),
        "gc_off": False,
    }


def talk(*messages, close=True):
    """Says all this to a worker in this process: its answers and its exit status."""
    to_worker, controller_writes = os.pipe()
    controller_reads, from_worker = os.pipe()
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        os.write(controller_writes, line + b"\n")
    if close:
        os.close(controller_writes)
    status = converse(Channel(to_worker, from_worker, exit_when_closed=False), {"names": [], "markers": {}})
    if not close:
        os.close(controller_writes)
    os.close(from_worker)
    with os.fdopen(controller_reads, "rb") as answers:
        return [next(iter(json.loads(line).items())) for line in answers], status


def answers(said, name):
    return [content for said_name, content in said if said_name == name]


def test_a_whole_conversation(framework, start):
    messages = [
        {"start": start},
        {"warmup": {"steps": 3}},
        {"turn": {"steps": 4, "settle": 1}},
        {"turn": {"steps": 2, "settle": 0}},
        {"usage": {}},
        {"evaluate": {}},
        {"stop": {}},
    ]
    said, status = talk(*messages, close=False)
    assert status == 0
    assert [name for name, _ in said] == [
        *("hello", "phase", "phase", "phase", "ready", "warmed", "turned", "turned", "used", "evaluated"),
        "stopped",
    ]
    assert answers(said, "hello")[0]["protocol"] == PROTOCOL == CONTROLLERS_PROTOCOL
    assert [phase["name"] for phase in answers(said, "phase")] == [
        "framework_imported",
        "data_ready",
        "model_built",
    ]
    (ready,) = answers(said, "ready")
    assert (ready["parameters"], ready["test_items"], ready["classes"]) == (431_080, 5, 10)
    assert ready["software"]["blas"] == "mkl"
    assert ready["resources"]["framework_threads"] == 2
    assert ready["evidence"]["inherited"] == {"names": [], "markers": {}}
    first, second = answers(said, "turned")
    assert (len(first["settle_s"]), len(first["durations_s"])) == (1, 4)
    assert (len(second["settle_s"]), len(second["durations_s"])) == (0, 2)
    clock = [*first["cpu_s"], *second["cpu_s"], answers(said, "used")[0]["cpu_s"]]
    assert clock == sorted(clock)
    assert answers(said, "evaluated") == [
        {"training_loss": 0.1, "test_loss": 0.5, "test_accuracy": 0.75, "steps_trained": 10}
    ]
    assert framework.configured == [(2, "cpu")]


def test_the_controllers_side_understands_it(framework, start):
    """The two ends of the protocol are written apart: this holds them together."""
    said, _ = talk(
        {"start": start},
        {"warmup": {"steps": 3}},
        {"usage": {}},
        {"turn": {"steps": 4, "settle": 1}},
        {"usage": {}},
        {"evaluate": {}},
        {"stop": {}},
    )
    text = iter(["".join(json.dumps({name: content}) + "\n" for name, content in said).encode(), b""])
    phases = {}
    conversation = Conversation(
        Lines(lambda: next(text), lambda line: None, lambda: None), 5.0, phases.__setitem__
    )
    conversation.start(start)
    assert conversation.ready().classes == 10
    warmed = conversation.warm_up(3)
    assert len(warmed.durations_s) == 3
    assert [name for name in warmed.libraries if name.startswith("libc.so")]
    assert set(warmed.threads) == {"all", "working", "cpus"}
    before = conversation.usage()
    turn = conversation.turn(round_index=0, position=0, steps=4, settle=1)
    assert turn.steps == 4
    assert before.cpu_s <= turn.cpu_s[0] <= turn.cpu_s[1] <= conversation.usage().cpu_s
    assert conversation.evaluate(test_items=5, classes=10).steps_trained == 8
    conversation.stop()
    assert {"process_started", "framework_imported", "data_ready", "model_built", "warm"} <= set(phases)


def test_a_loss_that_ran_away_is_none_since_json_knows_no_nan(framework, start):
    said, _ = talk({"start": start}, {"warmup": {"steps": 101}}, {"evaluate": {}}, {"stop": {}})
    assert answers(said, "evaluated")[0]["training_loss"] is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"network": "lenet6"}, "KeyError 'lenet6'"),
        ({"data_path": "/nowhere/digits.npz"}, "/nowhere/digits.npz: there is no such file"),
    ],
)
def test_whatever_goes_wrong_is_one_sentence_and_status_1(framework, start, change, reason, capfd):
    said, status = talk({"start": start | change})
    assert status == 1
    assert said[-1][0] == "error"
    assert reason in said[-1][1]["reason"]
    assert "\n" not in said[-1][1]["reason"]
    assert "Traceback" in capfd.readouterr().err, "the details are for the log"


@pytest.mark.parametrize(
    "line", [b"gibberish", b"[]", {"dance": {}}, {"turn": {}}, {"turn": 3}, b"[" * 20_000]
)
def test_messages_that_make_no_sense(framework, start, line):
    said, status = talk({"start": start}, line)
    assert (status, said[-1][0]) == (1, "error")
    assert len(said[-1][1]["reason"]) > 10


def test_threads_that_the_framework_did_not_take_are_an_error(framework, start):
    framework.thread_count = lambda: 1
    said, status = talk({"start": start})
    assert status == 1
    assert said[-1][1]["reason"] == "torch uses 1 threads although 2 were asked for"


def test_threads_bound_to_fewer_cpus_than_given_are_an_error(framework, start, monkeypatch):
    monkeypatch.setattr(module.evidence, "resources", lambda: {"cpus": [0, 1, 2]})
    monkeypatch.setattr(module.evidence, "cpus_of", lambda tasks: [0, 1, 2] if len(tasks) == 1 else [0])
    monkeypatch.setattr(module.evidence, "worked", lambda before, after: [7, 8])
    said, status = talk({"start": start}, {"warmup": {"steps": 1}})
    assert status == 1
    assert "may use the CPUs [0] only, of [0, 1, 2]" in said[-1][1]["reason"]


def test_an_import_that_takes_cpus_away_is_an_error(framework, start, monkeypatch):
    monkeypatch.setattr(module.evidence, "resources", lambda: {"cpus": [0, 1, 2]})
    monkeypatch.setattr(module.evidence, "cpus_of", lambda tasks: [0])
    monkeypatch.delenv("OMP_PROC_BIND", raising=False)
    said, status = talk({"start": start}, {"warmup": {"steps": 1}})
    assert status == 1
    assert said[-1][1]["reason"] == "importing torch took CPUs away: of [0, 1, 2] [0] are left"


def test_an_error_of_a_step_is_told(framework, start):
    def step(trainer):
        raise MemoryError

    framework.Trainer = type("Trainer", (Trainer,), {"step": step})
    said, status = talk({"start": start}, {"warmup": {"steps": 1}})
    assert (status, said[-1]) == (1, ("error", {"reason": "MemoryError", "type": "MemoryError"}))


def test_a_controller_that_goes_ends_the_conversation(framework, start):
    assert talk({"start": start})[1] == EXIT_CHANNEL_CLOSED


def test_a_controller_that_went_before_the_error_could_be_told(framework, start):
    to_worker, controller_writes = os.pipe()
    controller_reads, from_worker = os.pipe()
    os.write(controller_writes, json.dumps({"start": start | {"network": "lenet6"}}).encode() + b"\n")
    channel = Channel(to_worker, from_worker, exit_when_closed=False)
    os.close(controller_writes)
    send = channel.send

    def sending(name, content):
        if name == "error":
            os.close(controller_reads)
        send(name, content)

    channel.send = sending
    assert converse(channel, {}) == 1
    os.close(from_worker)


@pytest.mark.parametrize(("off", "enabled"), [(True, False), (False, True)])
def test_the_garbage_collector_rests_only_where_it_is_told_to(framework, start, off, enabled):
    try:
        talk({"start": start | {"gc_off": off}}, {"warmup": {"steps": 1}}, {"stop": {}})
        assert gc.isenabled() is enabled
    finally:
        gc.enable()
        gc.unfreeze()


def test_as_a_process_of_its_own_it_ends_with_0_though_its_channel_stays_open():
    """The thread that listens must not hold up the end, nor break it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tare.worker", "--inherited", "{}"],
        env={**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[2])},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert json.loads(process.stdout.readline())["hello"]["protocol"] == PROTOCOL
        process.stdin.write(b'{"stop": {}}\n')
        process.stdin.flush()
        assert process.wait(timeout=10) == 0
        assert b"stopped" in process.stdout.read()
        assert process.stderr.read() == b""
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def test_the_worker_imports_no_framework_before_it_is_told_to():
    script = "import sys, tare.worker.__main__; print({'torch', 'tensorflow', 'pandas', 'pydantic'} & set(sys.modules))"
    variables = {**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
