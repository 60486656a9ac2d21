"""How it was measured, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.plan.quiet import DEFAULT, QUIET, SWITCHES
from tare.records.schema import Record
from tare.report import precision, wording
from tare.report.levels import Intervals
from tare.stats import drift, verdicts
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
_QUIET = (
    "These are the same in every environment, so that equal processes are more nearly equally fast. An environment "
    "that makes page faults dearer looks better under huge pages and a heap in one piece."
)
_DEFAULT = (
    "Memory, threads and garbage collection are left as the frameworks have them; equal processes then differ more, "
    "and intervals are wider."
)

_HOLM = (
    "The more comparisons a table has, the more often chance alone makes one of them look like a difference. "
    "Levels are therefore set for all comparisons together (Holm): the smallest p value of m is held against 5 % / m, "
    "the next against 5 % / (m − 1), up to the first that fails; it and all after it have the level at which it "
    "failed. Each printed interval has the level of its verdict. If nothing truly differed, a table "
    "would say slower or faster of anything in at most 1 of 20 studies. Equivalences are a family of their own, "
    "decided in the same manner."
)


def paragraphs(
    study: Mapping[str, Any], records: Sequence[Record], metric: Metric, intervals: Intervals
) -> list[str]:
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
    said += _attested(records)
    said += _settings(records)
    said.append(
        "The estimate is the mean over blocks of the logarithm of the ratio of the two times per step, "
        f"with its {intervals.words}, transformed back into percent of {metric.title.lower()}. Positive "
        "means slower than the baseline."
    )
    said += [_HOLM] if intervals.adjusted else []
    said.append(
        f"Where at least {drift.LEAST_BLOCKS} blocks were measured it is looked for whether the overhead drifts, from "
        "block to block or within blocks, and whether it depends on which of the two came first. A note says where "
        "it does; no estimate is changed by it."
    )
    said += precision.protocol(study)
    return said


def _attested(records: Sequence[Record]) -> list[str]:
    """How many runs were found to be what their labels say."""
    good = [record for record in records if record.status == "ok"]
    judged = sum(bool(record.attested) for record in good)
    if not good:
        return []
    found = (
        f"All {judged} runs were found to be where their labels say."
        if judged == len(good)
        else f"None of the {len(good)} runs was judged: older versions did not record the verdict."
        if not judged
        else f"{judged} of {len(good)} runs were found to be where their labels say; the others are of older versions, "
        "which did not record the verdict."
    )
    return [
        "Where a run was is told by what its worker and the host's kernel see (mounts, namespaces, control groups, the "
        f"programs that started it), and a run that is not where its label says has failed. {found}"
    ]


def _settings(records: Sequence[Record]) -> list[str]:
    """Which settings were in force, a paragraph for each kind; cells that share them are named by framework."""
    said = []
    if quiet := [record for record in records if record.cell.settings == QUIET]:
        by: dict[str, list[str]] = {}
        for record in quiet:
            names = [SWITCHES[name].short for name in record.spec.get("quiet", ()) if name in SWITCHES]
            frameworks = by.setdefault(wording.listed(names) or "none", [])
            if record.cell.framework not in frameworks:
                frameworks.append(record.cell.framework)
        each = "; ".join(f"{names} ({wording.listed(frameworks)})" for names, frameworks in by.items())
        said.append(f"Settings: {QUIET}: {each}. {_QUIET}")
    if any(record.cell.settings == DEFAULT for record in records):
        where = f" (in cells whose names end in -{DEFAULT})" if quiet else ""
        said.append(f"Settings: {DEFAULT}{where}. {_DEFAULT}")
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


def verdict_meanings(study: Mapping[str, Any], intervals: Intervals) -> list[tuple[str, str]]:
    """Each verdict and what it means."""
    margin = f"±{float(study.get('margin_pct', 2.0)):g} %"
    equivalence = f"The 90 % interval lies within {margin} (two one-sided tests at 5 %)"
    if intervals.adjusted:
        equivalence = (
            f"Two one-sided tests say that it lies within {margin} (at 5 % for all comparisons, Holm)"
        )
    return [
        (
            f"{verdicts.SLOWER}, {verdicts.FASTER}",
            f"The interval excludes 0 and does not lie within {margin}.",
        ),
        (
            f"{verdicts.SLOWER_WITHIN}; {verdicts.FASTER_WITHIN}",
            f"The interval excludes 0 but lies within the margin of {margin}: too small to matter.",
        ),
        (verdicts.EQUIVALENT, f"{equivalence}: a difference, if there is one, is too small to matter."),
        (
            verdicts.INCONCLUSIVE,
            "None of these. The note says how many blocks a new study would need should mean and spread stay.",
        ),
        (verdicts.NOT_COMPARABLE, "Something differs that is not the environment; no estimate is made."),
        (verdicts.NOT_MEASURED, "The environment can't be used here; the note says why and what helps."),
        (verdicts.MISSING, "Planned, but there is no usable block yet."),
    ]
