"""A record that says of itself two things which can't both be true."""

from __future__ import annotations

from typing import Any

import pytest

from tare.plan.environment import ENGINES
from tare.plan.specification import digest
from tare.plan.table import blocks, build, first_state
from tare.records.schema import Record
from tare.stats.trusted import fault
from tests.unit.factory import asked, evidence
from tests.unit.studies import study

STUDY = study(environments=list(ENGINES), repetitions=1)
BLOCK = blocks(build(STUDY, first_state(STUDY, {}), {}))[0]


def run(environment: str = "docker", **other: Any) -> Record:
    return asked(STUDY, BLOCK, environment, **other)


def changed(environment: str = "docker", **values: Any) -> str:
    return fault(run(environment).model_copy(update=values))


def said_of_spec(**values: Any) -> str:
    """The specification was changed, and its hash with it."""
    spec = run().spec | values
    return changed(spec=spec, spec_hash=digest(spec))


@pytest.mark.parametrize("engine", ENGINES)
def test_records_of_every_engine_agree_with_themselves(engine):
    assert fault(run(engine)) == ""
    assert fault(run(engine, status="failed", attested="")) == ""


def test_a_label_that_the_attestation_contradicts():
    assert changed(attested="bare") == "attested: the run labelled 'docker' was found to be in 'bare'"
    assert changed(attested="") == "attested: is empty, so that nothing says where the run was"


def test_an_attestation_that_the_evidence_contradicts():
    """The label and the verdict were both changed, or the evidence was."""
    assert changed(evidence=evidence("bare")) == "evidence: shows bare, not docker"
    assert changed(evidence=evidence("podman")) == "evidence: shows podman, not docker"
    assert changed(evidence={}) == "evidence: shows another machine, not docker"
    without = {key: value for key, value in evidence("docker").items() if key != "controller"}
    assert changed(evidence=without) == "evidence: shows another machine, not docker"


def test_a_run_that_broke_off_may_have_been_seen_anywhere():
    assert fault(run(status="failed", stage="attest", attested="bare")) == ""


def test_what_was_asked_is_the_text_behind_the_hash():
    assert changed(spec=run().spec | {"threads": 8}).startswith("spec: is not the text behind the hash ")
    assert changed(spec_hash="0" * 16) == "spec: is not the text behind the hash 0000000000000000"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"environment": {"engine": "podman"}}, "engine: is 'docker', but 'podman' was asked for"),
        ({"seed": 7}, "seed: is 10001, but 7 was asked for"),
        ({"threads": 8}, "threads: is 2, but 8 was asked for"),
        ({"schedule": "sequential"}, "schedule: is 'lockstep', but 'sequential' was asked for"),
        ({"cell": {"model": "fcn-r"}}, "cell.model: is 'lenet', but 'fcn-r' was asked for"),
        ({"cell": {"flavour": "mild"}}, "cell.flavour: is None, but 'mild' was asked for"),
    ],
)
def test_what_the_record_says_of_its_run_is_what_was_asked(values, said):
    assert said_of_spec(**values) == said


def test_another_schedule_than_asked_for_with_its_reason():
    spec = run().spec | {"schedule": "sequential"}
    values = {"spec": spec, "spec_hash": digest(spec), "schedule_reason": "the engine can't wait"}
    assert fault(run().model_copy(update=values)) == ""


def test_specifications_of_an_older_form():
    assert said_of_spec(cell="lenet", environment="docker") == ""


def test_the_place_in_the_block():
    slot = run().slot
    assert changed(slot=slot + 1) == f"slot: {slot + 1} is not that of docker in the block"
    assert changed(slot=9) == "slot: 9 is not that of docker in the block"
    assert changed(block=["bare", "podman"]) == "block: does not name docker"
    assert changed(block=["docker", "bare", "docker"], slot=0) == "block: names an environment twice"


@pytest.mark.parametrize("rounds", [(0, 1, 1, 2), (0, 1, 3), (1, 2, 3), (1, 0)])
def test_every_round_is_there_once(rounds):
    turns = [run().turns[0].model_copy(update={"round": number}) for number in rounds]
    assert changed(turns=turns) == (
        f"turns: their rounds are not 0 to {len(rounds) - 1}, each once and in this order"
    )


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("shm_bytes", "much", "/dev/shm"),
        ("shm_bytes", [1], "/dev/shm"),
        ("status", "S (sleeping)", "speculation"),
        ("status", {"Seccomp": "2", "CapEff": "many", "CapBnd": "0"}, "capabilities"),
        ("open_files_limit", "some", "open files"),
    ],
)
def test_evidence_that_can_t_be_read(key, value, what):
    one = run(status="failed", evidence=evidence("docker") | {key: value})
    assert fault(one) == f"evidence: what it says of {what} can't be read"


@pytest.mark.parametrize("mounts", ["none", {"/": "overlay"}, {"/etc/hosts": {"type": "ext4"}}, [1]])
def test_evidence_of_another_shape_is_no_traceback(mounts):
    assert changed(evidence=evidence("docker") | {"mounts": mounts}).startswith("evidence: ")
