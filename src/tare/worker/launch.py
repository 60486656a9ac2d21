"""First stage inside an environment: give the worker exactly the variables it is to have, then become the worker.

    python -I -S launch.py [--cpus=0,2] NAME=VALUE ... -- PROGRAM ARGUMENT ...

Engines add variables of their own (and apptainer passes the host's on), so that the same study would run under other
settings in each environment. Here every inherited variable is dropped. The names of the dropped ones are handed on as
evidence, with the values of those by which engines and batch systems mark their jobs; other values may be secrets.

Neither does an engine's daemon, nor a runtime that resets what it inherited, hand on the CPUs that the caller is bound
to: where these are not all there are, they are set here. What the worker really has is told by the worker.
"""

from __future__ import annotations

import json
import os
import sys

MARKERS = ("container", "SLURM_JOB_ID", "SLURM_STEP_ID", "KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER",
           "APPTAINER_NAME", "SINGULARITY_CONTAINER", "SINGULARITY_NAME")  # fmt: skip

_CPUS = "--cpus="


def inherited_variables() -> dict[str, object]:
    """The names of all variables of this process, and the values of those that mark a job: {"names", "markers"}."""
    return {
        "names": sorted(os.environ),
        "markers": {name: os.environ[name] for name in MARKERS if name in os.environ},
    }


def main(arguments: list[str]) -> None:
    """Replace this process by the program after `--`; never returns unless the program can't be started."""
    if "--" not in arguments:
        sys.exit("launch.py: '--' is missing between the variables and the program")
    split = arguments.index("--")
    assignments, program = arguments[:split], arguments[split + 1 :]
    if assignments and assignments[0].startswith(_CPUS):
        cpus = assignments.pop(0)[len(_CPUS) :]
        try:
            os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
        except OSError:
            pass  # none of them is there for it: it has others, and says so
    variables = dict(assignment.split("=", 1) for assignment in assignments)
    os.execve(program[0], [*program, "--inherited", json.dumps(inherited_variables())], variables)


if __name__ == "__main__":
    main(sys.argv[1:])
