"""`tare plan`, `tare status`, `tare summary`: a study before, while and after it is measured."""

from __future__ import annotations

import shutil
from argparse import Namespace
from pathlib import Path

from tare import stats
from tare.campaign import freeze
from tare.campaign.campaign import Campaign, look
from tare.campaign.describe import not_measured, plan_text, status_counts
from tare.campaign.job import duration
from tare.campaign.state import Status, current_records
from tare.plan.errors import StudyError
from tare.report import text





def _campaign(arguments: Namespace) -> Campaign:
    config = {"study": arguments.study, "results": str(arguments.results)}
    return look(config, Path.cwd(), apptainer_asked=shutil.which("apptainer") is not None)


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
    left = f"; at most about {duration(campaign.most_seconds_left)} left" if campaign.to_measure else ""
    print(f"Study {campaign.study.name}: of {len(campaign.states)} blocks {said}{left}.")
    failed = _failures(campaign)
    for line in [*(f"{sentence}." for sentence in not_measured(campaign)), *failed]:
        print(line)
    if campaign.held_up:
        names = sorted(campaign.down)
        print(
            f"{len(campaign.held_up)} blocks wait for {', '.join(names)}: {campaign.down[names[0]].reason}. "
            f"{campaign.down[names[0]].remedy}"
        )
    return 1 if failed else 0


def _failures(campaign: Campaign) -> list[str]:
    if not any(state.status is Status.FAILED for state in campaign.states):
        return []
    lines = []
    for record in current_records(campaign.study_dir, campaign.plan):
        if record.failure is not None:
            where = f"{record.cell.name}, repetition {record.repetition}, {record.environment}"
            lines.append(f"Failed: {where} ({record.failure.stage}): {record.failure.reason}")
    if lines:
        lines.append("`--config retry_failed=true` measures their blocks again.")
    return lines


def summary(arguments: Namespace) -> int:
    """Print the overheads and where the report is."""
    campaign = _campaign(arguments)
    overhead_file, report = campaign.study_dir / "overhead.csv", campaign.study_dir / "report.html"
    if not overhead_file.exists():
        raise StudyError(f"{overhead_file} is not there yet; `make run` or `snakemake --cores all` makes it.")
    freeze.read(campaign.study_dir)
    print(text.summary(stats.read(overhead_file)))
    failed = _failures(campaign)
    for line in failed:
        print(line)
    print(f"Report: {report}")
    return 1 if failed else 0
