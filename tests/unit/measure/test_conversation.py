"""What the controller makes of a worker's answers, right ones and wrong ones."""

import json

import pytest

from tare.measure.conversation import PROTOCOL, Conversation
from tare.measure.lockstep import RunFailed
from tests.unit.simulated import Clock, SimulatedLines

HELLO = {"hello": {"protocol": PROTOCOL, "python": "3.11.0", "t": 1.0}}
READY = {
    "ready": {
        "parameters": 431080,
        "software": {"torch": "2.13.0"},
        "resources": {"cpus": [0, 1]},
        "evidence": {"kernel": "6.1"},
        "test_items": 359,
        "classes": 10,
    }
}
TURNED = {"turned": {"settle_s": [0.02], "durations_s": [0.01, 0.01], "started_t": 5.0}}
EVALUATED = {"evaluated": {"training_loss": 0.2, "test_loss": 0.3, "test_accuracy": 0.9, "steps_trained": 7}}


@pytest.fixture
def phases():
    return {}


@pytest.fixture
def lines():
    return SimulatedLines(Clock())


@pytest.fixture
def conversation(lines, phases):
    return Conversation(lines, 30.0, phases.__setitem__)


def take_turn(conversation, steps=2, settle=1):
    return conversation.turn(round_index=3, position=1, steps=steps, settle=settle)


def changed(message, **values):
    """The message with some of its values replaced; None takes a key away."""
    ((name, content),) = message.items()
    return {name: {key: value for key, value in {**content, **values}.items() if value is not None}}


def test_a_start_gives_what_was_built_and_the_phases(conversation, lines, phases):
    lines.put(HELLO, {"phase": {"name": "framework_imported", "t": 2.5}}, READY)
    conversation.start({"framework": "torch"})
    ready = conversation.ready()
    assert lines.sent == [("start", {"framework": "torch"})]
    assert (ready.software, ready.test_items, ready.classes) == ({"torch": "2.13.0"}, 359, 10)
    assert phases == {"process_started": 1.0, "framework_imported": 2.5}


def test_a_turn_asks_for_the_settling_step_and_carries_its_place(conversation, lines):
    lines.put(TURNED)
    turn = take_turn(conversation)
    assert lines.sent == [("turn", {"steps": 2, "settle": 1})]
    assert (turn.round, turn.position, turn.steps, turn.settle_s) == (3, 1, 2, [0.02])


def test_warm_up_gives_the_durations_and_two_phases(conversation, lines, phases):
    lines.put(
        {"warmed": {"durations_s": [0.5, 0.01], "first_step_t": 7.0, "t": 7.5, "waits_t": 7.6, "cpu_s": 3.0}}
    )
    assert conversation.warm_up(2).durations_s == [0.5, 0.01]
    assert phases == {"first_step_done": 7.0, "warm": 7.5}


def test_the_cpu_clock_of_a_turn_is_kept(conversation, lines):
    lines.put({"turned": {**TURNED["turned"], "cpu_s": [1.0, 1.5]}})
    assert take_turn(conversation).cpu_s == [1.0, 1.5]


def test_what_a_worker_used(conversation, lines):
    used = {
        "t": 1.0, "cpu_s": 2.5, "cpu_wait_s": None, "involuntary_switches": 3, "voluntary_switches": 4,
        "major_faults": 5, "throttling": {"/a": [10, 4, 0.5]},
    }  # fmt: skip
    lines.put({"used": used}, {"used": {**used, "cpu_s": "much"}})
    assert conversation.usage().throttling == {"/a": (10, 4, 0.5)}
    with pytest.raises(RunFailed, match=r"'used' is wrong: cpu_s") as caught:
        conversation.usage()
    assert caught.value.stage == "turn"


def test_evaluating_gives_metrics_with_what_is_known_of_the_data(conversation, lines):
    lines.put(EVALUATED)
    metrics = conversation.evaluate(test_items=359, classes=10)
    assert (metrics.test_accuracy, metrics.steps_trained, metrics.test_items) == (0.9, 7, 359)


def test_a_loss_that_ran_away_is_missing_not_wrong(conversation, lines):
    lines.put({"evaluated": {**EVALUATED["evaluated"], "training_loss": None, "test_loss": None}})
    assert conversation.evaluate(test_items=1, classes=2).training_loss is None


def test_stopping_closes_the_way_to_the_worker(conversation, lines):
    lines.put({"stopped": {"t": 9.0}})
    conversation.stop()
    assert lines.input_ended


def test_an_error_of_the_worker_is_the_reason_word_for_word(conversation, lines):
    lines.put({"error": {"reason": "there is no network 'lenet6'", "type": "KeyError"}})
    with pytest.raises(RunFailed, match="there is no network 'lenet6'") as caught:
        take_turn(conversation)
    assert (caught.value.stage, caught.value.timed_out) == ("turn", False)


def test_a_reason_of_megabytes_is_cut(conversation, lines):
    lines.put({"error": {"reason": "x" * 3_000_000}})
    with pytest.raises(RunFailed) as caught:
        take_turn(conversation)
    assert len(caught.value.reason) <= 500


