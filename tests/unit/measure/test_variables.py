"""One explicit set of variables, the same in every environment."""

from pathlib import Path

import pytest

from tare.measure.variables import QUIET, QUIET_OF_FRAMEWORK, worker_variables


def variables(**other):
    values = {
        "token": "0123abcd-0001",
        "threads": 3,
        "settings": "quiet",
        "run_dir": Path("/tmp/run"),
        "source": Path("/opt/tare/src"),
        "framework": "torch",
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


def test_quiet_settings_are_an_addition_to_the_default_ones():
    quiet, default = variables(), variables(settings="default")
    assert {name: value for name, value in quiet.items() if name not in default} == (
        QUIET | QUIET_OF_FRAMEWORK["torch"]
    )
    assert set(default) < set(quiet)


@pytest.mark.parametrize(("device", "hidden"), [("cpu", "-1"), ("gpu", None)])
def test_gpus_are_hidden_from_a_run_on_the_cpu(device, hidden):
    assert variables(device=device).get("CUDA_VISIBLE_DEVICES") == hidden


def test_all_values_are_text():
    assert all(isinstance(value, str) and "\0" not in value for value in variables().values())


def test_openmp_is_bound_for_torch_only():
    """It binds whoever loads it: TensorFlow would be left with one CPU."""
    assert variables()["OMP_PROC_BIND"] == "true"
    assert not {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_SPINCOUNT"} & variables(framework="tensorflow").keys()
    assert variables(framework="tensorflow")["GLIBC_TUNABLES"] == QUIET["GLIBC_TUNABLES"]
