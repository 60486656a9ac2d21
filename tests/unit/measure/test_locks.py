"""Locks between real processes: who holds it, waiting and stopping, and the end of a holder that is killed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tare.measure import locks
from tare.measure.locks import Lock, LockHeld

HOLDER = """
import sys
from pathlib import Path
from tare.measure.locks import Lock
lock = Lock(Path(sys.argv[1]), "This machine", "measuring in results/quick")
lock.acquire(wait=False, say=print)
print("held", flush=True)
sys.stdin.read()
lock.release()
print("released", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "host.lock"


@pytest.fixture
def other(path):
    """Another process that holds the lock until its standard input is closed, and then lives on."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


@pytest.fixture
def lock(path):
    with Lock(path, "This machine", "measuring here") as made:
        yield made


def take(lock, *, wait=False):
    said = []
    lock.acquire(wait=wait, say=said.append)
    return said


def test_a_free_lock_is_taken_without_a_word(lock, path):
    assert take(lock) == []
    assert json.loads(path.read_text(encoding="utf-8"))["pid"] == os.getpid()


def test_one_that_is_held_names_its_holder(lock, other):
    with pytest.raises(LockHeld) as caught:
        take(lock)
    assert f"This machine is in use by process {other.pid} of " in str(caught.value)
    assert "(measuring in results/quick)" in str(caught.value)


def test_one_that_refused_can_be_asked_again(lock, other):
    for _ in range(2):
        with pytest.raises(LockHeld):
            take(lock)
    other.kill()
    other.wait()
    assert take(lock) == []


def test_a_holder_that_is_killed_gives_it_back(lock, other):
    other.kill()
    other.wait()
    assert take(lock) == []


def test_waiting_says_once_for_whom_and_ends_with_the_holder(lock, other, monkeypatch):
    polls = []

    def sleep(seconds):
        polls.append(seconds)
        if len(polls) == 3:
            other.kill()
            other.wait()

    monkeypatch.setattr(locks.time, "sleep", sleep)
    said = take(lock, wait=True)
    assert len(said) == 1
    assert f"in use by process {other.pid}" in said[0]
    assert "Waiting" in said[0]
    assert len(polls) == 3


def test_ctrl_c_ends_the_waiting_and_leaves_no_descriptor(lock, other, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(locks.time, "sleep", interrupt)
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(KeyboardInterrupt):
        take(lock, wait=True)
    assert set(os.listdir("/proc/self/fd")) == before


def test_released_is_free_for_others_though_the_holder_lives(lock, other, path):
    other.stdin.close()
    assert other.stdout.readline() == "released\n"
    assert path.read_text(encoding="utf-8") == "", "no name of a holder that holds nothing"
    assert take(lock) == []


def test_leaving_the_context_releases_it(path):
    with Lock(path, "x", "y") as first:
        take(first)
    with Lock(path, "x", "y") as second:
        take(second)


def test_children_do_not_inherit_it(lock, path):
    take(lock)
    child = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False,
    )  # fmt: skip
    child.stdout.readline()  # the descriptors are closed by then
    try:
        lock.release()
        with Lock(path, "x", "y") as again:
            take(again)
    finally:
        child.communicate(b"\n")


def test_a_holder_without_a_name_is_another_process(lock, other, path):
    path.write_text("{", encoding="utf-8")
    with pytest.raises(LockHeld, match="in use by another process"):
        take(lock)


def test_a_link_is_not_followed(lock, path, tmp_path):
    """In /tmp anybody could make one that points at a file of whoever measures next."""
    precious = tmp_path / "precious"
    precious.write_text("mine", encoding="utf-8")
    path.parent.mkdir()
    path.symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"):
        take(lock)
    assert precious.read_text(encoding="utf-8") == "mine"


def test_anybody_may_use_the_file(lock, path):
    old = os.umask(0o077)
    try:
        take(lock)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o666


def test_another_users_file_locks_without_a_name(lock, path, monkeypatch):
    real_open = os.open

    def refusing(name, flags, mode=0o777, **other):
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied", str(name))
        return real_open(name, flags, mode, **other)

    path.parent.mkdir()
    path.write_text("somebody", encoding="utf-8")
    monkeypatch.setattr(os, "open", refusing)
    assert take(lock) == []
    lock.release()
    assert path.read_text(encoding="utf-8") == "somebody"


def test_two_that_find_no_file_use_the_same(path, monkeypatch):
    """Another process makes the file between looking and making."""
    real_open, calls = os.open, []

    def racing(name, flags, mode=0o777, **other):
        if flags & os.O_CREAT and not calls:
            calls.append(name)
            Path(name).touch()
        return real_open(name, flags, mode, **other)

    monkeypatch.setattr(os, "open", racing)
    with Lock(path, "x", "y") as lock:
        take(lock)
        assert calls


def test_campaigns_differ_by_lock_and_are_alike_for_one(monkeypatch):
    monkeypatch.setenv("TARE_HOST_LOCK", "/a")
    first = locks.campaign()
    assert first == locks.campaign()
    assert len(first) == 8
    assert "-" not in first
    monkeypatch.setenv("TARE_HOST_LOCK", "/b")
    assert locks.campaign() != first


def test_without_the_variable_the_lock_is_one_for_the_machine(monkeypatch):
    monkeypatch.delenv("TARE_HOST_LOCK")
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert locks.host_lock_path() == Path("/tmp/tare-host.lock")
