"""How a rule's script ends: with success, or with one sentence on the terminal and the details in its log."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tare.measure.block import Interrupted
from tare.measure.locks import LockHeld
from tare.plan.errors import StudyError
from tare.platforms import EngineError
from tare.records.store import BadRecord

_EXPECTED = (StudyError, EngineError, LockHeld, BadRecord)
_EXIT_INTERRUPTED = 130
_GOES_ON = "What was measured is on disk; the next run goes on from there."
# What has records is finished, whoever wished for new ones.
_ONCE_MORE = (
    "Blocks that were to be measured again and were not yet keep their earlier records; ask for them once more, "
    "as with `redo=true` and `only=` of their cells."
)


@contextmanager
def running(log: str, *, again: bool = False) -> Iterator[None]:
    """Run a script's body.

    Args:
        log: the rule's log file.
        again: whether the script measures a block that has records already.

    Raises:
        SystemExit: with 1 for an error that a user can mend (said in one sentence) and for a bug of Tare (said with
            the place of its traceback), with 130 after an interruption.
    """
    try:
        yield
    except Interrupted as stop:
        _say(f"{stop} {_ONCE_MORE if again else _GOES_ON}", log)
        sys.exit(_EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        _say(f"Interrupted. {_ONCE_MORE if again else _GOES_ON}", log)
        sys.exit(_EXIT_INTERRUPTED)
    except _EXPECTED as error:
        _say(str(error), log)
        sys.exit(1)
    except OSError as error:
        where = error.filename or f"A file beside {Path(log).parent}"
        _say(f"{where} can't be written or read: {error.strerror or error}. Mend that, then run again.", log)
        sys.exit(1)
    except Exception as error:
        _say(f"A fault in Tare ({type(error).__name__}: {error}); the details are in {log}.", log)
        sys.exit(1)


def _say(sentence: str, log: str) -> None:
    # One of the two may be just what brought us here: a full disk, or a terminal that is gone.
    try:
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        Path(log).write_text(f"{sentence}\n\n{traceback.format_exc()}", encoding="utf-8")
    except OSError:
        pass
    try:
        print(f"Tare: {sentence}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass
