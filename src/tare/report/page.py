"""report.html: one file that needs nothing else to be read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from tare.records.schema import Record
from tare.records.store import write_atomically
from tare.report import (
    contents,
    facts,
    learning,
    levels,
    precision,
    protocol,
    quietness,
    rows,
    sentences,
    svg,
    tables,
    wording,
)
from tare.stats import verdicts
from tare.stats.known import SelfCheck
from tare.stats.planned import natural

_FIGURES = {
    "overhead": "Estimate and interval of the overhead of each environment in each cell; the "
    "numbers are in the table",
    "throughput": "Throughput of every run of each environment in each cell",
}


def write(
    path: Path,
    study: Mapping[str, Any],
    overhead: pd.DataFrame,
    runs: pd.DataFrame,
    plan: pd.DataFrame,
    records: Sequence[Record],
    figures_svg: Mapping[str, str],
    *,
    superseded: int = 0,
    interrupted: int = 0,
    self_check: SelfCheck | None = None,
) -> None:
    """Write the report.

    Args:
        path: of the HTML file.
        study: name, title, margin_pct, metric, schedule, tare_version.
        overhead: the table of overheads.
        runs: the table of runs.
        plan: plan.csv as a frame.
        records: all records, in any order.
        figures_svg: content of the SVG files, `overhead` and `throughput`; one that is not there is left out.
        superseded: how many records were replaced by newer ones.
        interrupted: how many runs were broken off.
        self_check: the last one on this machine.
    """
    text = render(
        study, overhead, runs, plan, records, figures_svg,
        superseded=superseded, interrupted=interrupted, self_check=self_check,
    )  # fmt: skip
    write_atomically(path, text)


def render(
    study: Mapping[str, Any],
    overhead: pd.DataFrame,
    runs: pd.DataFrame,
    plan: pd.DataFrame,
    records: Sequence[Record],
    figures_svg: Mapping[str, str],
    *,
    superseded: int = 0,
    interrupted: int = 0,
    self_check: SelfCheck | None = None,
) -> str:
    """The report as text; see `write`."""
    ordered = sorted(records, key=lambda r: (natural(r.cell.name), r.repetition, r.slot, r.environment))
    lines = rows.lines(overhead)
    quiet = quietness.quietness(ordered)
    context = {
        "study": {"title": "", "name": "", "tare_version": ""} | dict(study),
        "style": Markup(_environment().get_template("style.css").render()),
        "progress": contents.progress(plan, runs),
        "measured": contents.period(ordered),
        "findings": sentences.findings(overhead),
        "baselines": wording.listed(rows.baselines_of(overhead)),
        "figures": {
            name: svg.inline(figures_svg[name], name, t)
            for name, t in _FIGURES.items()
            if name in figures_svg
        },
        "caption": tables.caption(overhead),
        "columns": tables.columns(overhead),
        "lines": lines,
        "differing": contents.differing(lines),
        "lessons": learning.lessons(runs),
        "precision": precision.rows(overhead, study),
        "precision_said": precision.said(overhead, study),
        "quietness": quiet,
        "quietness_said": quietness.said(quiet),
        "unmeasured": contents.unmeasured(plan),
        "missing": [line for line in lines if line.verdict == verdicts.MISSING],
        "failed": contents.failed(ordered, runs),
        "set_aside": contents.set_aside(superseded, interrupted),
        "protocol": protocol.paragraphs(study, ordered, rows.metric_of(overhead), levels.intervals(overhead)),
        "self_check": contents.self_check(self_check),
        "known": contents.known_rows(self_check.answers if self_check else ()),
        "formula": protocol.formula(rows.metric_of(overhead)),
        "verdict_meanings": protocol.verdict_meanings(study, levels.intervals(overhead)),
        "machine": facts.machine(ordered),
        "given": facts.given(ordered),
        "software": facts.software(ordered),
        "engines": facts.engines(ordered),
        "starts": facts.starts(ordered),
        "runs": contents.run_rows(runs),
    }
    return _environment().get_template("report.html.j2").render(context)


def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("tare.report"),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html", "j2"), default=False),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code"] = code
    made.filters["typographic"] = wording.typographic
    return made


def code(text: str) -> Markup:
    """Text, escaped, with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
