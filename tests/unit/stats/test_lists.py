"""The overhead of two lists of numbers."""

from __future__ import annotations

import math
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
    assert one.note == "an interval needs at least 2 values in each list"
    assert one.estimate_pct == pytest.approx(3)
    assert overhead_of_values([100], [97], metric="time", paired=True).note == "one pair gives no interval"
    assert overhead_of_values([100, 101, 99], [97], metric="throughput").ci_low_pct is None


def test_values_without_spread():
    found = overhead_of_values([100, 100, 100], [97, 97], metric="throughput")
    assert (found.ci_low_pct, found.ci_high_pct) == pytest.approx((3, 3))


def test_equivalent():
    found = overhead_of_values(BARE, [value * 1.0005 for value in BARE], metric="throughput", paired=True)
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
        (([1.0], [1.0]), {"margin_pct": 0}, "margin_pct is 0"),
    ],
)
def test_what_can_not_be(values, options, said):
    with pytest.raises(ValueError, match=said):
        overhead_of_values(*values, **({"metric": "throughput"} | options))


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
