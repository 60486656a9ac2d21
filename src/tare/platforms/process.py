"""Workers that are a process of this host: started directly, or through an engine's command line."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tare.platforms.base import PROBE_TIMEOUT_S, RUN_VARIABLE, EngineError, Launch
from tare.platforms.lines import Lines

# How long a killed process may take to be gone, and its pipes to be read to the end.
_ENDING_TIMEOUT_S = 10.0


class ProcessHandle:
    """A worker at the end of two pipes.

    Args:
        argv: the argument vector.
        launch: what is started; its log takes standard error, its folder is the working directory.
        variables: the variables of the process started here (the engine's command line, or the worker itself).
        remove: what to do besides to be rid of the run, such as removing the container by its name.
    """

    def __init__(
        self,
        argv: Sequence[str],
        launch: Launch,
        variables: dict[str, str],
        remove: Callable[[], None] | None = None,
    ) -> None:
        self.arguments = list(argv)
        self._token = launch.token
        self._remove = remove
        with launch.open_log() as log:
            try:
                self._process = subprocess.Popen(
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=variables,
                    cwd=launch.run_dir,
                    start_new_session=True,  # Ctrl-C at the terminal is for the controller, who then ends the worker
                )
            except OSError as error:
                raise EngineError(f"{argv[0]} can't be started: {error.strerror}") from error
        reading, writing = self._process.stdout, self._process.stdin
        assert reading is not None and writing is not None
        self._pipes = (reading, writing)
        # read1 returns what there is, as soon as there is any; the write end is unbuffered by flushing at once
        self.lines = Lines(
            lambda: reading.read1(1 << 16),  # type: ignore[attr-defined]
            self._write,
            writing.close,
            reading.close,
        )

    def _write(self, data: bytes) -> None:
        writing = self._pipes[1]
        writing.write(data)
        writing.flush()

    def kill(self) -> None:
        """Kill the process group, and whatever the engine started for it elsewhere."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # gone, or (a starter with set-uid) not ours to kill: it ends with its worker
        for pid, token in processes(self._token).items():
            if token == self._token:
                _kill(pid)  # it left the group
        if self._remove is not None:
            self._remove()

    def wait(self, timeout_s: float) -> int | None:
        """Exit status, 128 + signal for a killed one, None when it still runs."""
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        return status if status >= 0 else 128 - status

    def close(self) -> None:
        """Kill, reap, and close the pipes."""
        try:
            self.kill()
        finally:
            self.wait(_ENDING_TIMEOUT_S)
            try:
                self._pipes[1].close()
            except OSError:
                pass  # what was still buffered for a dead worker is of no use
            self.lines.wait_closed(_ENDING_TIMEOUT_S)


def processes(token_start: str) -> dict[int, str]:
    """Processes of this user that carry a run token with this start in their variables: pid -> token."""
    prefix = f"{RUN_VARIABLE}={token_start}".encode()
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # gone meanwhile, or another user's
        for variable in variables:
            if variable.startswith(prefix):
                found[int(folder.name)] = variable.decode("utf-8", "replace").partition("=")[2]
    return found


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def sweep_processes(campaign: str) -> list[str]:
    """Kill leftover workers of the campaign, also those that left their process group."""
    leftover = processes(f"{campaign}-")
    return [f"process {pid} of run {token}" for pid, token in leftover.items() if _kill(pid)]


def ask(argv: Sequence[str], timeout_s: float = PROBE_TIMEOUT_S, stdin: bytes | None = None) -> str:
    """Run a short command of an engine and return what it printed.

    Raises:
        EngineError: it is not there, failed, or took longer than `timeout_s`; with the last line it said.
    """
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            timeout=timeout_s,
            input=stdin or b"",
            check=False,
            start_new_session=True,  # a second Ctrl-C must not end the removal of a container
        )
    except FileNotFoundError:
        raise EngineError(f"{argv[0]} is not installed") from None
    except OSError as error:
        raise EngineError(f"{argv[0]} can't be started ({error.strerror})") from error
    except subprocess.TimeoutExpired:
        raise EngineError(f"{argv[0]} did not answer within {timeout_s:.0f} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        raise EngineError(f"{argv[0]} says: {said[-1] if said else f'exit status {done.returncode}'}")
    return done.stdout.decode("utf-8", "replace").strip()
