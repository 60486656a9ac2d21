"""plan.csv: each cell, environment and repetition with its place in the order, or why it can't be measured.

The table is also the memory of the study: which environments were usable when it was begun (its first wave),
which came later (further waves: new repetitions of each added environment and its baseline), and what
can't be measured.

A study that wishes a precision has all blocks in its plan that it may come to: the first `repetitions` of a wave are
measured in any case, the others are `if needed`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from tare.plan import matrix, schedule
from tare.plan.errors import StudyError
from tare.plan.quiet import QUIET
from tare.plan.specification import digest, specification
from tare.plan.study import Study
from tare.records.schema import CellKey
from tare.records.store import write_atomically

COLUMNS = [
    "cell", "model", "framework", "data", "batch_size", "device", "gpu", "learners", "gpus_per_learner",
    "settings", "environment", "engine", "baseline", "repetition", "wave", "order", "slot", "schedule", "status",
    "reason", "remedy", "spec_hash",
]  # fmt: skip


# Numbers that every row has, and those that have a place in the order of measuring.
_ALWAYS = ("batch_size", "learners", "gpus_per_learner", "repetition")
_OF_MEASURED = ("wave", "order", "slot")
MEASURE, IF_NEEDED, UNUSABLE = "measure", "if needed", "unusable"


@dataclass(frozen=True)
class Refusal:
    """Why something can't be measured here, and what would help; a sentence each."""

    reason: str
    remedy: str = ""

    def __post_init__(self) -> None:
        # an engine's own words may have line ends, which would not come back from the file as they went in
        object.__setattr__(self, "reason", " ".join(self.reason.split()))
        object.__setattr__(self, "remedy", " ".join(self.remedy.split()))


@dataclass(frozen=True)
class Wave:
    """Environments that share their repetitions."""

    environments: tuple[str, ...]
    repetitions: tuple[int, ...]

    def __post_init__(self) -> None:
        # by name: neither the order in the study's file nor that of the rows on disk makes another wave
        object.__setattr__(self, "environments", tuple(sorted(self.environments)))


@dataclass(frozen=True)
class State:
    """What plan.csv remembers: the waves, and the environments that could not be used, with the reason."""

    waves: tuple[Wave, ...] = ()
    refused: Mapping[str, Refusal] = field(default_factory=dict)

    @property
    def environments(self) -> set[str]:
        """Environments that are measured."""
        return {name for wave in self.waves for name in wave.environments}


def first_state(study: Study, refused: Mapping[str, Refusal]) -> State:
    """The state of a study that is begun now."""
    usable = tuple(e.name for e in study.environments if e.name not in refused)
    repetitions = tuple(range(1, study.most_repetitions + 1))
    return State((Wave(usable, repetitions),) if usable else (), dict(refused))


def unpaired(study: Study, state: State) -> list[str]:
    """Environments that are measured, but nowhere beside the baseline that the study names for them now."""
    measured = [e for e in study.environments if e.name in state.environments and not e.is_baseline]
    return [
        e.name for e in measured if not any({e.name, e.baseline} <= {*w.environments} for w in state.waves)
    ]


def next_state(study: Study, state: State, added: Sequence[str], refused: Mapping[str, Refusal]) -> State:
    """The state after the study was changed: environments added or taken away, repetitions raised or lowered.

    Args:
        added: environments that get a wave now, each with its baseline.
        refused: those of the study that are new to the plan and can't be used.
    """
    waves = list(state.waves)
    if added:
        waves.append(Wave(tuple(_with_new_baselines(study, state, added)), ()))
    last = max((r for wave in waves for r in wave.repetitions), default=0)
    sized = []
    for wave in waves:
        repetitions = list(wave.repetitions[: study.most_repetitions])
        while len(repetitions) < study.most_repetitions:
            last += 1
            repetitions.append(last)
        sized.append(Wave(wave.environments, tuple(repetitions)))
    kept = _without_removed(study, sized)
    measured = {name for wave in kept for name in wave.environments}
    still = {**state.refused, **refused}
    names = [e.name for e in study.environments if e.name not in measured]
    return State(tuple(kept), {name: still[name] for name in names if name in still})


def _with_new_baselines(study: Study, state: State, added: Iterable[str]) -> list[str]:
    """The added environments and their baselines; a baseline that is new itself needs its own too."""
    found = list(dict.fromkeys(added))
    for name in found:
        baseline = study.environment(name).baseline
        if baseline not in found and (name in added or name not in state.environments):
            found.append(baseline)
    return found


