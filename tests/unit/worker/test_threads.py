"""The real worker, with the variables of a study: its framework's threads may use all CPUs they were given."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import tare
from tare import platforms
from tare.data import digits
from tare.measure.conversation import Conversation
from tare.measure.lockstep import RunFailed
from tare.measure.variables import worker_variables
from tare.plan.quiet import QUIET, in_force
from tare.plan.quiet import variables as quiet_variables
from tare.platforms import Launch
from tare.worker.frameworks import FRAMEWORKS

pytestmark = pytest.mark.alone

SOURCE = Path(tare.__file__).resolve().parents[1]
CPUS = len(os.sched_getaffinity(0))


def warm_up(folder: Path, framework: str, **more: str) -> None:
    """Start a worker as a run of the quick study does, and let it warm up."""
    data = folder / "digits.npz"
    digits.write(data)
    variables = worker_variables(
        token="0123abcd-0001", threads=CPUS, switches=in_force(QUIET, framework, {}), run_dir=folder, source=SOURCE,
        device="cpu",
    )  # fmt: skip
    assignments = [f"{name}={value}" for name, value in {**variables, **more}.items()]
    program = (
        sys.executable, "-I", "-S", str(SOURCE / "tare" / "worker" / "launch.py"), *assignments,
        "--", sys.executable, "-m", "tare.worker",
    )  # fmt: skip
    launch = Launch("0123abcd-0001", program, variables, folder, (), folder / "log")
    handle = platforms.create("bare").start(launch)
    try:
        talk = Conversation(handle.lines, 300, lambda name, t: None)
        talk.start(
            {"framework": framework, "network": "fcn-r", "batch_size": 64, "threads": CPUS, "device": "cpu", "seed": 1,
             "data_path": str(data), "gc_off": True}
        )  # fmt: skip
        talk.ready()
        talk.warm_up(5)
        talk.stop()
        assert handle.wait(30) == 0
    finally:
        handle.close()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_quiet_settings_leave_each_framework_its_cpus(tmp_path, framework):
    warm_up(tmp_path, framework)


@pytest.mark.skipif(CPUS < 2, reason="with one CPU there is none to take away")
def test_a_framework_that_was_left_with_one_cpu_is_found_out(tmp_path):
    """What binds torch's threads to a CPU each leaves TensorFlow one for all of them."""
    with pytest.raises(RunFailed, match=r"the threads of tensorflow may use the CPUs \[\d+\] only"):
        warm_up(tmp_path, "tensorflow", **quiet_variables(["bind_threads", "short_spin"]))
