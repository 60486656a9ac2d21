"""Which environments of a study can be used here and now, and why the others can't."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from tare import platforms
from tare.plan.matrix import cells
from tare.plan.study import Environment, Study
from tare.plan.table import Refusal
from tare.platforms import Availability
from tare.telemetry import gpu

_WITHOUT_FLAG = Availability(
    False,
    "Snakemake was called without --use-singularity",
    "Call snakemake with --use-singularity or --sdm apptainer; `make run` does where apptainer is installed.",
)


def probe(engines: Iterable[str], *, apptainer_asked: bool) -> dict[str, Availability]:
    """Ask each engine whether it is usable, side by side.

    Args:
        apptainer_asked: whether Snakemake was told to use it, as users expect of that flag.
    """
    wanted = list(dict.fromkeys(engines))

    def one(engine: str) -> Availability:
        availability = platforms.create(engine).probe()
        return _WITHOUT_FLAG if engine == "apptainer" and availability.usable and not apptainer_asked else availability

    with ThreadPoolExecutor(max_workers=max(len(wanted), 1)) as pool:
        return dict(zip(wanted, pool.map(one, wanted), strict=True))


def refusals(
    study: Study, environments: Iterable[Environment], found: Mapping[str, Availability]
) -> dict[str, Refusal]:
    """Environments that can't be used, with reason and remedy; also those whose baseline can't be used."""
    refused: dict[str, Refusal] = {}
    for environment in environments:
        seen = [environment]
        while not seen[-1].is_baseline:
            seen.append(study.environment(seen[-1].baseline))
        for needed in seen:
            availability = found[needed.engine]
            if not availability.usable:
                reason = availability.reason
                if needed is not environment:
                    reason = f"its baseline {needed.name} can't be used: {reason}"
                refused[environment.name] = Refusal(reason, availability.remedy)
                break
    return refused


def cell_refusals(study: Study, gpus: list[str] | None = None) -> dict[tuple[str, str], Refusal]:
    """Combinations of cell and environment that can't be measured here, whatever the engines say.

    Args:
        gpus: the names of the GPUs here; None asks NVML, and only if a cell wants one.
    """
    refused: dict[tuple[str, str], Refusal] = {}
    present = gpus
    for cell in cells(study):
        refusal = None
        if cell.gpu != "none":
            present = gpu.names() if present is None else present
            matching = gpu.matching(cell.gpu, present)
            if len(matching) < cell.gpus_per_learner * cell.learners or not matching:
                here = f"; here: {', '.join(present)}" if present else ""
                count = cell.gpus_per_learner * cell.learners
                many = f"{count} x " if matching else ""
                refusal = Refusal(
                    f"no {many}{cell.gpu} here{here}", f"Run the study on a machine with {many}{cell.gpu}."
                )
            elif cell.gpus_per_learner > 1:
                refusal = Refusal("several GPUs per learner are not built yet", "Use gpus_per_learner: 1.")
        if refusal is None and cell.learners > 1:
            refusal = Refusal("several learners are not built yet", "Use learners: 1.")
        for environment in study.environments:
            if refusal is not None:
                refused[cell.name, environment.name] = refusal
            elif cell.gpu != "none" and environment.engine not in ("bare", "bubblewrap"):
                refused[cell.name, environment.name] = Refusal(
                    f"passing a GPU into {environment.engine} is not built yet", "Use gpu: none, or bare."
                )
    return refused
