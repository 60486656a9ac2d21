"""A worker's process as the host sees it: found by token, id and namespaces, with what lies between it and Tare."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tare
from tare.platforms import hostview
from tare.platforms.hostview import host_view
from tare.worker import evidence

TELL = """import json, sys
from tare.worker import evidence
print(json.dumps(evidence.collect()), flush=True)
sys.stdin.read()
"""
TOKEN = "c0ffee00-0badcafe"


@pytest.fixture
def child():
    """A process with a token, and what it sees; a shell between it and this process."""
    variables = {**os.environ, "TARE_RUN": TOKEN, "PYTHONPATH": str(Path(tare.__file__).parents[1])}
    process = subprocess.Popen(
        ["sh", "-c", f'"{sys.executable}" -c "$0"; exit', TELL],
        env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield process, json.loads(process.stdout.readline())
    process.communicate()


def test_the_process_that_told_is_found_among_those_with_its_token(child):
    shell, inside = child
    found = host_view(TOKEN, inside)
    assert found["pid"] == inside["pid"] != shell.pid
    assert found["cgroup"] == inside["cgroup"]
    assert found["mounts"] == inside["mounts"]
    limits = evidence.resources()
    assert (found["cpu_quota"], found["memory_limit_bytes"]) == (
        limits["cpu_quota"],
        limits["memory_limit_bytes"],
    )
    assert found["ancestors"] == [{"name": "sh"}], "without arguments, and no further than this process"


def test_of_helpers_of_engines_the_arguments_are_told_too(child, monkeypatch):
    monkeypatch.setattr(hostview, "HELPERS", ("sh",))
    (found,) = host_view(TOKEN, child[1])["ancestors"]
    assert found["arguments"].startswith("sh -c ")
    assert len(found["arguments"]) <= 300


@pytest.mark.parametrize(
    "change", [{"pid": 1}, {"namespaces": {"mnt": "mnt:[1]"}}, {"namespaces": {}}, {"namespaces": None}]
)
def test_another_process_than_the_one_that_told_is_none(child, change):
    assert host_view(TOKEN, {**child[1], **change}) == {}


@pytest.mark.parametrize("token", ["c0ffee00-0badcafe-no", "c0ffee00", "c0ffee00-0badcafd"])
def test_of_another_run_there_is_no_view(child, token):
    assert host_view(token, child[1]) == {}


def test_a_process_that_is_gone_has_no_view(child):
    process, inside = child
    process.communicate()
    time.sleep(0.05)
    assert host_view(TOKEN, inside) == {}


def test_no_evidence_finds_nothing():
    assert host_view(TOKEN, {}) == {}
    assert host_view(TOKEN, evidence.collect()) == {}
