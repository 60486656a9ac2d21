"""The overhead of two lists of numbers."""

from __future__ import annotations

import math
import re
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from tare.stats import pairs
from tare.stats.lists import overhead_of_values
from tare.stats.overhead import overhead
from tests.unit import factory

BARE = [6400.0, 6380.0, 6450.0, 6420.0, 6395.0]
DOCKER = [6210.0, 6190.0, 6250.0, 6260.0, 6180.0]


def test_by_hand():
    """ln(100/97) and ln(100/95): mean 0.040876, sd 0.014732, t(0.975, 1) = 12.7062."""
    found = overhead_of_values([100, 100], [97, 95], metric="throughput", paired=True)
    logs = [math.log(100 / 97), math.log(100 / 95)]
    half = 12.706204736 * abs(logs[0] - logs[1]) / 2
    assert found.estimate_pct == pytest.approx(100 * (1 - math.exp(-fmean(logs))))
    assert found.ci_low_pct == pytest.approx(100 * (1 - math.exp(-(fmean(logs) - half))))
    assert found.ci_high_pct == pytest.approx(100 * (1 - math.exp(-(fmean(logs) + half))))
    assert found.performance_overhead_pct == pytest.approx(4.0)
    assert (found.baseline_runs, found.platform_runs, found.verdict) == (2, 2, "inconclusive")


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_paired_is_scipys_paired_test_on_logs(level):
    found = overhead_of_values(BARE, DOCKER, metric="throughput", paired=True, level=level)
    low, high = stats.ttest_rel(np.log(BARE), np.log(DOCKER)).confidence_interval(level)
    assert found.ci_low_pct == pytest.approx(100 * (1 - math.exp(-low)))
    assert found.ci_high_pct == pytest.approx(100 * (1 - math.exp(-high)))


def test_unpaired_is_welchs():
    """Worked out without scipy's test: standard error and degrees of freedom by Welch and Satterthwaite."""
    found = overhead_of_values(BARE, DOCKER[:4], metric="throughput")
    a, b = np.log(BARE), np.log(DOCKER[:4])
    parts = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    df = sum(parts) ** 2 / (parts[0] ** 2 / (len(a) - 1) + parts[1] ** 2 / (len(b) - 1))
    half = stats.t.ppf(0.975, df) * math.sqrt(sum(parts))
    middle = a.mean() - b.mean()
    assert found.ci_low_pct == pytest.approx(100 * (1 - math.exp(-(middle - half))))
    assert found.ci_high_pct == pytest.approx(100 * (1 - math.exp(-(middle + half))))
    assert (found.baseline_runs, found.platform_runs, found.paired) == (5, 4, False)


@pytest.mark.parametrize("paired", [False, True])
def test_positive_is_slower_for_throughputs_and_for_times(paired):
    by_throughput = overhead_of_values(BARE, DOCKER, metric="throughput", paired=paired)
    times = [[64 / value for value in values] for values in (BARE, DOCKER)]
    by_time = overhead_of_values(*times, metric="time", paired=paired)
    assert by_throughput.verdict == by_time.verdict == "slower"
    assert 0 < by_throughput.ci_low_pct < by_throughput.estimate_pct < by_throughput.ci_high_pct
    ratio = 1 / (1 - by_throughput.estimate_pct / 100)
    assert by_time.estimate_pct == pytest.approx(100 * (ratio - 1))
    assert overhead_of_values(DOCKER, BARE, metric="throughput", paired=paired).verdict == "faster"


def test_the_same_as_the_pipeline_says():
    records, plan = factory.study(schedule="sequential", repetitions=8)
    row = overhead(records, plan, metric="throughput_images_per_sec", margin_pct=2.0).iloc[1]
    values = {
        name: [r.throughput_images_per_sec for r in records if r.environment == name]
        for name in ("bare", "docker")
    }
    found = overhead_of_values(values["bare"], values["docker"], metric="throughput", paired=True)
    for column in (
        "baseline_value",
        "value",
        "performance_overhead_pct",
        "estimate_pct",
        "ci_low_pct",
        "ci_high_pct",
    ):
        assert getattr(found, column) == pytest.approx(row[column]), column
    assert found.verdict == row["verdict"]
    assert pairs.log_total_ratio(pairs.Pair(records[0], records[1])) is not None


def test_few_values():
    one = overhead_of_values([100], [97], metric="throughput")
    assert (one.ci_low_pct, one.verdict) == (None, "inconclusive")
    assert one.note.startswith(
        "an interval needs at least 2 values in each list; the two lists are taken for"
    )
    assert one.estimate_pct == pytest.approx(3)
    assert overhead_of_values([100], [97], metric="time", paired=True).note == "one pair gives no interval"
    assert overhead_of_values([100, 101, 99], [97], metric="throughput").ci_low_pct is None


def test_values_without_spread():
    """Equal numbers were rounded or copied: no interval, and no verdict, rest on them."""
    found = overhead_of_values([100, 100, 100], [97, 97], metric="throughput")
    assert (found.ci_low_pct, found.ci_high_pct, found.verdict) == (None, None, "inconclusive")
    assert found.note.startswith(
        "all values of a list are the very same in both lists, which gives no interval"
    )
    paired = overhead_of_values([100, 200, 300], [97, 194, 291], metric="throughput", paired=True)
    assert (paired.ci_low_pct, paired.verdict) == (None, "inconclusive")
    assert paired.note == "all 3 pairs have the very same ratio, which gives no interval"
    one_sided = overhead_of_values([100, 100, 100], [97, 98, 96], metric="throughput")
    assert one_sided.ci_low_pct < 3 < one_sided.ci_high_pct


