"""One explicit set of variables, the same in every environment."""

from pathlib import Path

import pytest

from tare.measure.variables import worker_variables


def variables(**other):
    values = {
        "token": "0123abcd-0001",
        "threads": 3,
        "switches": ["huge_pages", "one_heap"],
        "run_dir": Path("/tmp/run"),
        "source": Path("/opt/tare/src"),
        "device": "cpu",
    }
    return worker_variables(**(values | other))


def test_nothing_of_the_callers_variables_gets_in(monkeypatch):
    before = variables()
    for name, value in {
        "OMP_NUM_THREADS": "64",
        "PYTHONPATH": "/evil",
        "LD_PRELOAD": "x",
        "SECRET": "y",
    }.items():
        monkeypatch.setenv(name, value)
    assert variables() == before
    assert "SECRET" not in before
    assert before["PYTHONPATH"] == "/opt/tare/src"


def test_the_runs_folder_is_home_and_temporary_folder():
    found = variables()
    assert found["HOME"] == found["TMPDIR"] == "/tmp/run"


def test_thread_counts_are_the_studys():
    found = variables()
    assert {found[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")} == {"3"}


def test_quiet_settings_are_an_addition_and_each_adds_its_own():
    plain = variables(switches=[])
    assert {
        name: value for name, value in variables(switches=["huge_pages"]).items() if name not in plain
    } == {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    assert set(plain) < set(variables(switches=["gc_off", "huge_pages"])) < set(variables())


@pytest.mark.parametrize(("device", "hidden"), [("cpu", "-1"), ("gpu", None)])
def test_gpus_are_hidden_from_a_run_on_the_cpu(device, hidden):
    assert variables(device=device).get("CUDA_VISIBLE_DEVICES") == hidden


def test_all_values_are_text():
    assert all(isinstance(value, str) and "\0" not in value for value in variables().values())
