"""A campaign in words: the plan before it runs, and where it stands."""

from __future__ import annotations

from collections import Counter

from tare.campaign.campaign import Campaign
from tare.campaign.job import duration
from tare.campaign.state import Status
from tare.plan.table import MEASURE


def plan_text(campaign: Campaign, forced: int = 0) -> str:
    """How many cells, blocks, runs; what is left of them, how long it may take, what can't be measured.

    Args:
        forced: finished blocks that Snakemake was told to make again.
    """
    plan, study = campaign.plan, campaign.study
    measured = plan[plan["status"] == MEASURE]
    todo = campaign.to_measure
    runs = sum(len(state.paths) for state in todo)
    names = [e.name for e in study.environments if e.name in set(measured["environment"])]
    planned = sum(len(state.paths) for state in campaign.states)
    lines = [
        f"Study {study.name}: {_counted(plan['cell'].nunique(), 'cell')}, {_blocks(len(campaign.states))}, "
        f"{_counted(planned, 'run')} in {', '.join(names) or 'no environment'}."
    ]
    if todo:
        left = duration(campaign.most_seconds_left)
        lines.append(f"To be measured now: {_blocks(len(todo))}, {_counted(runs, 'run')}, about {left}.")
    elif not forced:
        lines.append("Nothing is to be measured now.")
    lines += [f"{text}." for text in going_on(campaign)]
    if forced:
        lines.append(f"Measured again since Snakemake was told to: {_blocks(forced)}.")
    why = Counter(state.status for state in todo)
    if why[Status.STALE]:
        lines.append(
            f"Measured again because the study asks for something else of them now: {_blocks(why[Status.STALE])}; "
            "the old records go to superseded/."
        )
    if why[Status.INTERRUPTED]:
        lines.append(f"Interrupted, to be measured again whole: {_blocks(why[Status.INTERRUPTED])}.")
    if why[Status.UNREADABLE]:
        lines.append(f"With damaged records, to be measured again: {_blocks(why[Status.UNREADABLE])}.")
    return "\n".join(lines + [f"{text}." for text in not_measured(campaign)] + waiting(campaign))


def going_on(campaign: Campaign) -> list[str]:
    """How precise a study is that wishes a precision, and how far it may go on for it."""
    if campaign.look is None:
        return []
    wished, made = f"±{campaign.study.precision_pct:g} points", campaign.look.reached
    lines = []
    if made:
        enough = sum(one.enough for one in made)
        lines.append(f"Precise enough ({wished}): {enough} of {_counted(len(made), 'comparison')}")
    if campaign.possible:
        most = duration(campaign.most_seconds_beyond)
        lines.append(
            f"Cells whose intervals are wider than {wished} then go on: at most "
            f"{_counted(len(campaign.possible), 'further block')}, {most}"
        )
    return lines


def imprecise(campaign: Campaign) -> list[str]:
    """A sentence for each comparison that is not as precise as was wished."""
    wished = campaign.study.precision_pct
    if campaign.look is None or wished is None:
        return []
    from tare.stats.precision import note

    return [
        f"{one.cell}, {one.environment}: {said}"
        for one in campaign.look.reached
        if (said := note(one, wished))
    ]


def not_measured(campaign: Campaign) -> list[str]:
    """A sentence for each reason why an environment (or a cell in it) can't be measured here."""
    rows = campaign.plan[campaign.plan["status"] == "unusable"]
    all_cells = campaign.plan["cell"].nunique()
    cells_of: dict[tuple[str, str, str], list[str]] = {}
    for row in rows.drop_duplicates(["environment", "reason", "remedy", "cell"]).itertuples():
        key = str(row.environment), str(row.reason), str(row.remedy)
        cells_of.setdefault(key, []).append(str(row.cell))
    environments_of: dict[tuple[str, str, str], list[str]] = {}
    for (environment, reason, remedy), names in sorted(cells_of.items()):
        where = "" if len(names) == all_cells else f" in {', '.join(sorted(names))}"
        environments_of.setdefault((where, reason, remedy), []).append(environment)
    return [
        f"Not measured: {', '.join(names)}{where}: {_why(reason, remedy)}{_later(campaign, where, names)}"
        for (where, reason, remedy), names in environments_of.items()
    ]


def _later(campaign: Campaign, where: str, names: list[str]) -> str:
    """How an environment that was not there when the study was begun comes into it."""
    return f"; then --config add={','.join(names)} adds it" if campaign.began and not where else ""


def _blocks(count: int) -> str:
    return _counted(count, "block")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def waiting(campaign: Campaign) -> list[str]:
    """A sentence for each thing that planned blocks need and is not there now; then the campaign's notes."""
    count = Counter(name for state in campaign.held_up for name in campaign.obstacles(state))
    sentences = []
    for name, blocks in count.items():
        refusal = campaign.down[name]
        wait = "1 block waits" if blocks == 1 else f"{blocks} blocks wait"
        sentences.append(f"{wait} for {name}: {_why(refusal.reason, refusal.remedy)}.")
    return [*sentences, *campaign.notes]


def _why(reason: str, remedy: str) -> str:
    return f"{reason.rstrip('.')}. {remedy}".strip().rstrip(".")


def status_counts(campaign: Campaign) -> dict[str, int]:
    """Blocks by state: done, failed, missing, interrupted, stale, unreadable."""
    counts = Counter(state.status.value for state in campaign.states)
    return {status.value: counts[status.value] for status in Status}
