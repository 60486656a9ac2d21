"""Which settings a number belongs to is said everywhere: in a column where there are both, else once."""

from __future__ import annotations

import pandas as pd

from tare.records.schema import Record
from tare.report import dots, facts, forest, protocol, rows, sentences, tables, text
from tare.report.levels import Intervals
from tare.stats import metrics
from tests.unit.report import cases

BOTH = "Settings: default in cells whose names end in -default, quiet in the others."


def texts(case: cases.Case) -> list[str]:
    """What the tables, both figures and the summary say."""
    found = forest.entries(case.overhead)
    return [
        tables.caption(case.overhead),
        " ".join(forest.footer(case.overhead, found, 2.0)),
        " ".join(dots.footer(case.runs, case.runs)),
        text.summary(case.overhead),
    ]


def test_with_one_of_them_it_is_said_once():
    for case, words in ((cases.full(), "Settings: quiet."), (cases.ladder(), "Settings: default.")):
        assert all(said.count("Settings:") == 1 and words in said for said in texts(case))
        assert "Settings" not in [column.title for column in tables.columns(case.overhead)]


def test_with_both_each_line_says_which():
    case = cases.both()
    assert all(said.count("Settings:") == 1 and BOTH in said for said in texts(case))
    (column,) = [c for c in tables.columns(case.overhead) if c.title == "Settings"]
    assert {(line.cell, column.value(line)) for line in rows.lines(case.overhead)} == {
        ("lenet-torch", "quiet"),
        ("lenet-torch-default", "default"),
    }
    assert set(case.overhead["settings"]) == set(case.runs["settings"]) == {"quiet", "default"}
    assert [entry.label for entry in forest.entries(case.overhead) if entry.kind == "cell"] == [
        "lenet-torch",
        "lenet-torch-default",
    ]


def test_findings_do_not_mix_them():
    found = {finding.subject: finding.text for finding in sentences.findings(cases.both().overhead)}
    assert list(found) == ["docker, settings quiet", "docker, settings default"]
    assert "in the one cell lenet-torch:" in found["docker, settings quiet"]
    assert "in the one cell lenet-torch-default:" in found["docker, settings default"]


def paragraphs(records: list[Record]) -> str:
    return " ".join(
        protocol.paragraphs({}, records, metrics.THROUGHPUT, Intervals("t", False, 95.0, 95.0, 0))
    )


def test_the_protocol_names_the_switches_that_were_on():
    said = paragraphs(cases.both().records)
    assert (
        "Settings: quiet: garbage collector off after warm-up, huge pages and heap in one piece (torch)."
        in said
    )
    assert "Settings: default (in cells whose names end in -default)." in said
    none = [r.model_copy(update={"spec": r.spec | {"quiet": []}}) for r in cases.full().records]
    assert "Settings: quiet: none (" in paragraphs(none)


def test_variables_are_told_for_each_of_them():
    assert [(start.environment, start.where) for start in facts.starts(cases.both().records)] == [
        ("bare", "torch, settings default"),
        ("bare", "torch, settings quiet"),
        ("docker", "torch, settings default"),
        ("docker", "torch, settings quiet"),
    ]
    assert {start.where for start in facts.starts(cases.ladder().records)} == {""}


def test_a_table_without_a_row_has_none():
    assert rows.settings_said(pd.DataFrame({"settings": pd.Series([], dtype="string")})) == ""
