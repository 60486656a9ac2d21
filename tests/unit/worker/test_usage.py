"""Counters of one's own process."""

import json
import time

from tare.measure.conversation import Used
from tare.worker import usage


def test_the_controller_understands_a_reading():
    made = Used.model_validate(json.loads(json.dumps(usage.reading())))
    assert made.cpu_s > 0
    assert abs(made.t - time.monotonic()) < 5


def test_counters_grow_with_what_is_done():
    before = usage.reading()
    done = time.process_time() + 0.05
    while time.process_time() < done:
        pass
    after = usage.reading()
    assert 0.05 <= after["cpu_s"] - before["cpu_s"] < 5
    assert after["involuntary_switches"] >= before["involuntary_switches"]
    assert after["major_faults"] >= before["major_faults"]


def test_the_wait_for_a_cpu_is_summed_over_threads(tmp_path):
    for task, text in {"1": "100 2000000000 3", "2": "100 500000000 3", "3": "no such account"}.items():
        folder = tmp_path / "task" / task
        folder.mkdir(parents=True)
        (folder / "schedstat").write_text(text)
    (tmp_path / "task" / "4").mkdir()
    assert usage.cpu_wait_s(tmp_path) == 2.5


def test_no_account_is_no_zero(tmp_path):
    assert usage.cpu_wait_s(tmp_path) is None
    (tmp_path / "task" / "1").mkdir(parents=True)
    assert usage.cpu_wait_s(tmp_path) is None
