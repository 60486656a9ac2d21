"""Which environments of a study can be used here and now, and why the others can't."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from tare import platforms
from tare.campaign.trial import try_out
from tare.plan.environment import Environment
from tare.plan.matrix import cells
from tare.plan.study import Study
from tare.plan.table import Refusal
from tare.platforms import Availability, Platform
from tare.records.schema import CellKey
from tare.telemetry import gpu

_WITHOUT_FLAG = Availability(
    False,
    "Snakemake was called without --use-singularity",
    "Call snakemake with --use-singularity or --sdm apptainer; `make run` does where apptainer is installed.",
)


def probe(engines: Iterable[str], *, apptainer_asked: bool, trial: bool = False) -> dict[str, Availability]:
    """Ask each engine whether it is usable, side by side.

    Args:
        apptainer_asked: whether Snakemake was told to use it, as users expect of that flag.
        trial: whether those that answer must also start a container; takes a second or two.
    """
    wanted = list(dict.fromkeys(engines))
    asked: dict[str, Platform] = {}

    def one(engine: str) -> Availability:
        asked[engine] = platforms.create(engine)
        availability = asked[engine].probe()
        unasked = engine == "apptainer" and not apptainer_asked
        return _WITHOUT_FLAG if unasked and availability.usable else availability

    with ThreadPoolExecutor(max_workers=max(len(wanted), 1)) as pool:
        found = dict(zip(wanted, pool.map(one, wanted), strict=True))
    if trial:
        found |= try_out(
            {engine: asked[engine] for engine in wanted if found[engine].usable and engine != "bare"}
        )
    return found


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


def absent_gpus(cells_asked: Iterable[CellKey], gpus: list[str] | None = None) -> dict[str, Refusal]:
    """Names of the cells that want a GPU that is not here, with reason and remedy.

    Args:
        gpus: the names of the GPUs here; None asks NVML, and only if a cell wants one.
    """
    absent: dict[str, Refusal] = {}
    present = gpus
    for cell in cells_asked:
        if cell.gpu == "none":
            continue
        present = gpu.names() if present is None else present
        matching = gpu.matching(cell.gpu, present)
        count = cell.gpus_per_learner * cell.learners
        if len(matching) < count:
            here = f"; here: {', '.join(present)}" if present else ""
            many = f"{count} x " if matching else ""
            absent[cell.name] = Refusal(
                f"no {many}{cell.gpu} here{here}", f"Run the study on a machine with {many}{cell.gpu}."
            )
    return absent


def cell_refusals(
    study: Study,
    gpus: list[str] | None = None,
    settled: Mapping[tuple[str, str], Refusal | None] | None = None,
) -> dict[tuple[str, str], Refusal]:
    """Combinations of cell and environment that can't be measured here, whatever the engines say.

    Args:
        gpus: as in `absent_gpus`.
        settled: what the plan says already (see `tare.plan.table.settled`); it stays as it is.
    """
    settled = settled or {}
    begun = {cell for cell, _ in settled}
    found = cells(study)
    absent = absent_gpus((cell for cell in found if cell.name not in begun), gpus)
    refused: dict[tuple[str, str], Refusal] = {}
    for cell in found:
        own: dict[str, Refusal | None] = {}
        for environment in study.environments:
            key = cell.name, environment.name
            own[environment.name] = (
                settled[key] if key in settled else absent.get(cell.name) or _not_built(cell, environment)
            )
        for environment in study.environments:
            refusal = own[environment.name]
            if refusal is None and (cell.name, environment.name) not in settled:
                refusal = _baseline_refused(study, environment, own)
            if refusal is not None:
                refused[cell.name, environment.name] = refusal
    return refused


def _not_built(cell: CellKey, environment: Environment) -> Refusal | None:
    """What this version of Tare does not do yet."""
    if cell.learners > 1:
        return Refusal("several learners are not built yet", "Use learners: 1.")
    if cell.gpus_per_learner > 1:
        return Refusal("several GPUs per learner are not built yet", "Use gpus_per_learner: 1.")
    if cell.gpu != "none" and environment.engine not in ("bare", "bubblewrap"):
        return Refusal(f"passing a GPU into {environment.engine} is not built yet", "Use gpu: none, or bare.")
    return None


def _baseline_refused(
    study: Study, environment: Environment, own: Mapping[str, Refusal | None]
) -> Refusal | None:
    """A run without its baseline would compare nothing."""
    while not environment.is_baseline:
        environment = study.environment(environment.baseline)
        refusal = own[environment.name]
        if refusal is not None:
            return Refusal(f"its baseline {environment.name} can't be used: {refusal.reason}", refusal.remedy)
    return None