@pytest.mark.parametrize("paired", [False, True])
def test_what_a_verdict_would_need(paired):
    """As many as that, made of the same values over and over, do decide; fewer do not."""
    base, own = [100.0, 110.0, 96.0, 104.0], [99.0, 111.0, 97.0, 100.0]
    found = overhead_of_values(base, own, metric="throughput", paired=paired)
    assert found.verdict == "inconclusive"
    match = re.match(r"for a verdict about (\d+) (pairs|values in each list) would be needed", found.note)
    assert match and match[2] == ("pairs" if paired else "values in each list")
    times = int(match[1]) / len(base)
    assert times > 1
    many = overhead_of_values(
        base * math.ceil(1.2 * times), own * math.ceil(1.2 * times), metric="throughput", paired=paired
    )
    assert many.verdict != "inconclusive"
    few = int(0.7 * times)
    assert few < 1 or overhead_of_values(
        base * few, own * few, metric="throughput", paired=paired
    ).verdict == ("inconclusive")


def test_the_unpaired_interval_is_scipys():
    found = overhead_of_values(BARE, DOCKER[:4], metric="time", level=0.99)
    low, high = stats.ttest_ind(np.log(DOCKER[:4]), np.log(BARE), equal_var=False).confidence_interval(0.99)
    assert found.ci_low_pct == pytest.approx(100 * math.expm1(low))
    assert found.ci_high_pct == pytest.approx(100 * math.expm1(high))


def test_equivalent():
    own = [value * (1.0005 + 0.00001 * place) for place, value in enumerate(BARE)]
    found = overhead_of_values(BARE, own, metric="throughput", paired=True)
    assert found.verdict == "faster, within margin"
    shuffled = [BARE[2], BARE[0], BARE[1], BARE[4], BARE[3]]
    assert overhead_of_values(BARE, shuffled, metric="throughput").verdict == "equivalent"


@pytest.mark.parametrize(
    ("values", "options", "said"),
    [
        (([], [1.0]), {}, "baseline has no value"),
        (([1.0, math.nan], [1.0]), {}, "value 2 of baseline is nan"),
        (([1.0], [0.0]), {}, "value 1 of platform is 0.0"),
        (([1.0], [-3.0]), {}, "value 1 of platform is -3.0"),
        (([1.0, 2.0], [1.0]), {"paired": True}, "baseline has 2 values and platform 1"),
        (([1.0], [1.0]), {"metric": "speed"}, "metric 'speed' is not known"),
        (([1.0], [1.0]), {"level": 95}, "level is 95"),
        (
            ([1.0], [1.0]),
            {"level": 0.999999999999},
            "level is 0.999999999999; choose one above 0.5 and at most",
        ),
        (([1.0], [1.0]), {"margin_pct": 0}, "margin_pct is 0"),
        (([1.0], [1.0]), {"margin_pct": math.inf}, "margin_pct is inf; set it above 0 and below 100"),
        (([1.0], [1.0]), {"margin_pct": math.nan}, "margin_pct is nan"),
        (
            ([0.01, 0.02], [101.0, 202.0]),
            {},
            "over 300 times as large as those of the other; give both in the",
        ),
        (([0.0100, 0.0101], [10.3, 10.4]), {"metric": "time"}, "over 300 times as large"),
        (([100.0, 101.0, 99.0, 0.1], [100.0, 98.0]), {}, "values of baseline reach from 0.1 to 101"),
        (([1e308, 1e308], [1.0]), {}, "value 1 of baseline is 1e.308; give it in a unit of its own size"),
        (
            ([1.0, 3.0], [1.0, 290.0]),
            {"metric": "time", "level": 0.9999, "paired": True},
            "no end that a number could hold",
        ),
    ],
)
def test_what_can_not_be(values, options, said):
    with pytest.raises(ValueError, match=said):
        overhead_of_values(*values, **({"metric": "throughput"} | options))


@pytest.mark.parametrize("paired", [True, False])
def test_which_interval_decides_on_equivalence_is_told_where_the_printed_one_says_otherwise(paired):
    base = [100.0, 101.0, 99.0, 100.5, 99.5] if paired else [100.0, 100.1, 99.9, 100.05, 99.95]
    spread = (0.004, -0.012, 0.010, -0.008, 0.006)
    own = [b * (1 - 0.006) * (1 + e) for b, e in zip(base, spread, strict=True)]
    margins = [m / 100 for m in range(150, 300)]
    notes = [
        found.note
        for margin in margins
        if (
            found := overhead_of_values(base, own, metric="throughput", paired=paired, margin_pct=margin)
        ).verdict
        == "equivalent"
        and max(abs(found.ci_low_pct), abs(found.ci_high_pct)) > margin
    ]
    assert notes
    for note in notes:
        assert "what decides on equivalence is the interval of two one-sided tests (90 %), [" in note
        assert "which lies within ±" in note


@pytest.mark.parametrize("sizes", [(5, 5), (4, 12)])
def test_the_unpaired_interval_covers(sizes):
    """1,000 studies of lists with unequal spread: 95 % up to the error of the count (four standard errors)."""
    random = np.random.default_rng(7)
    truth, hits, studies = 3.0, 0, 1000
    for _ in range(studies):
        base = 100 * np.exp(random.normal(0, 0.01, sizes[0]))
        own = 97 * np.exp(random.normal(0, 0.02, sizes[1]))
        found = overhead_of_values(list(base), list(own), metric="throughput")
        hits += found.ci_low_pct <= truth <= found.ci_high_pct
    assert 0.95 - 4 * math.sqrt(0.95 * 0.05 / studies) < hits / studies < 0.985
