"""How precise a study is, in its report."""

from __future__ import annotations

import pytest

from tare.plan.table import IF_NEEDED
from tare.report import contents, levels, page, precision, protocol
from tare.stats import metrics
from tare.stats.overhead import overhead
from tests.unit import factory
from tests.unit.report import cases

WISH = {"precision_pct": 0.5, "repetitions": 6, "max_repetitions": 30}


def table(**other):
    return cases.case(*factory.study(**other)).overhead


def test_reports_of_other_studies_have_nothing_of_it():
    assert precision.said(table(), {}) == ""
    assert precision.rows(table(), {"precision_pct": None}) == []
    assert precision.protocol({"precision_pct": None}) == []
    one = cases.full()
    assert "How precise" not in page.render(cases.INFO, one.overhead, one.runs, one.plan, one.records, {})


def test_each_comparison_has_what_it_reached_and_what_it_would_need():
    found = precision.rows(table(process_noise=0.01), WISH)
    (row,) = found
    assert (row["cell"], row["environment"], row["blocks"], row["enough"]) == (
        "lenet-torch",
        "docker",
        "6",
        "no",
    )
    assert float(row["half_width"]) > 0.5
    assert int(row["more"]) > 1
    (row,) = precision.rows(table(process_noise=0.01), {**WISH, "precision_pct": 50})
    assert (row["enough"], row["more"]) == ("yes", "0")
    (row,) = precision.rows(table(repetitions=1), WISH)
    assert (row["half_width"], row["enough"], row["more"]) == ("", "no", "")


@pytest.mark.parametrize(
    ("wished", "said"),
    [
        (50.0, "Intervals of at most ±50 points were asked for, and reached in all 3 cells."),
        (
            0.001,
            "Intervals of at most ±0.001 points were asked for, and reached in 0 of 3 cells; not in fcn-r-torch, ",
        ),
    ],
)
def test_cells_are_counted(wished, said):
    assert precision.said(cases.full().overhead, {**WISH, "precision_pct": wished}).startswith(said)


def test_one_cell_and_none():
    assert precision.said(table(), {**WISH, "precision_pct": 50.0}).endswith("reached in the one cell.")
    nothing = overhead([], factory.plan(), metric="throughput_images_per_sec", margin_pct=2.0)
    assert precision.said(nothing, WISH).endswith("nothing can be compared yet.")


def test_the_page_says_it_and_how_measuring_stopped():
    one = cases.full()
    html = page.render(cases.INFO | WISH, one.overhead, one.runs, one.plan, one.records, {})
    assert "How precise it is" in html
    assert "were asked for, and reached in" in html
    (last,) = [
        text
        for text in protocol.paragraphs(WISH, [], metrics.THROUGHPUT, levels.intervals(one.overhead))
        if "±0.5 points" in text
    ]
    assert "at least 6 blocks and at most 30" in last
    assert "1 + 2 / blocks" in last
    assert last in html


def test_progress_counts_further_blocks_that_turned_out_to_be_needed():
    records, plan = factory.study(repetitions=4)
    plan.loc[plan["repetition"] > 2, "status"] = IF_NEEDED
    one = cases.case([r for r in records if r.repetition != 4], plan)
    assert contents.progress(plan, one.runs) == "6 of 6 runs measured."
    assert list(one.overhead["blocks"]) == [3, 3]
    assert list(one.overhead["note"].str.contains("measured")) == [False, False]
    # one run of a further block is gone: it is told
    lacking = cases.case([r for r in records if (r.repetition, r.environment) not in ((4, "bare"),)], plan)
    assert list(lacking.overhead["blocks"]) == [3, 3]
    note = lacking.overhead.set_index("environment").loc["docker", "note"]
    assert "3 of 4 blocks measured" in note
