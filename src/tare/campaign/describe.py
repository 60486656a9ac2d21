"""A campaign in words: the plan before it runs, and where it stands."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from tare.campaign.campaign import Campaign
from tare.campaign.job import duration
from tare.campaign.state import Status


def plan_text(campaign: Campaign) -> str:
    """How many cells, blocks and runs, what is left of them, how long it may take, and what can't be measured."""
    plan, study = campaign.plan, campaign.study
    measured = plan[plan["status"] == "measure"]
    todo = campaign.to_measure
    runs = sum(len(state.paths) for state in todo)
    lines = [
        f"Study {study.name}: {plan['cell'].nunique()} cells, {len(campaign.states)} blocks, {len(measured)} runs "
        f"in {', '.join(dict.fromkeys(measured['environment'])) or 'no environment'}."
    ]
    if todo:
        lines.append(
            f"To be measured now: {len(todo)} blocks, {runs} runs, at most about {duration(campaign.most_seconds_left)}."
        )
    else:
        lines.append("Nothing is to be measured now.")
    why = Counter(state.status for state in todo)
    if why[Status.STALE]:
        lines.append(
            f"{why[Status.STALE]} blocks are measured again because the study asks for something else of them now; "
            "the old records go to superseded/."
        )
    if why[Status.INTERRUPTED]:
        lines.append(f"{why[Status.INTERRUPTED]} interrupted blocks are measured again whole.")
    if why[Status.UNREADABLE]:
        lines.append(f"{why[Status.UNREADABLE]} blocks with damaged records are measured again.")
    lines += [f"{text}." for text in not_measured(campaign)]
    for state in campaign.held_up[:1]:
        names = [name for name in state.block.environments if name in campaign.down]
        refusal = campaign.down[names[0]]
        lines.append(
            f"{len(campaign.held_up)} blocks wait for {', '.join(names)}: {refusal.reason.rstrip('.')}. {refusal.remedy}"
        )
    return "\n".join([*lines, *campaign.notes])


def not_measured(campaign: Campaign) -> list[str]:
    """A sentence for each environment (or cell) that can't be measured here."""
    rows = campaign.plan[campaign.plan["status"] == "unusable"]
    sentences = []
    keys = sorted({(r.environment, r.reason, r.remedy, r.cell) for r in rows.itertuples()})
    for (environment, reason, remedy), group in groupby(keys, key=lambda key: key[:3]):
        named = [key[3] for key in group]
        everywhere = len(named) == campaign.plan["cell"].nunique()
        which = environment if everywhere else f"{environment} in {', '.join(named)}"
        sentences.append(f"Not measured: {which}: {reason.rstrip('.')}. {remedy}".strip().rstrip("."))
    return sentences


def status_counts(campaign: Campaign) -> dict[str, int]:
    """Blocks by state: done, failed, missing, interrupted, stale, unreadable."""
    counts = Counter(state.status.value for state in campaign.states)
    return {status.value: counts[status.value] for status in Status}
