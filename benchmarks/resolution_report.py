"""What `resolution.py` says of its results: estimates with their intervals, a table, and goals that are met or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from blocks import TRUTH_PCT
from resolution_methods import METHODS

from tare.stats.intervals import estimate
from tare.stats.lists import overhead_of_values
from tare.stats.metrics import THROUGHPUT

TARE = "f"
COMPARISONS = {"bare-again": "A/A", "injected-3": "injected 3 %"}
# The goals.
NARROWER_THAN_PAPERS = 6.0
A_A_HALF_WIDTH = 0.5
A_A_MINUTES = 5.0
SHARE_INSIDE = 0.9


@dataclass(frozen=True)
class Outcome:
    """An overhead in throughput, percent, with its 95 % interval; None where there is none.

    Attributes:
        note: what else the method says.
    """

    pct: float | None
    low_pct: float | None
    high_pct: float | None
    note: str = ""

    @property
    def half(self) -> float | None:
        """Half the width of the interval, points."""
        return None if self.low_pct is None or self.high_pct is None else (self.high_pct - self.low_pct) / 2

    def holds(self, truth_pct: float) -> bool:
        """Whether the interval holds the truth; without an interval it doesn't."""
        return (
            self.low_pct is not None
            and self.high_pct is not None
            and self.low_pct <= truth_pct <= self.high_pct
        )


NOTHING = Outcome(None, None, None)


def outcome(method: str, values: Mapping[str, Any]) -> Outcome:
    """The estimate of one repetition, made as the method makes it."""
    if method == "a":
        return _of_lists(values["baseline"], values["platform"], papers=True)
    if method == "b":
        return _of_commands(values)
    if method == "c":
        return _of_processes(values)
    ratios = [pair["log_ratio"] for pair in values["pairs"] if pair["log_ratio"] is not None]
    if not ratios:
        return NOTHING
    found = estimate(ratios, THROUGHPUT)
    low, high = found.interval_pct() or (None, None)
    return Outcome(found.pct, low, high, f"{len(ratios)} pairs of runs")


def _of_lists(
    baseline: Sequence[float], platform: Sequence[float], *, papers: bool = False, note: str = ""
) -> Outcome:
    """Welch on two lists of throughputs; the estimate by the papers' formula, or the middle of the logs."""
    if not baseline or not platform:
        return NOTHING
    found = overhead_of_values(baseline, platform, metric="throughput")
    pct = found.performance_overhead_pct if papers else found.estimate_pct
    note = note or f"{len(baseline)} + {len(platform)} runs"
    return Outcome(pct, found.ci_low_pct, found.ci_high_pct, note)


def _of_commands(values: Mapping[str, Any]) -> Outcome:
    """Whole commands less the start-up that was timed alike; the note says what the whole commands say."""
    start_s, items = fmean(values["start_s"]), values["steps"] * values["items_per_step"]
    baseline_s, platform_s = values["baseline_s"], values["platform_s"]
    whole = _of_lists([1 / t for t in baseline_s], [1 / t for t in platform_s])
    steps_s = fmean(baseline_s) - start_s
    true_s = fmean(baseline_s) + steps_s * values["injected_pct"] / 100
    true_pct = 100 * (1 - fmean(baseline_s) / true_s)
    note = (
        f"{len(baseline_s)} + {len(platform_s)} commands of {fmean(baseline_s):.1f} s, {start_s:.1f} s of it start-up; "
        f"whole commands: {shown(whole)}, truth {true_pct:.2f}"
    )
    if min(*baseline_s, *platform_s) <= start_s:
        return Outcome(None, None, None, f"a whole command took no longer than a start-up; {note}")
    return _of_lists(
        [items / (t - start_s) for t in baseline_s], [items / (t - start_s) for t in platform_s], note=note
    )


def _of_processes(values: Mapping[str, Any]) -> Outcome:
    """A process is one value, since what its steps share differs from process to process."""
    items = values["items_per_step"]
    baseline, platform = (
        [items / fmean(process) for process in values[key]] for key in ("baseline_s", "platform_s")
    )
    every = _of_lists(
        *([items / v for process in values[key] for v in process] for key in ("baseline_s", "platform_s"))
    )
    note = f"{len(baseline)} + {len(platform)} processes; each value for itself, as in compare_to: {shown(every)}"
    return _of_lists(baseline, platform, note=note)


def shown(found: Outcome) -> str:
    """An overhead with its interval, percent."""
    if found.pct is None:
        return "none"
    interval = (
        "" if found.half is None else f" [{found.low_pct:+.2f}, {found.high_pct:+.2f}]"
    )  # low is there where half is
    return f"{found.pct:+.2f}{interval}"


@dataclass(frozen=True)
class Row:
    """One repetition.

    Attributes:
        half: of its interval, as it would be in just the time that was given (it goes with 1 / sqrt(time)).
        minutes_needed: for +-1 point.
    """

    method: str
    platform: str
    repetition: int
    found: Outcome
    wall_s: float
    half: float | None
    minutes_needed: float | None
    failed: int

    @property
    def truth(self) -> float:
        """The overhead that is true by construction, percent."""
        return TRUTH_PCT[self.platform]


def row(result: Mapping[str, Any]) -> Row:
    """What one result file says."""
    found = outcome(result["method"], result["values"])
    half, wall_s, minutes = found.half, result["wall_s"], result["minutes"]
    return Row(
        result["method"],
        result["platform"],
        result["repetition"],
        found,
        wall_s,
        None if half is None else half * math.sqrt(wall_s / (60 * minutes)),
        None if half is None else half**2 * wall_s / 60,
        len(result["values"]["failed"]),
    )