def _without_removed(study: Study, waves: Sequence[Wave]) -> list[Wave]:
    """The waves with the environments that the study still has, in its order.

    A wave that thereby compares nothing any more goes, unless its environments are measured nowhere else.
    """
    left = [[e for e in study.environments if e.name in wave.environments] for wave in waves]
    names = [{e.name for e in entries} for entries in left]
    compares = [any(not e.is_baseline and e.baseline in names[n] for e in left[n]) for n in range(len(waves))]
    whole = [len(left[n]) == len(wave.environments) for n, wave in enumerate(waves)]
    covered = {name for n in range(len(waves)) if compares[n] or whole[n] for name in names[n]}
    kept = []
    for n, wave in enumerate(waves):
        if compares[n] or whole[n] or not names[n] <= covered:
            covered |= names[n]
            kept.append(Wave(tuple(e.name for e in left[n]), wave.repetitions))
    return kept


def build(study: Study, state: State, cell_refusals: Mapping[tuple[str, str], Refusal]) -> pd.DataFrame:
    """The plan as a frame with `COLUMNS`.

    Args:
        cell_refusals: (cell, environment) -> why just this combination can't be measured (no such GPU here).
    """
    cells = matrix.cells(study)
    by_name = {cell.name: cell for cell in cells}
    rows: list[dict[str, object]] = []
    order = 0
    for repetition, index, number, wave in _repetitions(state.waves):
        for name in schedule.block_order(list(by_name), repetition, study.seed):
            cell = by_name[name]
            usable = [e for e in wave.environments if (name, e) not in cell_refusals]
            order += bool(usable)
            status = MEASURE if index < study.repetitions else IF_NEEDED
            for slot, environment in enumerate(schedule.slots(usable, name, index, study.seed)):
                rows.append(
                    _row(study, cell, environment, repetition)
                    | {"wave": number, "order": order, "slot": slot, "status": status}
                )
            for environment in wave.environments:
                # what may not even be needed is not told as something that can't be measured
                if (name, environment) in cell_refusals and status == MEASURE:
                    refusal = cell_refusals[name, environment]
                    rows.append(
                        _unusable(_row(study, cell, environment, repetition), refusal) | {"wave": number}
                    )
    first_wave = state.waves[0].repetitions if state.waves else tuple(range(1, study.repetitions + 1))
    first_wave = first_wave[: study.repetitions]
    for environment, refusal in state.refused.items():
        for repetition in first_wave:
            rows += [_unusable(_row(study, cell, environment, repetition), refusal) for cell in cells]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    for column in ("wave", "order", "slot"):
        frame[column] = frame[column].astype("Int64")
    return frame


def _repetitions(waves: Sequence[Wave]) -> list[tuple[int, int, int, Wave]]:
    """Each repetition, its index in its wave, the wave's number, the wave; in the order of measuring."""
    return sorted(
        (repetition, index, number, wave)
        for number, wave in enumerate(waves, start=1)
        for index, repetition in enumerate(wave.repetitions)
    )


def _unusable(row: dict[str, object], refusal: Refusal) -> dict[str, object]:
    return row | {"status": UNUSABLE, "reason": refusal.reason, "remedy": refusal.remedy}


def _row(study: Study, cell: CellKey, environment: str, repetition: int) -> dict[str, object]:
    entry = study.environment(environment)
    return {
        "cell": cell.name,
        **cell.model_dump(exclude={"name"}),
        "environment": environment,
        "engine": entry.engine,
        "baseline": entry.baseline,
        "repetition": repetition,
        "schedule": study.schedule,
        "reason": "",
        "remedy": "",
        "spec_hash": digest(specification(study, cell, entry, repetition)),
    }


def state_of(plan: pd.DataFrame) -> State:
    """What a plan remembers; the inverse of `build`."""
    waves = []
    in_waves = plan[plan["wave"].notna()]
    for _, rows in in_waves.groupby("wave", sort=True):
        environments = tuple(dict.fromkeys(rows["environment"]))
        waves.append(Wave(environments, tuple(int(r) for r in sorted(rows["repetition"].unique()))))
    outside = plan[plan["wave"].isna()].drop_duplicates("environment")
    refused = {row.environment: Refusal(row.reason, row.remedy) for row in outside.itertuples()}
    return State(tuple(waves), refused)


def settled(plan: pd.DataFrame) -> dict[tuple[str, str], Refusal | None]:
    """What a plan says of each combination of cell and environment; None where it is measured.

    Only of cells that are measured at all: a cell without a single run may still become one that is measured,
    but a block that was planned never changes because a GPU is away now.
    """
    waves = plan[plan["wave"].notna() & (plan["status"] != IF_NEEDED)]
    begun = set(waves.loc[waves["status"] == MEASURE, "cell"])
    found: dict[tuple[str, str], Refusal | None] = {}
    for row in waves.drop_duplicates(["cell", "environment", "status"]).itertuples():
        if row.cell in begun:
            key = str(row.cell), str(row.environment)
            if row.status == MEASURE:
                found[key] = None
            else:
                found.setdefault(key, Refusal(str(row.reason), str(row.remedy)))
    return found


