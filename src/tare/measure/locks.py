"""Locks that end with their holder, however it ends: flock on a file, held by an open descriptor."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType

_POLL_S = 1.0


class LockHeld(RuntimeError):
    """Somebody else holds the lock and waiting was not wanted; the message says who."""


class Lock:
    """An exclusive lock with the holder's name in it.

    Args:
        path: the lock file; made if it is not there, never removed (removing it would let two hold it).
        what: what is locked, for messages.
        purpose: what the holder does, for messages of the others.
    """

    def __init__(self, path: Path, what: str, purpose: str) -> None:
        self._path, self._what, self._purpose = path, what, purpose
        self._descriptor: int | None = None

    def acquire(self, *, wait: bool, say: Callable[[str], None]) -> None:
        """Take the lock, waiting for it if asked.

        Raises:
            LockHeld: it is held by another process and `wait` is false.
            OSError: the lock file can't be opened.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = self._open()
        told = False
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    sentence = f"{self._what} is in use by {self._holder()}."
                    if not wait:
                        raise LockHeld(
                            f"{sentence} Wait for it, or leave out `lock=stop` to wait here."
                        ) from None
                    if not told:
                        say(f"{sentence} Waiting for it to end; Ctrl-C stops waiting.")
                        told = True
                    time.sleep(_POLL_S)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        holder = {
            "pid": os.getpid(),
            "user": _user(),
            "since": f"{datetime.now():%H:%M}",
            "purpose": self._purpose,
        }
        self._sign(json.dumps(holder))

    def _open(self) -> int:
        # No link is followed: in /tmp anybody could make one that points at a file of whoever comes next.
        try:
            return os.open(self._path, os.O_RDWR | os.O_NOFOLLOW)
        except PermissionError:
            return os.open(
                self._path, os.O_RDONLY | os.O_NOFOLLOW
            )  # enough for the lock, if not for the name in it
        except FileNotFoundError:
            pass
        try:
            # O_CREAT only where it isn't there: another user's file in /tmp may refuse it (fs.protected_regular)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        except FileExistsError:
            return self._open()  # another process made it meanwhile
        os.fchmod(descriptor, 0o666)
        return descriptor

    def _sign(self, text: str) -> None:
        assert self._descriptor is not None
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text.encode(), 0)
        except OSError:
            pass  # the name is a courtesy; the lock holds without it

    def _holder(self) -> str:
        try:
            holder = json.loads(self._path.read_text(encoding="utf-8"))
            return (
                f"process {holder['pid']} of {holder['user']} since {holder['since']} ({holder['purpose']})"
            )
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"

    def release(self) -> None:
        """Give it back; no error when it is not held."""
        if self._descriptor is not None:
            self._sign("")
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def host_lock_path() -> Path:
    """The lock of this host: one timed block at a time, whoever measures. TARE_HOST_LOCK names another file."""
    own = os.environ.get("TARE_HOST_LOCK")
    # a fixed place, not TMPDIR: two campaigns with different settings must meet here
    return Path(own) if own else Path("/tmp/tare-host.lock")


def campaign() -> str:
    """Name of all runs under this host's lock, 8 hexadecimal digits: who holds the lock may remove what carries it."""
    return hashlib.sha256(f"{host_lock_path()}:{os.getuid()}".encode()).hexdigest()[:8]
