"""benchmarks/resolution.py: what other tools print is read right, estimates and goals, what is still to be measured."""

import json
from argparse import Namespace
from pathlib import Path

import blocks
import pytest
import resolution
import resolution_methods as methods
import resolution_report as reports

from tare.plan.matrix import cells
from tare.stats.pairs import Pair
from tests.unit.factory import record, turn

MACHINE = "Example CPU, 2 CPUs, kernel 6.1"


def result(method, values, platform="bare-again", repetition=1, wall_s=300.0, minutes=5.0):
    return {
        "version": 1, "method": method, "platform": platform, "repetition": repetition, "minutes": minutes,
        "wall_s": wall_s, "machine": MACHINE, "values": {"failed": [], **values},
    }  # fmt: skip


def pairs(*log_ratios):
    return {"pairs": [{"log_ratio": ratio} for ratio in log_ratios]}


# ---- what is measured ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quiet", [True, False])
def test_studies_of_benchmarks_are_valid_and_have_the_settings_asked_for(quiet):
    study = blocks.make_study(
        "x", ["bare", "bare-again"], quiet=quiet, schedule="sequential", steps_per_turn=20
    )
    assert [cell.settings for cell in cells(study)] == ["quiet" if quiet else "default"]


def test_other_tools_train_with_the_variables_of_a_worker_under_plain_settings(tmp_path):
    variables = methods._variables(tmp_path)
    assert variables["OMP_NUM_THREADS"] == str(methods._threads())
    assert not variables.keys() & {"GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "OMP_PROC_BIND", "GOMP_SPINCOUNT"}


@pytest.mark.slow
@pytest.mark.parametrize("method", "adefgh")
def test_each_of_tares_methods_measures(method, tmp_path):
    data = blocks.prepared_data(tmp_path)
    job = methods.Job(method, "bare-again", 1, 25.0, "lenet", data, tmp_path / "runs", tmp_path / "tools")
    found = methods.METHODS[method][1](job)
    assert found["failed"] == []
    assert len(found["pairs"] if method not in "a" else found["platform"]) >= 2


# ---- reading -------------------------------------------------------------------------------------------------------


def test_hyperfine_gives_the_times_of_each_command():
    content = {
        "results": [
            {"command": "x", "mean": 2.0, "times": [1.9, 2.1], "exit_codes": [0, 0]},
            {"command": "y", "mean": 3.0, "times": [3.0], "exit_codes": [0]},
        ]
    }
    assert methods.parse_hyperfine(content) == [[1.9, 2.1], [3.0]]


@pytest.mark.parametrize(
    ("entry", "said"),
    [({"times": [1.0, 0.1], "exit_codes": [0, 1]}, "failed"), ({"times": [], "exit_codes": []}, "no times")],
)
def test_hyperfine_without_good_times_is_refused(entry, said):
    with pytest.raises(methods.Failed, match=said):
        methods.parse_hyperfine({"results": [{"command": "x", **entry}]})


def test_pyperf_gives_values_by_process_and_none_of_calibration():
    runs = [{"warmups": [[1, 0.2]]}, {"warmups": [[16, 0.02]], "values": [0.01, 0.011]}, {"values": [0.012]}]
    assert methods.parse_pyperf({"benchmarks": [{"runs": runs}]}) == [[0.01, 0.011], [0.012]]


@pytest.mark.parametrize("benchmarks", [[], [{"runs": [{"warmups": [[1, 0.2]]}]}], [{"runs": []}] * 2])
def test_pyperf_without_values_is_refused(benchmarks):
    with pytest.raises(methods.Failed):
        methods.parse_pyperf({"benchmarks": benchmarks})


def test_the_duet_takes_the_mean_of_what_ran_at_the_same_time():
    base = record(environment="bare", turns=[turn([0.01] * 2, round=n) for n in range(3)])
    own = record(environment="b", turns=[turn([0.01] * 2, round=0), turn([0.02] * 2, round=1)])
    assert methods.mean_log_ratio(Pair(base, own)) == pytest.approx(0.34657, abs=1e-4)


# ---- estimates -----------------------------------------------------------------------------------------------------


def test_the_papers_formula_is_on_means():
    found = reports.outcome("a", {"baseline": [100.0, 102.0, 98.0], "platform": [97.0, 99.0, 95.0]})
    assert found.pct == pytest.approx(3.0)
    assert found.low_pct < 3.0 < found.high_pct


def test_start_up_is_taken_off_whole_commands():
    values = {
        "steps": 300, "items_per_step": 64, "injected_pct": 3.0, "start_s": [3.0, 3.0],
        "baseline_s": [6.0, 6.01, 5.99], "platform_s": [6.09, 6.1, 6.08],
    }  # fmt: skip
    found = reports.outcome("b", values)
    assert found.pct == pytest.approx(100 * (1 - 1 / 1.03), abs=0.01)
    assert "truth 1.48" in found.note  # 0.09 of 6.09 s
    assert "+1.48" in found.note


def test_commands_that_are_all_start_up_give_nothing():
    values = {
        "steps": 1, "items_per_step": 64, "injected_pct": 0.0, "start_s": [3.0],
        "baseline_s": [2.9, 3.1], "platform_s": [3.0, 3.1],
    }  # fmt: skip
    found = reports.outcome("b", values)
    assert found.pct is None
    assert "no longer than a start-up" in found.note


def test_a_process_is_one_value_however_many_values_it_has():
    few = {"items_per_step": 64, "baseline_s": [[0.01], [0.012]], "platform_s": [[0.011], [0.013]]}
    many = {key: [v * 9 for v in value] if key != "items_per_step" else 64 for key, value in few.items()}
    assert reports.outcome("c", many).half == pytest.approx(reports.outcome("c", few).half)


@pytest.mark.parametrize("method", ["d", "e", "f"])
def test_pairs_give_a_t_interval(method):
    found = reports.outcome(method, pairs(0.02, 0.03, 0.04))
    assert found.pct == pytest.approx(2.955, abs=0.01)
    assert found.half == pytest.approx(4.3027 * 0.01 / 3**0.5 * 100 * 0.97, rel=0.02)


@pytest.mark.parametrize(("values", "inside"), [(pairs(0.02, 0.03, 0.04), True), (pairs(0.1, 0.101), False)])
def test_truth_inside(values, inside):
    assert reports.outcome("f", values).holds(100 * (1 - 1 / 1.03)) is inside


def test_without_an_interval_no_truth_is_inside():
    assert not reports.outcome("f", pairs(0.0)).holds(0.0)
    assert not reports.outcome("f", {"pairs": []}).holds(0.0)


def test_half_widths_are_compared_at_the_same_time():
    exact = reports.row(result("f", pairs(-0.01, 0.0, 0.01)))
    late = reports.row(result("f", pairs(-0.01, 0.0, 0.01), wall_s=1200.0))
    assert late.half == pytest.approx(2 * exact.half)
    assert late.minutes_needed == pytest.approx(4 * exact.minutes_needed)
    assert exact.minutes_needed == pytest.approx(5 * exact.half**2)


# ---- report --------------------------------------------------------------------------------------------------------


def some_results(papers_spread, tares_spread=0.001):
    lists = {"baseline": [100 - papers_spread, 100.0, 100 + papers_spread]}
    lists["platform"] = lists["baseline"]
    return [result("a", lists), result("f", pairs(-tares_spread, 0.0, tares_spread))]


def judged(results):
    return {text: met for text, met, _ in reports.goals([reports.row(r) for r in results], 5.0)}


@pytest.mark.parametrize(("papers_spread", "met"), [(5.0, True), (0.1, False)])
def test_six_times_narrower_than_the_papers(papers_spread, met):
    assert (
        judged(some_results(papers_spread))[
            "A/A: Tare's interval is at least 6 times narrower than that of (a)"
        ]
        is met
    )


@pytest.mark.parametrize(("spread", "met"), [(0.001, True), (0.01, False)])
def test_half_a_point_in_five_minutes(spread, met):
    assert (
        judged(some_results(5.0, spread))["A/A: Tare's half-width is at most 0.5 points in 5 minutes"] is met
    )


@pytest.mark.parametrize(("missed", "met"), [(1, True), (2, False)])
def test_nine_of_ten_truths(missed, met):
    rows = [
        result("f", pairs(0.1, 0.101) if n <= missed else pairs(-0.01, 0.01), repetition=n)
        for n in range(1, 11)
    ]
    assert judged(rows)["A/A: truth inside Tare's interval in at least 90% of repetitions"] is met


def test_a_repetition_of_tare_without_interval_meets_no_goal_of_its_width():
    results = [*some_results(5.0), result("f", pairs(0.0), repetition=2)]
    found = judged(results)
    assert found["A/A: Tare's half-width is at most 0.5 points in 5 minutes"] is False
    assert found["A/A: Tare's interval is at least 6 times narrower than that of (a)"] is False
    assert not reports.report(results, 5.0)[1]


def test_one_of_another_method_without_interval_is_wider():
    results = [*some_results(5.0), result("d", pairs(0.0), repetition=1)]
    assert judged(results)["A/A: Tare's interval is narrower than that of (d)"] is True


def test_the_report_says_all_of_it():
    text, met = reports.report(some_results(5.0), 5.0)
    assert met
    assert "| (a) the papers' protocol | A/A | 1 |" in text
    assert "not measured: injected 3 %" in text
    assert MACHINE in text
    _, met = reports.report(some_results(0.1), 5.0)
    assert not met


def test_failed_runs_are_told():
    text, _ = reports.report([result("f", {**pairs(-0.01, 0.01), "failed": ["bare: It broke."]})], 5.0)
    assert "1 failed" in text


# ---- what is still to be measured ----------------------------------------------------------------------------------


def test_repetitions():
    assert resolution.repetitions("a=1,f=4") == {**resolution.REPETITIONS, "a": 1, "f": 4}
    for wrong in ("a", "z=3", "a=-1"):
        with pytest.raises(ValueError, match="write for example"):
            resolution.repetitions(wrong)


def test_the_order_is_random_and_the_same_again():
    jobs = resolution.wanted("abcdef", resolution.REPETITIONS)
    assert len(jobs) == 50
    assert methods.shuffled(jobs, 1) == methods.shuffled(jobs[::-1], 1) != jobs
    assert methods.shuffled(jobs, 1) != methods.shuffled(jobs, 2)


def stub(values):
    return ("stub", lambda job: {"failed": [], **values})


def arguments(folder, **other):
    values = {"folder": folder, "minutes": 5.0, "methods": "f", "repetitions": {"f": 2}, "model": "lenet", "seed": 1,
              "comparisons": [*resolution.COMPARISONS],
              "hours": 9.0}  # fmt: skip
    return Namespace(**(values | other))


def test_only_what_is_missing_is_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOST_LOCK", str(tmp_path / "lock"))
    monkeypatch.setitem(resolution.METHODS, "f", stub(pairs(0.0, 0.01)))
    assert resolution.measure_missing(arguments(tmp_path, repetitions={"f": 1}))
    kept = resolution.path_of(tmp_path, "f", "bare-again", 1)
    before = kept.read_text()
    monkeypatch.setitem(resolution.METHODS, "f", stub(pairs(0.5, 0.6)))
    assert resolution.measure_missing(arguments(tmp_path))
    assert kept.read_text() == before
    assert len(resolution.read(tmp_path, 5.0)) == 4
    kept.unlink()
    assert resolution.measure_missing(arguments(tmp_path))
    assert json.loads(kept.read_text())["values"]["pairs"][0]["log_ratio"] == 0.5


def test_a_method_that_fails_is_told_and_the_others_go_on(tmp_path, monkeypatch, capsys):
    def broken(job):
        raise methods.Failed("It is not there.")

    monkeypatch.setenv("TARE_HOST_LOCK", str(tmp_path / "lock"))
    monkeypatch.setitem(resolution.METHODS, "b", ("broken", broken))
    monkeypatch.setitem(resolution.METHODS, "f", stub(pairs(0.0, 0.01)))
    assert not resolution.measure_missing(arguments(tmp_path, methods="bf", repetitions={"b": 1, "f": 1}))
    assert "It is not there." in capsys.readouterr().err
    assert {r["method"] for r in resolution.read(tmp_path, 5.0)} == {"f"}


def test_results_of_another_time_are_not_mixed_in(tmp_path):
    path = resolution.path_of(tmp_path, "f", "bare-again", 1)
    path.parent.mkdir()
    path.write_text(json.dumps(result("f", pairs(0.0, 0.1), minutes=1.0)))
    with pytest.raises(ValueError, match="measured in 1 minutes"):
        resolution.read(tmp_path, 5.0)
    path.write_text("{")
    with pytest.raises(ValueError, match="can't be read"):
        resolution.read(tmp_path, 5.0)


def test_the_documentation_shows_what_the_kept_records_say():
    root = Path(__file__).parents[3]
    results = resolution.read(root / "benchmarks" / "records" / "resolution", 5.0)
    page = (root / "docs" / "measurement.md").read_text(encoding="utf-8")
    shown = page[page.index("## Against other methods") : page.index("## What is not settled")]
    lines = [line for line in shown.splitlines() if line.startswith("| (")]
    assert len(lines) == len(results) >= 10
    for found in map(reports.row, results):
        cells = [
            reports.COMPARISONS[found.platform],
            reports.shown(found.found),
            f"{found.found.pct - found.truth:+.2f}",
            f"{found.half:.2f}",
            "yes" if found.found.holds(found.truth) else "no",
            f"{found.minutes_needed:.1f} |",
        ]
        end = " | ".join(cells)
        assert any(line.startswith(f"| ({found.method}) ") and line.endswith(end) for line in lines), end
