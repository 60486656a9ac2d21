"""Whether an engine that answers can also start something: a container that says one word, and is gone.

An engine that is half installed (podman without its network helper, a daemon without the right to make namespaces)
answers when asked for its version, and then fails every run of a study.
"""

from __future__ import annotations

import secrets
import sys
import tempfile
from pathlib import Path

from tare.measure import locks
from tare.measure.lockstep import RunFailed
from tare.platforms import Availability, EngineError, Launch, Platform
from tare.platforms.base import RUN_VARIABLE
from tare.platforms.hostsoftware import find
from tare.platforms.lines import ChannelError

_TIMEOUT_S = 30.0
# no campaign's: a campaign that begins a block meanwhile must not sweep it away
_CAMPAIGN = "trial"
_WORD = """print('{"hello": {}}', flush=True)"""


def try_out(platforms: dict[str, Platform]) -> dict[str, Availability]:
    """Those of the engines that can't start a container, with their own words; engine name -> why not.

    Nothing is tried while a block is being timed on this host, since that would disturb it.
    """
    lock = locks.Lock(locks.host_lock_path(), "This machine", "trying out engines")
    try:
        lock.acquire(wait=False, say=lambda sentence: None)
    except (locks.LockHeld, OSError):
        return {}
    with lock:
        found = {engine: _words(platform) for engine, platform in platforms.items()}
    return {
        engine: Availability(
            False,
            f"{engine} answers but can't start a container: {words}",
            f"Make {engine} start containers for this user.",
        )
        for engine, words in found.items()
        if words
    }


def _words(platform: Platform) -> str:
    """What went wrong; empty when nothing did."""
    token = f"{_CAMPAIGN}-{secrets.token_hex(4)}"
    with tempfile.TemporaryDirectory(prefix="tare-trial-") as folder:
        run_dir = Path(folder) / "run"
        run_dir.mkdir()
        launch = Launch(
            token=token,
            program=(sys.executable, "-I", "-S", "-c", _WORD),
            variables={RUN_VARIABLE: token},
            run_dir=run_dir,
            read_only=find().paths,
            log=Path(folder) / "log",
        )
        try:
            platform.prepare()
            handle = platform.start(launch)
        except EngineError as error:
            return str(error).rstrip(".")
        try:
            handle.lines.receive(_TIMEOUT_S)
        except (ChannelError, RunFailed) as error:
            said = (
                launch.log.read_text(encoding="utf-8", errors="replace").strip()
                if launch.log.exists()
                else ""
            )
            return said.splitlines()[-1].rstrip(".") if said else str(error)
        finally:
            try:
                handle.close()
            except EngineError:
                pass  # it is swept by its label at the next trial
    return ""
