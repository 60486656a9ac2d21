"""One run: a worker in its environment, from its start to its record."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tare
from tare.measure.attest import attested, context, contradiction
from tare.measure.conversation import Conversation, Used
from tare.measure.lockstep import RunFailed
from tare.measure.variables import worker_variables
from tare.plan.environment import Environment
from tare.plan.specification import digest, seed, specification, switches, threads
from tare.plan.study import Study
from tare.platforms import EngineError, Launch, Platform, WorkerHandle
from tare.platforms.hostsoftware import find
from tare.platforms.hostview import host_view
from tare.records.schema import CellKey, Failure, Metrics, Record, Status, Turn
from tare.telemetry import procfs
from tare.worker import cgroups
from tare.worker.cgroups import Throttling

RUN_DIR_PREFIX = "tare-run-"
_LOG_TAIL_BYTES = 2000
# A framework may take its time to end, and an engine to clear up, on a busy machine.
_STOP_TIMEOUT_S = 20.0
# How long a worker that told of an error may take to end by itself.
_LAST_WORDS_S = 2.0
_KILLED, _BUS_ERROR = 137, 135


@dataclass(frozen=True)
class Task:
    """What one block is asked to do.

    Attributes:
        environments: in the order of their slots.
        seconds: how long the block may take, workers' start included.
        data: the data set's file.
        study_dir: `results/<study>`.
    """

    study: Study
    cell: CellKey
    repetition: int
    environments: tuple[Environment, ...]
    seconds: float
    data: Path
    study_dir: Path


@dataclass(eq=False)
class Run:
    """One environment in one block, while it is measured."""

    task: Task
    environment: Environment
    slot: int
    platform: Platform
    token: str
    block_id: str = ""
    started_at: str = ""
    phases: dict[str, float] = field(default_factory=dict)
    warmup_s: list[float] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)
    software: dict[str, str] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    attested: str = ""
    libraries: dict[str, str] = field(default_factory=dict)
    description: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    noise: dict[str, Any] = field(default_factory=dict)
    noise_verdict: str = ""
    failure: Failure | None = None
    timed_out: bool = False
    waits_since: tuple[float, float] | None = None
    """Monotonic clock and CPU time when its warm-up was done and it had nothing to do."""
    last_cpu_s: float | None = None
    """CPU time that it had used when it was given up; None where that could not be read."""
    unaccounted_s: float = 0.0
    """Seconds, on each CPU, in which a run that was given up may have been at work unseen, at most."""
    _asked_t: float | None = None
    _pid: int | None = None
    _oom_kills: int | None = None
    _handle: WorkerHandle | None = None
    _conversation: Conversation | None = None
    _run_dir: Path | None = None
    _test: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The environment's name."""
        return self.environment.name

    @property
    def alive(self) -> bool:
        """Whether it can still be measured."""
        return self.failure is None

    @property
    def pid(self) -> int | None:
        """Its process on this host; None where that is not known, as with another user's."""
        return self._pid

    def cpu_s_from_outside(self) -> float | None:
        """CPU time that it has used, by this host's account; None where that can't be read."""
        return None if self._pid is None else procfs.process_cpu_s(self._pid)

    @property
    def _log(self) -> Path:
        task = self.task
        return task.study_dir / "logs" / task.cell.name / str(task.repetition) / f"{self.name}.log"

    def start(self) -> None:
        """Make the environment ready, start the worker and tell it what to build.

        Raises:
            RunFailed: the engine refused, or the run's folder or log can't be made.
        """
        task, study = self.task, self.task.study
        self.started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            self._log.unlink(missing_ok=True)
            begun = time.monotonic()
            self.platform.prepare()
            self.description = {**self.platform.describe(), "prepare_s": round(time.monotonic() - begun, 3)}
            # named by the campaign, so that a sweep finds it; the same length in every environment
            self._run_dir = Path(tempfile.mkdtemp(prefix=f"{RUN_DIR_PREFIX}{self.token.partition('-')[0]}-"))
        except EngineError as error:
            raise RunFailed(str(error), "prepare") from None
        except OSError as error:
            raise RunFailed(
                f"{error.filename or 'a file'} can't be written: {error.strerror}", "prepare"
            ) from None
        host = find()
        source = Path(tare.__file__).resolve().parents[1]
        quiet = switches(study, task.cell)
        self.variables = worker_variables(
            token=self.token, threads=threads(study), switches=quiet, run_dir=self._run_dir, source=source,
            device=task.cell.device,
        )  # fmt: skip
        program = (
            sys.executable, "-I", "-S", str(source / "tare" / "worker" / "launch.py"),
            *_bound_to(), *(f"{name}={value}" for name, value in self.variables.items()),
            "--", sys.executable, "-m", "tare.worker",
        )  # fmt: skip
        launch = Launch(
            token=self.token, program=program, variables=self.variables, run_dir=self._run_dir,
            read_only=(*host.paths, task.data.resolve()), log=self._log,
        )  # fmt: skip
        self._oom_kills = procfs.oom_kills()
        self.phases["requested"] = time.monotonic()
        try:
            self._handle = self.platform.start(launch)
        except EngineError as error:
            raise RunFailed(str(error), "start") from None
        self._conversation = Conversation(self._handle.lines, study.timeout_s, self.phases.__setitem__)
        self._conversation.start(
            {
                "framework": task.cell.framework,
                "network": task.cell.model,
                "batch_size": task.cell.batch_size,
                "threads": threads(study),
                "device": task.cell.device,
                "seed": seed(study, task.repetition),
                "data_path": str(task.data.resolve()),
                "gc_off": "gc_off" in quiet,
                "injected_pct": self.environment.injected,
            }
        )

    def become_ready(self, outside: dict[str, Any]) -> None:
        """Wait until the worker has built everything, and check that it is where its label says.

        Raises:
            RunFailed: it broke, gave no answer, or is somewhere else.
        """
        ready = self._talk().ready()
        # The kernel's own account of the very process, which nothing inside can feign; and what both are judged by.
        seen = host_view(self.token, ready.evidence)
        self.software, self.resources = (
            ready.software,
            {**ready.resources, **_tightest(ready.resources, seen)},
        )
        self._pid = seen.get("pid")
        self.evidence = {**ready.evidence, "host_view": seen, "controller": context(outside)}
        self._test = {"test_items": ready.test_items, "classes": ready.classes}
        self.attested = attested(self.evidence, outside)
        wrong = contradiction(self.environment.engine, self.evidence, outside)
        if wrong:
            raise RunFailed(wrong, "attest")

    def warm_up(self) -> None:
        """The untimed steps at the start."""
        warmed = self._talk().warm_up(self.task.study.warmup_steps)
        self.warmup_s, self.libraries = warmed.durations_s, warmed.libraries
        self.evidence = {**self.evidence, "threads": warmed.threads}
        self.waits_since = (warmed.waits_t, warmed.cpu_s)

    def turn(self, *, round_index: int, position: int, steps: int, settle: int) -> Turn:
        """One turn of the worker."""
        self._asked_t = time.monotonic()
        return self._talk().turn(round_index=round_index, position=position, steps=steps, settle=settle)

    def usage(self) -> Used:
        """What the worker has used of the machine so far."""
        self._asked_t = time.monotonic()
        return self._talk().usage()

    def throttling(self) -> Throttling:
        """What quotas did to it, by the control groups around it as this host sees them."""
        return {} if self._pid is None else cgroups.throttling(procfs.PROC / str(self._pid))

    def finish(self) -> None:
        """Evaluate what was learned, and end the worker in peace."""
        self.metrics = self._talk().evaluate(**self._test)
        self._talk().stop()
        self.phases["finished"] = time.monotonic()
        assert self._handle is not None
        status = self._handle.wait(_STOP_TIMEOUT_S)
        if status is None:
            raise RunFailed("the worker did not end when told to", "stop")
        self.phases["gone"] = time.monotonic()

    def fail(self, failure: RunFailed) -> None:
        """Take note of why it can't go on, and end whatever is left of it."""
        status, ending, begun_t = None, False, time.monotonic()
        self.last_cpu_s = self.cpu_s_from_outside()
        if self._handle is not None:
            # One whose channel has closed is ending, and an engine may take its time to say how.
            ending = self._handle.lines.wait_closed(0.0 if failure.timed_out else _LAST_WORDS_S)
            status = self._handle.wait(_STOP_TIMEOUT_S if ending else 0.0)
            with suppress(EngineError):  # what could not be removed is tried again, and told, by discard()
                self._handle.kill()
        if self._asked_t is not None:
            # What it used until now is known, or it is gone since now, or neither.
            first_t = self._asked_t if self.last_cpu_s is None else begun_t
            last_t = begun_t if self.last_cpu_s is None and ending else time.monotonic()
            self.unaccounted_s = last_t - first_t
        reason, log_tail = failure.reason.strip().rstrip("."), self._log_tail()
        if status == _KILLED and not failure.timed_out:
            reason += f" ({self._killed_by()})"
        elif status == _BUS_ERROR:
            reason += f" ({self._bus_error()})"
        elif status not in (None, 0) and "without a word" in reason:
            reason += f" (exit status {status}{_last_words(log_tail)})"
        self.timed_out = failure.timed_out
        self.failure = Failure(
            reason=f"{reason}.", stage=failure.stage, exit_status=status, log_tail=log_tail
        )

    def _killed_by(self) -> str:
        """Who killed it, as far as the kernel's count of processes killed for want of memory tells."""
        now = procfs.oom_kills()
        if now is None or self._oom_kills is None:
            return "it was killed: by somebody, or by the kernel for want of memory"
        if now > self._oom_kills:
            limit = self.resources.get("memory_limit_bytes")
            limited = f", with a limit of {limit / 2**20:.0f} MiB on it" if limit else ""
            return f"it was killed, and meanwhile the kernel has killed for want of memory{limited}"
        return "it was killed by somebody; the kernel has killed nothing for want of memory"

    def _bus_error(self) -> str:
        shm_bytes = self.evidence.get("shm_bytes")
        has = f"; it has {shm_bytes / 2**20:.0f} MiB here" if shm_bytes is not None else ""
        return f"a bus error, as where /dev/shm is full{has}"

    def discard(self) -> None:
        """Leave nothing running and nothing on disk but log and record; may be called twice.

        Raises:
            EngineError: the engine could not remove what it keeps of the run.
        """
        try:
            if self._handle is not None:
                self._handle.close()
        finally:
            if self._run_dir is not None:
                shutil.rmtree(self._run_dir, ignore_errors=True)

    def record(self, *, host: dict[str, Any], load: dict[str, Any], interrupted: str = "") -> Record:
        """The record of the run as it stands.

        Args:
            interrupted: why the block was broken off, if it was; the run itself may have been fine until then.
        """
        task, study = self.task, self.task.study
        asked = specification(study, task.cell, self.environment, task.repetition)
        failure, status = self.failure, self._status()
        if failure is None and interrupted:
            failure, status = Failure(reason=interrupted, stage="turn"), "interrupted"
        return Record(
            tare_version=tare.__version__,
            study=study.name,
            cell=task.cell,
            repetition=task.repetition,
            environment=self.name,
            engine=self.environment.engine,
            baseline=self.environment.baseline,
            status=status,
            failure=failure,
            spec_hash=digest(asked),
            spec=asked,
            schedule=study.schedule,
            block=[environment.name for environment in task.environments],
            slot=self.slot,
            block_id=self.block_id,
            seed=seed(study, task.repetition),
            started_at=self.started_at or datetime.now(UTC).isoformat(timespec="milliseconds"),
            items_per_step=task.cell.batch_size,
            threads=threads(study),
            variables=self.variables,
            arguments=self._handle.arguments if self._handle else [],
            phases=self.phases,
            warmup_s=self.warmup_s,
            turns=self.turns,
            metrics=self.metrics,
            software=self.software,
            resources=self.resources,
            evidence=self.evidence,
            attested=self.attested,
            libraries=self.libraries,
            platform=self.description,
            host=host,
            load=load,
            noise=self.noise,
            noise_verdict=self.noise_verdict,
        )

    def _status(self) -> Status:
        if self.failure is None:
            return "ok"
        return "timeout" if self.timed_out else "failed"

    def _talk(self) -> Conversation:
        if self._conversation is None:
            raise RunFailed("the worker was never started", "start")
        return self._conversation

    def _log_tail(self) -> str:
        try:
            with self._log.open("rb") as file:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - _LOG_TAIL_BYTES))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""


def _bound_to() -> list[str]:
    """What `launch.py` is told of the CPUs that this process may use; nothing where these are all there are."""
    cpus = sorted(os.sched_getaffinity(0))
    return [f"--cpus={','.join(map(str, cpus))}"] if len(cpus) < (os.cpu_count() or 1) else []


def _tightest(inside: Mapping[str, Any], outside: Mapping[str, Any]) -> dict[str, Any]:
    """Limits of the control groups, the tighter of what is seen from inside and from this host."""
    found = {}
    for key in ("cpu_quota", "memory_limit_bytes"):
        limits = [value for value in (inside.get(key), outside.get(key)) if value is not None]
        if limits:
            found[key] = min(limits)
    return found


def _last_words(log_tail: str) -> str:
    """The log's last line, for a reason: an engine that can't start a container says why there."""
    lines = [line.strip() for line in log_tail.splitlines() if line.strip()]
    return f"; its log ends with: {lines[-1][:300]}" if lines else ""
