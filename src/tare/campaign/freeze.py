"""The start of a real run: the study's lock, and its plan on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from tare.campaign.campaign import Campaign
from tare.measure.locks import Lock
from tare.plan import table
from tare.plan.errors import StudyError
from tare.plan.study import Study, parse

# In the folder that Snakemake was called in: what it was called for, for `tare summary --last`.
_LAST = Path(".snakemake") / "tare-last.json"


def begin(campaign: Campaign, say: Callable[[str], None]) -> Lock:
    """Take the study's lock and write plan and study; returns the lock, to be kept as long as the run lasts.

    Raises:
        LockHeld: another run has the study, and this one was told not to wait.
        StudyError: another run planned the study anew while this one waited, or the folder can't be written.
    """
    lock = Lock(campaign.study_dir / ".lock", f"The study {campaign.study.name!r}", "a run of the study")
    try:
        lock.acquire(wait=campaign.options.wait, say=say)
        on_disk = ""
        if campaign.plan_file.exists():
            on_disk = campaign.plan_file.read_bytes().decode("utf-8", "replace")
        if on_disk != campaign.plan_text_on_disk:
            raise StudyError(
                f"Another run changed the plan of study {campaign.study.name!r} while this one waited; "
                "start it again."
            )
        table.write(campaign.plan_file, campaign.plan)
        table.write_if_changed(campaign.study_file, _text(campaign.study))
        called = {"study": str(campaign.options.study_file), "results": str(campaign.options.results)}
        table.write_if_changed(_LAST, json.dumps(called))
    except StudyError:
        lock.release()
        raise
    except OSError as error:
        lock.release()
        where = error.filename or campaign.study_dir
        raise StudyError(f"{where}: {error.strerror or error}; results can't be written.") from error
    return lock


def outdated(campaign: Campaign) -> bool:
    """Whether plan or study are other now than when they were last run."""
    try:
        study = campaign.study_file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return True
    return (study, campaign.plan_text_on_disk) != (_text(campaign.study), table.to_text(campaign.plan))


def last(folder: Path) -> dict[str, str]:
    """The options `study` and `results` of the last real run in a folder.

    Raises:
        StudyError: there was none.
    """
    try:
        content: dict[str, str] = json.loads((folder / _LAST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StudyError(f"Snakemake was not run in {folder} yet; `make run` runs it.") from error
    return content


def _text(study: Study) -> str:
    return study.model_dump_json(indent=1) + "\n"


def read(study_dir: Path) -> tuple[Study, pd.DataFrame]:
    """The study and the plan as they were frozen.

    Raises:
        StudyError: the study was never begun, or a file is damaged.
    """
    path = study_dir / "study.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StudyError(f"{study_dir} holds no study; `snakemake` begins one.") from None
    except (OSError, ValueError) as error:
        raise StudyError(
            f"{path} can't be read ({error}); run the study again, which writes it anew."
        ) from error
    try:
        study = parse(content, str(path))
    except StudyError as error:
        words = str(error).rstrip(".")
        raise StudyError(f"{words}; run the study again, which writes this file anew.") from error
    return study, table.read(study_dir / "plan.csv")
