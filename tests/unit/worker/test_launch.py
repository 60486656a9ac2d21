"""The first stage in every environment: exactly the variables that were meant, and nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tare.worker import launch

SHOW = (
    "import json, sys; seen = open('/proc/self/environ', 'rb').read().split(b'\\0');"
    "print(json.dumps([[x.decode() for x in seen if x], sys.argv[1:]]))"
)


def launched(*assignments, inherited=None, program=(sys.executable, "-I", "-S", "-c", SHOW)):
    return subprocess.run(
        [sys.executable, "-I", "-S", launch.__file__, *assignments, "--", *program],
        env=inherited or {}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def seen(done):
    variables, arguments = json.loads(done.stdout)
    return variables, arguments


def test_the_program_has_exactly_the_variables_given():
    inherited = {"HOME": "/root", "OMP_NUM_THREADS": "64", "LD_LIBRARY_PATH": "/x", "A": "of the engine"}
    variables, _ = seen(launched("A=1", "B=with = and  spaces", "C=", "D=é", inherited=inherited))
    assert variables == ["A=1", "B=with = and  spaces", "C=", "D=é"]


def test_what_was_dropped_is_handed_on_by_name_with_the_values_of_markers_only():
    inherited = {"TOKEN": "secret", "container": "podman", "SLURM_JOB_ID": "17", "SLURM_CONF": "/x"}
    _, arguments = seen(launched("A=1", inherited=inherited))
    assert arguments[0] == "--inherited"
    handed = json.loads(arguments[1])
    assert set(inherited) <= set(handed["names"])
    assert handed["markers"] == {"container": "podman", "SLURM_JOB_ID": "17"}
    assert "secret" not in arguments[1]


def test_the_programs_own_arguments_come_first_and_may_hold_two_dashes():
    _, arguments = seen(launched("A=1", program=(sys.executable, "-I", "-S", "-c", SHOW, "x", "--", "y")))
    assert arguments[:3] == ["x", "--", "y"]


def test_it_becomes_the_program_so_that_signals_and_status_are_its_own():
    done = launched(program=(sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"))
    assert done.returncode == -9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["A=1"], "'--' is missing"), (["A=1", "--", "/nowhere/python"], "/nowhere/python")],
)
def test_mistakes_are_named(arguments, said):
    done = subprocess.run(
        [sys.executable, launch.__file__, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert said in done.stderr


def test_it_needs_nothing_but_the_standard_library():
    """It runs before PYTHONPATH is set, with -I and -S."""
    text = Path(launch.__file__).read_text(encoding="utf-8")
    assert "from tare" not in text
    assert "import tare" not in text
    assert os.access(launch.__file__, os.R_OK)
