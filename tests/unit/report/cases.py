"""Studies in every state that a report may be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from tare.records import collect
from tare.records.schema import Record
from tare.report import figures
from tare.stats.overhead import overhead
from tests.unit.factory import SOFTWARE, cell_key, plan, record, study, turn

CELLS = ["lenet-torch", "lenet-tensorflow", "fcn-r-torch"]
FACTORS = {"bare": 1.0, "bubblewrap": 0.999, "docker": 1.03, "podman": 1.001}
NO_PODMAN = ("podman is not installed", "Install it with `apt-get install podman`")
NO_BUBBLEWRAP = ("no user namespaces here", "Allow them, or install docker")
HOSTILE = '<script>alert("x")</script> & $HOME_{x} | 50 % `rm -rf`'
INFO: dict[str, Any] = {
    "name": "quick",
    "title": "What a container costs",
    "margin_pct": 2.0,
    "metric": "throughput_images_per_sec",
    "schedule": "lockstep",
    "tare_version": "0.1.0",
}


@dataclass(frozen=True)
class Case:
    """All that a report is made of."""

    records: list[Record]
    plan: pd.DataFrame
    overhead: pd.DataFrame
    runs: pd.DataFrame


def case(records: list[Record], planned: pd.DataFrame, metric: str = INFO["metric"]) -> Case:
    table = overhead(records, planned, metric=metric, margin_pct=INFO["margin_pct"])
    return Case(records, planned, table, collect.table(records, Path("/study")))


@cache
def full() -> Case:
    """Everything was measured."""
    return case(*study(cells=CELLS, factors=FACTORS))


@cache
def mixed() -> Case:
    """Some failed, some missing, some not comparable, an environment unusable, a cell without its GPU."""
    records, planned = study(cells=CELLS, factors=FACTORS)
    kept = []
    for run in records:
        cell, environment = run.cell.name, run.environment
        if environment == "podman" or (cell, environment) == ("fcn-r-torch", "docker"):
            continue
        if (cell, environment, run.repetition) == ("lenet-torch", "docker", 2):
            run = record(
                cell=run.cell, environment="docker", repetition=2, status="failed", reason="killed for memory"
            )
        if (cell, environment) == ("lenet-tensorflow", "bubblewrap"):
            run = run.model_copy(update={"software": SOFTWARE | {"torch": "2.12.0"}})
        if cell == "fcn-r-torch":
            chance = run.metrics.model_copy(update={"test_accuracy": 0.1})
            run = run.model_copy(update={"metrics": chance})
        kept.append(run)
    is_podman = planned["environment"] == "podman"
    planned.loc[is_podman, ["status", "reason", "remedy"]] = ["unusable", *NO_PODMAN]
    gpu = plan(
        ["vgg16-torch"], dict.fromkeys(FACTORS, "bare"), unusable_cells={"vgg16-torch": ("no V100 here", "")}
    )
    return case(kept, pd.concat([planned, gpu], ignore_index=True))


@cache
def nothing() -> Case:
    """Nothing was measured yet."""
    return case([], full().plan)


@cache
def nowhere() -> Case:
    """Nothing can be measured here."""
    reason = ("no V100 here", "Use a machine with one")
    return case([], plan(CELLS, dict.fromkeys(FACTORS, "bare"), unusable_cells=dict.fromkeys(CELLS, reason)))


@cache
def only_bare() -> Case:
    """The baseline alone."""
    return case(*study(cells=CELLS, factors={"bare": 1.0}))


@cache
def again() -> Case:
    """No engine is there: bare against itself."""
    records, planned = study(cells=CELLS, factors={"bare": 1.0, "bare-again": 1.0})
    return case(
        records,
        pd.concat([planned, plan(CELLS, {"bubblewrap": "bare"}, unusable={"bubblewrap": NO_BUBBLEWRAP})]),
    )


@cache
def ladder() -> Case:
    """Baselines that differ, in step time."""
    factors = {"bare": 1.0, "chroot": 1.01, "docker": 1.04}
    cell = cell_key("lenet-torch-default", model="lenet", framework="torch", settings="default")
    return case(
        *study(cells=[cell], factors=factors, baselines={"docker": "chroot"}, schedule="sequential"),
        "second_per_batch",
    )


@cache
def both() -> Case:
    """One cell under both settings; under the default ones docker costs more, and threads spin."""
    plain = cell_key("lenet-torch-default", model="lenet", framework="torch", settings="default")
    quiet, planned = study(factors={"bare": 1.0, "docker": 1.01})
    default, planned_too = study(cells=[plain], factors={"bare": 1.0, "docker": 1.1}, seed=2)
    return case([*quiet, *default], pd.concat([planned, planned_too], ignore_index=True))


@cache
def one_block() -> Case:
    """The first of six blocks."""
    records, planned = study(cells=CELLS, factors=FACTORS)
    return case([run for run in records if run.repetition == 1], planned)


def evidence(environment: str, shm_mib: int) -> dict[str, Any]:
    """What a worker saw, on a host whose network namespace is 1."""
    own = environment == "docker"
    return {
        "shm_bytes": shm_mib << 20,
        "status": {"Seccomp": "2" if own else "0"},
        "namespaces": {"net": "net:[2]" if own else "net:[1]"},
        "controller": {"namespaces": {"net": "net:[1]"}},
    }


@cache
def differing() -> Case:
    """Containers that differ from bare by an engine's default: docker in every cell, podman in one of them only."""
    records, planned = study(cells=CELLS, factors=FACTORS)
    told = []
    for run in records:
        small = run.environment == "docker" or (run.environment, run.cell.name) == ("podman", CELLS[0])
        seen = evidence(run.environment, 64 if small else 12 << 10)
        told.append(run.model_copy(update={"evidence": seen, "attested": run.environment}))
    return case(told, planned)


