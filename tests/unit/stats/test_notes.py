"""What is said of noisy runs in a row of overhead.csv."""

import pytest

from tare.stats import notes
from tare.stats.overhead import overhead
from tests.unit.factory import record, study, turn

OTHERS = "noisy: other processes used {} % of the CPUs"


def runs(*verdicts):
    return [record(repetition=n, noise_verdict=verdict) for n, verdict in enumerate(verdicts, start=1)]


def test_reasons_that_differ_in_their_number_alone_are_one_with_its_range():
    found = runs(
        OTHERS.format(38), "quiet", OTHERS.format(9.5) + "; 2 MiB were swapped", OTHERS.format(12), ""
    )
    assert notes.noise(found) == [
        "3 of 5 runs noisy: other processes used 9.5 to 38 % of the CPUs (3 times); 2 MiB were swapped"
    ]


def test_one_and_none():
    assert notes.noise(runs(OTHERS.format(38)), of="bare") == [
        "1 of 1 run of bare noisy: other processes used 38 % of the CPUs"
    ]
    assert notes.noise(runs("quiet", "")) == []


def test_runs_without_a_result_are_told_as_such_only():
    assert notes.noise([record(status="failed", noise_verdict=OTHERS.format(50))]) == []


def test_no_more_than_a_few_reasons():
    found = runs(*(f"noisy: reason {letter}" for letter in "abcde"))
    assert notes.noise(found) == ["5 of 5 runs noisy: reason a; reason b; reason c; and 2 other reasons"]


def test_noisy_runs_count_and_their_rows_say_so():
    records, plan = study()
    noisy = [
        run.model_copy(update={"noise_verdict": OTHERS.format(40)}) if run.repetition == 3 else run
        for run in records
    ]
    plain, marked = (
        overhead(r, plan, metric="throughput_images_per_sec", margin_pct=2.0) for r in (records, noisy)
    )
    columns = ["blocks", "estimate_pct", "ci_low_pct", "ci_high_pct", "verdict"]
    assert marked[columns].equals(plain[columns])
    bare, docker = marked["note"]
    assert bare == "1 of 6 runs noisy: other processes used 40 % of the CPUs"
    assert docker == f"{bare}; {bare.replace('runs', 'runs of bare')}"


@pytest.mark.parametrize("verdict", ["", "quiet"])
def test_nothing_is_said_of_quiet_rows(verdict):
    records, plan = study()
    quiet = [run.model_copy(update={"noise_verdict": verdict}) for run in records]
    table = overhead(quiet, plan, metric="throughput_images_per_sec", margin_pct=2.0)
    assert not table["note"].str.contains("noisy").any()


def spinning_run(spun_s, **other):
    turns = [
        turn(round=number).model_copy(update={"cpu_s": (number * (1 + spun_s), 1 + number * (1 + spun_s))})
        for number in range(4)
    ]
    return record(turns=turns, **other)


def test_threads_that_spin_while_they_wait_are_named_though_it_is_within_a_settling_step():
    assert notes.spinning([spinning_run(0.008), spinning_run(0.007), spinning_run(0.002)]) == [
        "threads of 2 of 3 runs went on spinning for 8 ms after each of their turns, into the next run's"
    ]
    # three threads beside the main one
    assert notes.spinning([spinning_run(0.009, threads=4)]) == []
    assert notes.spinning([spinning_run(0.002), record(), record(status="failed")]) == []


def test_one_after_the_other_nobody_is_disturbed():
    assert notes.spinning([spinning_run(0.008, schedule="sequential")]) == []
    assert notes.spinning([spinning_run(0.008, block=["bare"])]) == []


def test_spinning_is_in_the_row_whichever_side_it_was_on():
    records, plan = study()
    spun = [spinning_run(0.008).turns if r.environment == "bare" else r.turns for r in records]
    records = [r.model_copy(update={"turns": turns}) for r, turns in zip(records, spun, strict=True)]
    table = overhead(records, plan, metric="throughput_images_per_sec", margin_pct=2.0)
    of_bare, of_docker = table["note"]
    assert of_bare.startswith("threads of 6 of 6 runs went on spinning")
    assert "threads of 6 of 12 runs went on spinning" in of_docker
