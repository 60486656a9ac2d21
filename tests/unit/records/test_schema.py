"""The record's schema: what is written is read again as it was, and what makes no sense is refused."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tare.records.schema import SCHEMA_VERSION, Failure, Record, Turn
from tests.unit.factory import record, turn

seconds = st.floats(1e-9, 1e6)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_.", min_size=1, max_size=12)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def turns(draw):
    durations_s = draw(st.lists(seconds, min_size=1, max_size=5))
    return Turn(
        round=draw(st.integers(0, 1000)),
        position=draw(st.integers(0, 9)),
        steps=len(durations_s),
        settle_s=draw(st.lists(seconds, max_size=2)),
        durations_s=durations_s,
        started_t=draw(st.floats(0, 1e9)),
    )


@st.composite
def records(draw):
    status = draw(st.sampled_from(["ok", "failed", "timeout", "interrupted"]))
    return record(
        environment=draw(names),
        status=status,
        turns=draw(st.lists(turns(), min_size=status == "ok", max_size=4)),
        reason=draw(texts),
        started_at=draw(texts),
        variables=draw(st.dictionaries(texts, texts, max_size=4)),
        arguments=draw(st.lists(texts, max_size=4)),
        phases=draw(st.dictionaries(names, st.floats(0, 1e9), max_size=4)),
        warmup_s=draw(st.lists(seconds, max_size=4)),
        resources=draw(st.dictionaries(texts, plain, max_size=3)),
        evidence=draw(st.dictionaries(texts, plain, max_size=3)),
        seed=draw(st.integers(0, 2**53)),
    )


@given(records())
def test_a_record_is_read_as_it_was_written(made):
    assert Record.model_validate(json.loads(made.model_dump_json(indent=1))) == made


@given(records())
def test_throughput_and_time_of_a_step_are_two_views_of_one_thing(made):
    if not made.turns:
        assert made.throughput_images_per_sec is None
        assert made.second_per_batch is None
    else:
        product = made.throughput_images_per_sec * made.second_per_batch
        assert product == pytest.approx(made.items_per_step)
        assert made.timed_steps == sum(len(t.durations_s) for t in made.turns)


@given(records(), st.data())
def test_an_unknown_key_anywhere_is_refused(made, data):
    content = json.loads(made.model_dump_json())
    places = [content, content["cell"], content["metrics"], *content["turns"]]
    data.draw(st.sampled_from(places))["duration_s"] = 1.0
    with pytest.raises(ValidationError, match="duration_s"):
        Record.model_validate(content)


@given(records(), st.data())
def test_a_missing_key_is_refused_unless_it_has_a_default(made, data):
    content = json.loads(made.model_dump_json())
    required = sorted(name for name, field in Record.model_fields.items() if field.is_required())
    missing = data.draw(st.sampled_from(required))
    del content[missing]
    with pytest.raises(ValidationError, match=missing):
        Record.model_validate(content)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 3},
        {"steps": 0, "durations_s": []},
        {"durations_s": [0.01, 0.0]},
        {"durations_s": [0.01, -1.0]},
        {"durations_s": [0.01, math.nan]},
        {"durations_s": [0.01, math.inf]},
        {"settle_s": [math.nan]},
        {"started_t": math.nan},
        {"round": -1},
        {"position": -1},
        {"settle_s": None},
    ],
)
def test_turns_that_make_no_sense(wrong):
    with pytest.raises(ValidationError):
        Turn.model_validate(turn().model_dump() | wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "ok", "failure": Failure(reason="x", stage="turn")},
        {"status": "failed", "failure": None},
        {"status": "ok", "turns": []},
        {"status": "done"},
        {"schema_version": 2},
        {"schema_version": 0},
        {"repetition": 0},
        {"items_per_step": 0},
        {"threads": 0},
        {"slot": -1},
        {"schedule": "at once"},
        {"metrics": {"test_accuracy": 1.01}},
        {"metrics": {"training_loss": math.nan}},
        {"phases": {"warm": math.inf}},
        {"variables": {"OMP_NUM_THREADS": 2}},
    ],
)
def test_records_that_make_no_sense(wrong):
    with pytest.raises(ValidationError):
        Record.model_validate(record().model_dump() | wrong)


@pytest.mark.parametrize(
    "wrong", [{"device": "tpu"}, {"learners": 0}, {"batch_size": 0}, {"gpus_per_learner": -1}]
)
def test_cells_that_make_no_sense(wrong):
    content = record().model_dump()
    with pytest.raises(ValidationError):
        Record.model_validate(content | {"cell": content["cell"] | wrong})


def test_a_failed_run_keeps_the_turns_it_had():
    partial = record(status="failed", turns=[turn([0.01]), turn([0.03])])
    assert partial.second_per_batch == pytest.approx(0.02)


def test_a_record_can_not_be_edited():
    with pytest.raises(ValidationError, match="frozen"):
        record().status = "failed"


def test_the_version_is_in_the_file():
    assert json.loads(record().model_dump_json())["schema_version"] == SCHEMA_VERSION == 1


@pytest.mark.parametrize(
    ("spec", "settings"),
    [({"settings": "default"}, "default"), ({"settings": "quiet"}, "quiet"), ({}, "quiet")],
)
def test_records_of_older_versions_have_the_settings_they_were_made_with(spec, settings):
    content = record().model_dump()
    del content["cell"]["settings"]
    assert Record.model_validate(content | {"spec": spec}).cell.settings == settings