def mean_half(rows: Sequence[Row], method: str, platform: str) -> float | None:
    """Mean half-width of a method's repetitions: infinite where one has no interval, None where there are none."""
    found = [r.half for r in rows if (r.method, r.platform) == (method, platform)]
    return fmean(math.inf if half is None else half for half in found) if found else None


def single_lines(rows: Sequence[Row]) -> list[str]:
    """A line for each repetition."""
    heads = ["method", "comparison", "repetition", "estimate [95 %]", "error", "half-width", "truth inside"]
    lines = _heads([*heads, "minutes for ±1", "took", ""])
    for r in rows:
        error = "" if r.found.pct is None else f"{r.found.pct - r.truth:+.2f}"
        said = f"{r.found.note}; {r.failed} failed" if r.failed else r.found.note
        inside, needed = "yes" if r.found.holds(r.truth) else "no", _number(r.minutes_needed, 1)
        cells = [r.method, COMPARISONS[r.platform], str(r.repetition), shown(r.found), error, _number(r.half)]
        lines.append(_line([*cells, inside, needed, f"{r.wall_s:.0f} s", said]))
    return lines


def summary_lines(rows: Sequence[Row]) -> list[str]:
    """A line for each method and comparison."""
    heads = ["method", "comparison", "repetitions", "mean error", "rms error", "half-width", "truth inside"]
    lines = _heads([*heads, "minutes for ±1", "half-width / Tare's"])
    for method, (title, _) in METHODS.items():
        for platform, comparison in COMPARISONS.items():
            own = [r for r in rows if (r.method, r.platform) == (method, platform)]
            if not own:
                continue
            errors = [r.found.pct - r.truth for r in own if r.found.pct is not None]
            half, tares = mean_half(rows, method, platform), mean_half(rows, TARE, platform)
            needed = [r.minutes_needed for r in own if r.minutes_needed is not None]
            cells = [
                f"({method}) {title}",
                comparison,
                str(len(own)),
                f"{fmean(errors):+.2f}" if errors else "none",
                _number(math.sqrt(fmean(e * e for e in errors)) if errors else None),
                _number(half),
                f"{sum(r.found.holds(r.truth) for r in own)} of {len(own)}",
                _number(fmean(needed) if needed else None, 1),
                _number(half / tares if half and tares else None, 1),
            ]
            lines.append(_line(cells))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _heads(heads: Sequence[str]) -> list[str]:
    return [_line(heads), _line(["---"] * len(heads))]


def _number(value: float | None, digits: int = 2) -> str:
    return "none" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def goals(rows: Sequence[Row], minutes: float) -> list[tuple[str, bool | None, str]]:
    """Each goal, whether it is met (None where it was not measured), and the figures."""
    found: list[tuple[str, bool | None, str]] = []
    for platform, comparison in COMPARISONS.items():
        tares = mean_half(rows, TARE, platform)
        for method in "abcde":
            least = NARROWER_THAN_PAPERS if method == "a" else 1.0
            half = mean_half(rows, method, platform)
            # one without any interval is infinitely wide, and not narrower than another such
            ratio = (0.0 if math.isinf(tares) else half / tares) if half and tares else None
            times = f"at least {least:g} times narrower" if method == "a" else "narrower"
            met = None if ratio is None else ratio >= least if method == "a" else ratio > least
            text = f"{comparison}: Tare's interval is {times} than that of ({method})"
            found.append((text, met, "" if ratio is None else f"{ratio:.1f} times"))
        inside = [r.found.holds(r.truth) for r in rows if (r.method, r.platform) == (TARE, platform)]
        text = f"{comparison}: truth inside Tare's interval in at least {SHARE_INSIDE:.0%} of repetitions"
        met = sum(inside) >= SHARE_INSIDE * len(inside) if inside else None
        found.append((text, met, f"{sum(inside)} of {len(inside)}"))
    half = mean_half(rows, TARE, "bare-again")
    scaled = None if half is None else half * math.sqrt(minutes / A_A_MINUTES)
    text = f"A/A: Tare's half-width is at most {A_A_HALF_WIDTH} points in {A_A_MINUTES:g} minutes"
    found.append((text, None if scaled is None else scaled <= A_A_HALF_WIDTH, _number(scaled)))
    return found


def report(results: Sequence[Mapping[str, Any]], minutes: float) -> tuple[str, bool]:
    """All of it in Markdown; and whether every goal that was measured is met."""
    order = [*METHODS]
    rows = sorted(
        map(row, results),
        key=lambda r: (order.index(r.method), [*COMPARISONS].index(r.platform), r.repetition),
    )
    judged = goals(rows, minutes)
    said = {True: "met", False: "NOT MET", None: "not measured"}
    lines = [
        *single_lines(rows),
        "",
        f"Half-widths as in just {minutes:g} minutes a comparison; truths {TRUTH_PCT['bare-again']:.2f} and "
        f"{TRUTH_PCT['injected-3']:.2f} % of throughput.",
        "",
        *summary_lines(rows),
        "",
        *(
            f"- {said[met]}: {text}{f' ({figures})' if figures and met is not None else ''}"
            for text, met, figures in judged
        ),
    ]
    machines = sorted({result["machine"] for result in results})
    return "\n".join([*lines, "", *machines]), all(met is not False for _, met, _ in judged)
