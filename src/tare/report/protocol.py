"""How it was measured, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.records.schema import Record
from tare.report import precision, wording
from tare.stats import verdicts
from tare.stats.metrics import Metric

_LOCKSTEP = (
    "All runs of a block are alive at once and take turns: one at a time trains a few steps while the "
    "others wait. The order within a round is random. Each turn begins with an untimed step, so "
    "that the switch itself is not counted. Two runs are compared round by round, and the median over "
    "the rounds is what the block says: it tells of a typical step, for which the machine's state was "
    "nearly the same in both, and leaves out stalls of a few rounds (where those matter a note says so)."
)
_SEQUENTIAL = (
    "The runs of a block follow one another, each from start to end, in turns of about 2 s that begin with an "
    "untimed step, and are compared by their means."
)
_SETTINGS = {
    "quiet": "Settings: quiet. Memory, threads and garbage collection are set, the same in every "
    "environment, so that equal processes are more nearly equally fast. An environment that makes page faults dearer "
    "looks better under them.",
    "default": "Settings: default. Memory, threads and garbage collection are left as the frameworks "
    "have them; equal processes then differ more, and intervals are wider.",
}


def paragraphs(study: Mapping[str, Any], records: Sequence[Record], metric: Metric) -> list[str]:
    """The protocol of a study, a paragraph each."""
    schedules = {str(record.schedule) for record in records} or {str(study.get("schedule", "lockstep"))}
    said = [
        "A cell is one combination of network, framework, data, batch size and device. A block is one "
        "repetition of a cell: every environment once, each in a fresh process, in a random order that "
        "is balanced over the blocks. The run is what is counted: steps within one process are not "
        "independent of each other."
    ]
    said += [_LOCKSTEP] if "lockstep" in schedules else []
    said += [_SEQUENTIAL] if "sequential" in schedules else []
    reasons = dict.fromkeys(record.schedule_reason for record in records if record.schedule_reason)
    said += (
        [f"Some blocks were measured one run after the other: {wording.sentence('; '.join(reasons))}"]
        if reasons
        else []
    )
    said += _amount(records)
    said.append(
        "What disturbed a run between its first turn and its last is in its record (noise): other processes' CPU time, "
        "steal, CPU quotas, swap, page faults, and what workers used while they waited. Each run is quiet or noisy by "
        "fixed limits. Noisy runs are marked and count like all others."
    )
    said += [_SETTINGS[str(study["settings"])]] if study.get("settings") in _SETTINGS else []
    said.append(
        "The estimate is the mean over blocks of the logarithm of the ratio of the two times per step, "
        f"with its 95 % t interval, transformed back into percent of {metric.title.lower()}. Positive "
        "means slower than the baseline."
    )
    said += precision.protocol(study)
    return said


def _amount(records: Sequence[Record]) -> list[str]:
    good = [record for record in records if record.status == "ok"]
    if not good:
        return []
    turns = wording.span([len(record.turns) for record in good])
    steps = wording.span([record.timed_steps for record in good])
    warm_up = wording.span([len(record.warmup_s) for record in good])
    return [
        f"Steps of each run: {warm_up} to warm up, not counted, then {steps} that were timed, in {turns} "
        "turns; their raw durations are in the records."
    ]


def formula(metric: Metric) -> str:
    """The formula of `performance_overhead_pct`."""
    difference = "baseline − environment" if metric.more_is_better else "environment − baseline"
    return f"performance_overhead_pct = ({difference}) / baseline × 100"


def verdict_meanings(study: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each verdict and what it means."""
    margin = f"±{float(study.get('margin_pct', 2.0)):g} %"
    return [
        (
            f"{verdicts.SLOWER}, {verdicts.FASTER}",
            f"The 95 % interval excludes 0 and does not lie within {margin}.",
        ),
        (
            f"{verdicts.SLOWER_WITHIN}; {verdicts.FASTER_WITHIN}",
            f"The 95 % interval excludes 0 but lies within the margin of {margin}: too small to matter.",
        ),
        (verdicts.EQUIVALENT, f"The 90 % interval lies within {margin} (two one-sided tests at 5 %)."),
        (
            verdicts.INCONCLUSIVE,
            "None of these. The note says how many blocks would be needed if mean and spread stayed as they are.",
        ),
        (verdicts.NOT_COMPARABLE, "Something differs that is not the environment; no estimate is made."),
        (verdicts.NOT_MEASURED, "The environment can't be used here; the note says why and what helps."),
        (verdicts.MISSING, "Planned, but there is no usable block yet."),
    ]
