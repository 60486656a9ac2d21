"""`tare plan`, `tare status`, `tare summary`: a study before, while and after it is measured."""

from __future__ import annotations

import shutil
from argparse import Namespace
from pathlib import Path

import pandas as pd

from tare.campaign import freeze
from tare.campaign.campaign import Campaign, look
from tare.campaign.describe import (
    going_on,
    imprecise,
    not_measured,
    plan_text,
    status_counts,
    waiting,
)
from tare.campaign.job import duration
from tare.campaign.options import configured
from tare.campaign.state import Status
from tare.plan.errors import StudyError
from tare.records import store


def _campaign(arguments: Namespace) -> Campaign:
    given = {"study": arguments.study, "results": arguments.results}
    if getattr(arguments, "last", False):
        given = freeze.last(Path.cwd())
    config = {
        **configured(Path.cwd()),
        **{key: str(value) for key, value in given.items() if value is not None},
    }
    # as `make run` does, which passes --sdm apptainer where the program is
    asked = any(shutil.which(program) for program in ("apptainer", "singularity"))
    return look(config, Path.cwd(), apptainer_asked=asked)


def plan(arguments: Namespace) -> int:
    """Print the plan."""
    print(plan_text(_campaign(arguments)))
    return 0


def status(arguments: Namespace) -> int:
    """Print where the study stands."""
    campaign = _campaign(arguments)
    if not campaign.began:
        print(f"Study {campaign.study.name} was not begun yet.\n{plan_text(campaign)}")
        return 0
    counts = status_counts(campaign)
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count or name == "done")
    left = f"; about {duration(campaign.most_seconds_left)} left" if campaign.to_measure else ""
    print(f"Study {campaign.study.name}: of {len(campaign.states)} blocks {said}{left}.")
    failed = _failures(campaign)
    sentences = [*going_on(campaign), *imprecise(campaign), *not_measured(campaign)]
    for line in [*(f"{sentence}." for sentence in sentences), *waiting(campaign), *failed]:
        print(line)
    return 1 if failed else 0


def _failures(campaign: Campaign) -> list[str]:
    lines = []
    failed = (state for state in campaign.states if state.status is Status.FAILED)
    for record in (store.read(path) for state in failed for path in state.paths):
        if record.failure is not None:
            where = f"{record.cell.name}, repetition {record.repetition}, {record.environment}"
            lines.append(f"Failed: {where} ({record.failure.stage}): {record.failure.reason}")
    if lines:
        lines.append("`--config retry_failed=true` measures their blocks again.")
    return lines


def _older(campaign: Campaign, overhead_file: Path, table: pd.DataFrame) -> list[str]:
    """That the table is older than what it should tell of."""
    made_s = overhead_file.stat().st_mtime
    records = [path for state in campaign.states for path in state.paths]
    newer = sum(path.exists() and path.stat().st_mtime > made_s for path in records)
    lines = []
    if newer:
        count = "1 record was" if newer == 1 else f"{newer} records were"
        lines.append(f"{count} written after this table was made; `snakemake --cores all` makes it anew.")
    rows, plan = ({*zip(one["cell"], one["environment"], strict=True)} for one in (table, campaign.plan))
    if freeze.outdated(campaign):
        lines.append(
            "The study was changed since this table was made; `snakemake --cores all` makes it anew."
        )
    elif rows != plan:
        lines.append(
            "This table has other rows than the study has cells and environments now; "
            "`snakemake --cores all` makes it anew."
        )
    return lines


def summary(arguments: Namespace) -> int:
    """Print the overheads and where the report is."""
    # here, since they load what draws the figures, which the other commands do not need
    from tare.report import text
    from tare.stats.table import read as read_overhead

    campaign = _campaign(arguments)
    overhead_file, report = campaign.study_dir / "overhead.csv", campaign.study_dir / "report.html"
    if not overhead_file.exists():
        raise StudyError(f"{overhead_file} is not there yet; `make run` or `snakemake --cores all` makes it.")
    freeze.read(campaign.study_dir)
    table = read_overhead(overhead_file)
    print(f"Study {campaign.study.name}")
    for line in _older(campaign, overhead_file, table):
        print(line)
    print(text.summary(table))
    unfinished = sum(not state.status.finished for state in campaign.states)
    if unfinished:
        print(
            f"Of {len(campaign.states)} blocks {unfinished} are not measured yet, or not as the study asks now."
        )
    failed = _failures(campaign)
    for line in failed:
        print(line)
    print(f"Report: {report}")
    return 1 if failed else 0