@cache
def noisy() -> Case:
    """Two runs of docker were disturbed, all others were not."""
    records, planned = study(cells=["lenet-torch"], factors={"bare": 1.0, "docker": 1.03})
    used = {2: 31, 5: 38}
    judged = [
        run.model_copy(
            update={
                "noise_verdict": f"noisy: other processes used {used[run.repetition]} % of the CPUs"
                if run.environment == "docker" and run.repetition in used
                else "quiet"
            }
        )
        for run in records
    ]
    return case(judged, planned)


@cache
def drifting() -> Case:
    """Docker becomes slower from block to block."""
    records, planned = study(cells=["lenet-torch"], factors={"bare": 1.0, "docker": 1.03}, repetitions=8)
    made = [
        run.model_copy(
            update={
                "turns": [
                    turn([s * (1 + 0.01 * run.repetition) for s in one.durations_s], round=one.round)
                    for one in run.turns
                ]
            }
        )
        if run.environment == "docker"
        else run
        for run in records
    ]
    return case(made, planned)


@cache
def hostile() -> Case:
    """Names and reasons that are markup somewhere."""
    records, planned = study(cells=["lenet-torch"], factors={"bare": 1.0, "a<b>&$c_{d}": 1.03})
    records[1] = record(environment="a<b>&$c_{d}", status="failed", reason=HOSTILE)
    bad = plan(
        ["lenet-torch"], {"docker": "bare"}, unusable={"docker": (HOSTILE, "only=1 online=2 --> <img src=x>")}
    )
    return case(records, pd.concat([planned, bad], ignore_index=True))


@cache
def wide() -> Case:
    """Long names, and two blocks whose interval is wider than any axis should be."""
    cells = ["inception-v3-with-a-name-for-which-no-column-has-room-torch", "lenet-torch"]
    factors = {"bare": 1.0, "docker": 1.03, "docker-hardened-without-seccomp-profile": 1.01}
    return case(*study(cells=cells, factors=factors, repetitions=2, process_noise=0.1, seed=2))


@cache
def empty() -> Case:
    """A plan without rows."""
    return case([], plan([]))


ALL = [
    full, mixed, nothing, nowhere, only_bare, again, ladder, both, one_block, differing, noisy, drifting, hostile,
    wide, empty,
]  # fmt: skip


def figures_of(one: Case, folder: Path) -> dict[str, str]:
    """The two figures as SVG text."""
    figures.write_overhead(one.overhead, INFO["margin_pct"], [folder / "overhead.svg"])
    figures.write_throughput(one.runs, [folder / "throughput.svg"])
    return {name: (folder / f"{name}.svg").read_text(encoding="utf-8") for name in ("overhead", "throughput")}
