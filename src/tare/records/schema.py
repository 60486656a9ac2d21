"""The record of one run, the unit of everything that Tare computes.

A record is written once, when its run has ended in whatever way, and never edited. Times are seconds; `*_t` values are
readings of the monotonic clock (CLOCK_MONOTONIC, shared by all processes of a host), so that they order events of one
block but mean nothing across a reboot.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION: Literal[1] = 1
# No step takes longer, since no timeout of a study may: what says so is no measurement.
LONGEST_STEP_S = 1e8

Status = Literal["ok", "failed", "timeout", "interrupted"]


class Strict(BaseModel):
    """A part of a record: unknown keys are errors, since a misspelt key would be a lost value."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class CellKey(Strict):
    """One point of the matrix, without environment and repetition."""

    name: str
    model: str
    framework: str
    data: str
    batch_size: int = Field(gt=0)
    device: Literal["cpu", "gpu"]
    gpu: str = Field(description="`none`, or the name that NVML gives")
    learners: int = Field(gt=0)
    gpus_per_learner: int = Field(ge=0)
    settings: Literal["quiet", "default"] = Field(
        default="quiet", description="`default`: none of the quiet settings is on"
    )


class Turn(Strict):
    """A few consecutive steps of one run.

    Attributes:
        round: index of the lockstep round, from 0; the runs of a block that share it were measured next to each other.
        position: place within the round, from 0; the order of a round is random.
        steps: number of timed steps.
        settle_s: duration of each untimed settling step at the start of the turn.
        durations_s: duration of each timed step; `len(durations_s) == steps`.
        started_t: monotonic clock at the start of the first timed step.
        cpu_s: CPU time of the worker's process at the start of the turn and at its end; None in older records.
    """

    round: int = Field(ge=0)
    position: int = Field(ge=0)
    steps: int = Field(gt=0)
    settle_s: list[float]
    durations_s: list[float]
    started_t: float
    cpu_s: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None

    @model_validator(mode="after")
    def _as_many_durations_as_steps(self) -> Turn:
        if len(self.durations_s) != self.steps:
            raise ValueError(f"a turn of {self.steps} steps has {len(self.durations_s)} durations")
        if min(self.durations_s) <= 0:
            raise ValueError(f"a step took {min(self.durations_s):g} s, and must take more than none")
        if max(self.durations_s) > LONGEST_STEP_S:
            raise ValueError(
                f"a step took {max(self.durations_s):g} s, and none takes over {LONGEST_STEP_S:g}"
            )
        return self

    @property
    def timed_s(self) -> float:
        """Sum of the timed steps' durations."""
        return sum(self.durations_s)


class Metrics(Strict):
    """What learning came to; accuracies are fractions of the held-out part."""

    training_loss: float | None = None
    test_loss: float | None = None
    test_accuracy: float | None = Field(default=None, ge=0, le=1)
    test_items: int | None = None
    classes: int | None = None
    steps_trained: int = Field(default=0, ge=0)


class Failure(Strict):
    """Why a run has no result."""

    reason: str = Field(description="one sentence")
    stage: str = Field(description="what was going on: prepare, start, warm-up, turn, evaluate, attest")
    exit_status: int | None = None
    log_tail: str = ""


class Record(Strict):
    """One run: one environment in one block."""

    schema_version: Literal[1] = 1
    tare_version: str
    study: str
    cell: CellKey
    repetition: int = Field(ge=1)
    environment: str
    engine: str
    baseline: str
    status: Status
    failure: Failure | None = None
    spec_hash: str = Field(
        description="hash of everything that was asked of the run; staleness is decided by it"
    )
    spec: dict[str, Any] = Field(description="what was asked of the run: the text behind spec_hash")
    schedule: Literal["lockstep", "sequential"]
    schedule_reason: str = ""
    block: list[str] = Field(description="the environments of the block, in the order of their slots")
    slot: int = Field(ge=0)
    block_id: str = Field(
        default="",
        description="random name of the measuring of this block; runs that share it were measured together",
    )
    seed: int
    started_at: str = Field(description="wall clock when the run was requested, ISO 8601, UTC")
    items_per_step: int = Field(gt=0)
    threads: int = Field(gt=0)
    variables: dict[str, str] = Field(
        description="the whole environment of the worker; there is no other variable"
    )
    arguments: list[str] = Field(description="the argument vector, or the engine's API call as key=value")
    phases: dict[str, float] = Field(
        default_factory=dict, description="monotonic clock at the end of each phase"
    )
    warmup_s: list[float] = Field(default_factory=list, description="durations of the warm-up steps")
    turns: list[Turn] = Field(default_factory=list)
    metrics: Metrics = Field(default_factory=Metrics)
    software: dict[str, str] = Field(default_factory=dict)
    resources: dict[str, Any] = Field(
        default_factory=dict, description="what the worker saw: CPUs, threads, limits"
    )
    evidence: dict[str, Any] = Field(default_factory=dict, description="where the worker saw itself to be")
    attested: str = Field(
        default="",
        description="the environment by the evidence alone, whatever the label says; empty where nothing was judged",
    )
    libraries: dict[str, str] = Field(
        default_factory=dict,
        description="hash of each shared library that the worker had loaded when warm, by name",
    )
    platform: dict[str, Any] = Field(default_factory=dict, description="versions and settings of the engine")
    host: dict[str, Any] = Field(default_factory=dict)
    load: dict[str, Any] = Field(default_factory=dict, description="load of the host around the block")
    noise: dict[str, Any] = Field(
        default_factory=dict, description="what disturbed the run between its first turn and its last"
    )
    noise_verdict: str = Field(
        default="", description="`quiet`, or `noisy: ` with the reasons; empty where nothing was judged"
    )

    @model_validator(mode="before")
    @classmethod
    def _older_records_name_their_settings_elsewhere(cls, values: Any) -> Any:
        if (
            isinstance(values, dict)
            and isinstance(values.get("cell"), dict)
            and isinstance(values.get("spec"), dict)
        ):
            cell, told = values["cell"], values["spec"].get("settings")
            if "settings" not in cell and told is not None:
                return {**values, "cell": {**cell, "settings": told}}
        return values

    @model_validator(mode="after")
    def _status_and_failure_agree(self) -> Record:
        if (self.status == "ok") != (self.failure is None):
            raise ValueError(f"status {self.status!r} does not go with failure {self.failure!r}")
        if self.status == "ok" and not self.turns:
            raise ValueError("a run that ended well has at least one turn")
        return self

    @property
    def timed_steps(self) -> int:
        """Number of timed steps over all turns."""
        return sum(turn.steps for turn in self.turns)

    @property
    def timed_s(self) -> float:
        """Seconds spent in timed steps."""
        return sum(turn.timed_s for turn in self.turns)

    @property
    def throughput_images_per_sec(self) -> float | None:
        """Items per second over the timed steps, or None where nothing was timed."""
        return self.items_per_step * self.timed_steps / self.timed_s if self.turns else None

    @property
    def second_per_batch(self) -> float | None:
        """Seconds per step over the timed steps, or None where nothing was timed."""
        return self.timed_s / self.timed_steps if self.turns else None