def read(path: Path) -> pd.DataFrame:
    """Read plan.csv.

    Raises:
        StudyError: it is not the table that Tare wrote.
    """
    text = ["cell", "model", "framework", "data", "device", "gpu", "settings", "environment", "engine",
            "baseline", "schedule", "status", "reason", "remedy", "spec_hash"]  # fmt: skip
    numbers = [column for column in COLUMNS if column not in text]
    try:
        plan = pd.read_csv(
            path,
            dtype={**dict.fromkeys(text, "str"), **dict.fromkeys(numbers, "Int64")},
            keep_default_na=False,
            na_values={column: [""] for column in numbers},
        )
    except (OSError, ValueError) as error:
        words = " ".join(str(error).split()).rstrip(".")
        raise StudyError(f"{path} can't be read ({words}); delete it to plan the study anew.") from error
    if "settings" not in plan.columns:  # written by a version that had no such axis
        plan["settings"] = QUIET
    missing = [column for column in COLUMNS if column not in plan.columns]
    if missing:
        raise StudyError(f"{path} has no column {missing[0]!r}; delete it to plan the study anew.")
    fault = _fault(plan)
    if fault:
        raise StudyError(f"{path} has {fault}; delete it to plan the study anew.")
    return plan


def _fault(plan: pd.DataFrame) -> str:
    """What in a plan can't be Tare's; empty where nothing is seen."""
    measured = plan[plan["status"] != UNUSABLE]
    for column in ("cell", "environment", "engine", "status", "spec_hash"):
        if (plan[column] == "").any():
            return f"a row without {column}"
    for rows, columns in ((plan, _ALWAYS), (measured, _OF_MEASURED)):
        for column in columns:
            if rows[column].isna().any():
                return f"a row without {column}"
    unknown = plan[~plan["status"].isin([MEASURE, IF_NEEDED, UNUSABLE])]
    if len(unknown):
        return f"the status {unknown['status'].iloc[0]!r}, which is none"
    twice = plan[plan.duplicated(["cell", "environment", "repetition"])]
    if len(twice):
        row = twice.iloc[0]
        return f"cell {row['cell']}, environment {row['environment']}, repetition {row['repetition']} twice"
    return ""


def to_text(plan: pd.DataFrame) -> str:
    """The plan as the text of plan.csv."""
    buffer = io.StringIO()
    plan.to_csv(buffer, index=False, lineterminator="\n")
    return buffer.getvalue()


def write(path: Path, plan: pd.DataFrame) -> None:
    """Write plan.csv, unless it says the same already: by its time Snakemake tells if tables are outdated."""
    write_if_changed(path, to_text(plan))


def write_if_changed(path: Path, text: str) -> None:
    """Write a file atomically, but leave it alone when its content is the same."""
    if not path.exists() or path.read_bytes() != text.encode():
        write_atomically(path, text)


@dataclass(frozen=True)
class Block:
    """One repetition of one cell: every environment of it once, in the order of their slots.

    Attributes:
        wave: its blocks have the same repetitions, and those of one cell in it the same environments.
        if_needed: whether it is measured only where what is measured is not precise enough.
    """

    cell: str
    repetition: int
    wave: int
    order: int
    environments: tuple[str, ...]
    spec_hashes: tuple[str, ...]
    if_needed: bool = False


def blocks(plan: pd.DataFrame) -> list[Block]:
    """The blocks to be measured, in any case or if needed, in their order."""
    rows = plan[plan["status"].isin([MEASURE, IF_NEEDED])].sort_values(["order", "slot"])
    return [
        Block(
            cell=str(group["cell"].iloc[0]),
            repetition=int(group["repetition"].iloc[0]),
            wave=int(group["wave"].iloc[0]),
            order=int(order),
            environments=tuple(group["environment"]),
            spec_hashes=tuple(group["spec_hash"]),
            if_needed=str(group["status"].iloc[0]) == IF_NEEDED,
        )
        for order, group in rows.groupby("order", sort=True)
    ]


def cell_names(plan: pd.DataFrame) -> list[str]:
    """All cells of the plan, measured or not, in the order of their first row."""
    return list(dict.fromkeys(plan["cell"]))


def patterns_without_match(patterns: Iterable[str], plan: pd.DataFrame) -> list[str]:
    """Those of the patterns that no cell fits."""
    names = cell_names(plan)
    return [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in names)]