@pytest.mark.parametrize(
    "line",
    [
        b"Epoch 1/10 loss=0.3",
        b"",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b"17",
        b'{"turned": {}, "more": {}}',
        b'{"turned": [1]}',
        b"{}",
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_message_is_named(conversation, lines, line):
    lines.put(line)
    with pytest.raises(RunFailed, match=r"no message|no content") as caught:
        take_turn(conversation)
    assert len(caught.value.reason) < 400


@pytest.mark.parametrize(
    "wrong",
    [
        changed(TURNED, durations_s=[0.01]),
        changed(TURNED, durations_s=[0.01, 0.01, 0.01]),
        changed(TURNED, durations_s=[0.01, 0.0]),
        changed(TURNED, durations_s=[0.01, -0.01]),
        changed(TURNED, durations_s=[0.01, float("nan")]),
        changed(TURNED, durations_s=[0.01, "fast"]),
        changed(TURNED, durations_s=[]),
        changed(TURNED, durations_s=None),
        changed(TURNED, started_t=None),
        changed(TURNED, settle_s=[]),
        changed(TURNED, settle_s=[0.1, 0.1]),
        changed(TURNED, speed=3),
        {"turned": {}},
    ],
    ids=json.dumps,
)
def test_an_answer_to_a_turn_with_other_steps_is_no_measurement(conversation, lines, wrong):
    lines.put(wrong)
    with pytest.raises(RunFailed, match=r"wrong|settling steps") as caught:
        take_turn(conversation)
    assert caught.value.stage == "turn"
    assert "\n" not in caught.value.reason


@pytest.mark.parametrize(
    ("ask", "stage", "answers"),
    [
        ("ready", "start", [changed(HELLO, t=None)]),
        ("ready", "start", [HELLO, changed(READY, software=None)]),
        ("ready", "start", [HELLO, changed(READY, software={"torch": 2})]),
        ("ready", "start", [HELLO, changed(READY, evidence="none")]),
        ("ready", "start", [HELLO, {"phase": {"name": "x"}}]),
        (
            "warm_up",
            "warm-up",
            [{"warmed": {"durations_s": [], "first_step_t": None, "t": 1.0, "waits_t": 1.0, "cpu_s": 1.0}}],
        ),
        (
            "warm_up",
            "warm-up",
            [{"warmed": {"durations_s": [0.1], "first_step_t": 1.0, "t": 1.0, "waits_t": 1.0, "cpu_s": 1.0}}],
        ),
        (
            "warm_up",
            "warm-up",
            [
                {
                    "warmed": {
                        "durations_s": [0.1, -1],
                        "first_step_t": 1.0,
                        "t": 1.0,
                        "waits_t": 1.0,
                        "cpu_s": 1.0,
                    }
                }
            ],
        ),
        ("evaluate", "evaluate", [changed(EVALUATED, test_accuracy=1.5)]),
        ("evaluate", "evaluate", [changed(EVALUATED, steps_trained=None)]),
    ],
)
def test_any_other_answer_that_makes_no_sense_fails_the_run_only(conversation, lines, ask, stage, answers):
    lines.put(*answers)
    arguments = {"warm_up": {"steps": 2}, "evaluate": {"test_items": 1, "classes": 2}}.get(ask, {})
    with pytest.raises(RunFailed, match="wrong") as caught:
        getattr(conversation, ask)(**arguments)
    assert caught.value.stage == stage


def test_another_protocol_is_refused(conversation, lines):
    lines.put(changed(HELLO, protocol=2))
    with pytest.raises(RunFailed, match="the worker speaks protocol 2, not 1"):
        conversation.ready()


def test_another_message_than_the_one_that_is_due(conversation, lines):
    lines.put({"warmed": {}})
    with pytest.raises(RunFailed, match="said 'warmed' where 'turned' was due"):
        take_turn(conversation)


def test_no_answer_is_a_timeout_that_names_the_setting(conversation, lines):
    with pytest.raises(RunFailed, match=r"no answer within 30 s \(timeout_s\)") as caught:
        take_turn(conversation)
    assert caught.value.timed_out
    assert lines.timeouts_s[0] == pytest.approx(30, abs=1)


def test_phases_do_not_prolong_the_deadline(conversation, lines, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("tare.measure.conversation.time.monotonic", clock)
    lines.put(HELLO, *({"phase": {"name": str(n), "t": 1.0}} for n in range(3)))
    receive = lines.receive
    monkeypatch.setattr(lines, "receive", lambda left: (clock.advance(8), receive(left))[1])
    with pytest.raises(RunFailed):
        conversation.ready()
    assert lines.timeouts_s == [30, 30, 22, 14, 6]


def test_a_worker_that_ends_without_a_word(conversation, lines):
    lines.end()
    with pytest.raises(RunFailed, match="ended without a word") as caught:
        take_turn(conversation)
    assert not caught.value.timed_out


@pytest.mark.parametrize("before", [[], [HELLO], [HELLO, {"phase": {"name": "x", "t": 1.0}}]])
def test_last_words_are_heard_when_the_channel_is_closed_already(conversation, lines, before):
    lines.put(*before, {"error": {"reason": "numpy is missing"}})
    lines.end()
    with pytest.raises(RunFailed, match="numpy is missing") as caught:
        conversation.start({})
    assert caught.value.stage == "start"


def test_no_last_words_are_no_other_message_either(conversation, lines):
    lines.put(HELLO)
    lines.end()
    with pytest.raises(RunFailed, match="ended without a word"):
        conversation.start({})
