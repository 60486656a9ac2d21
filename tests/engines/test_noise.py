"""Real disturbances of a real short block, each of which must be named, and a block that nobody disturbs."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tare import platforms
from tare.data import digits
from tare.measure import locks
from tare.measure.block import Progress, measure_block
from tare.plan import quiet
from tare.platforms import process
from tare.stats import notes
from tare.stats.comparable import comparable
from tare.stats.pairs import Pair
from tests.engines.conftest import usable
from tests.unit.simulated import task

pytestmark = pytest.mark.engine

CGROUPS = Path("/sys/fs/cgroup")
AGAIN = {"name": "bare-again", "engine": "bare", "baseline": "bare"}
HOG = "while True: pass"
# Long enough for shares of CPU time, which the kernel counts in ticks.
ROUNDS = {"min": 12, "max": 12}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "digits.npz"
    digits.write(path)
    return path


@pytest.fixture
def measure(prepared, tmp_path):
    """Measures a short block of torch's LeNet; engine -> its records."""

    def measure(*environments, name="block", **changes):
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(prepared, folder / "digits.npz")
        asked = task(
            folder, environments,
            **{"rounds": ROUNDS, "threads": None, "warmup_steps": 3, "steps_per_turn": 8, "timeout_s": 120} | changes,
        )  # fmt: skip
        engines = {environment.engine for environment in asked.environments}
        records = measure_block(asked, {engine: platforms.create(engine) for engine in engines})
        assert [record.failure for record in records] == [None] * len(records)
        return records

    return measure


def test_a_process_that_uses_a_cpu_is_named(measure):
    hogs = [subprocess.Popen([sys.executable, "-c", HOG]) for _ in os.sched_getaffinity(0)]
    try:
        records = measure("bare", AGAIN)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    for record in records:
        assert record.noise["other_cpu_pct"] > 20
        assert record.noise_verdict.startswith("noisy: other processes used ")


class Stops(Progress):
    """One of the workers is stopped in the third round, so that it gives no answer."""

    def round(self, done, most, elapsed_s):
        if done == 3:
            os.kill(max(process.processes(locks.campaign())), signal.SIGSTOP)


def test_a_run_that_hangs_hides_no_disturbance(prepared, tmp_path):
    shutil.copy(prepared, tmp_path / "digits.npz")
    asked = task(
        tmp_path, ["bare", AGAIN], rounds=ROUNDS, threads=None, warmup_steps=3, steps_per_turn=8, timeout_s=6
    )
    hogs = [subprocess.Popen([sys.executable, "-c", HOG]) for _ in os.sched_getaffinity(0)]
    try:
        records = measure_block(asked, {"bare": platforms.create("bare")}, Stops())
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    assert sorted(record.status for record in records) == ["ok", "timeout"]
    for record in records:
        assert record.noise["other_cpu_pct"] > 20
        assert record.noise_verdict.startswith("noisy: other processes used ")


@pytest.fixture
def quota():
    """Puts this process into a control group that may use half a CPU, and back at the end."""

    def group_of(line_start):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            if line_start(number, controllers.split(",")):
                return path
        return None

    name = f"tare-test-{secrets.token_hex(4)}"
    v1 = next((path for path in (CGROUPS / "cpu", CGROUPS / "cpu,cpuacct") if path.is_dir()), None)
    if v1 is not None:
        root, own = v1, group_of(lambda number, controllers: "cpu" in controllers)
        limit = (("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000"))
    else:
        root, own = CGROUPS, group_of(lambda number, controllers: number == "0")
        limit = (("cpu.max", "50000 100000"),)
    group, moved = root / name, False
    try:
        if v1 is None and "cpu" not in (root / "cgroup.subtree_control").read_text().split():
            (root / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir()
        for file, value in limit:
            (group / file).write_text(value)
        (group / "cgroup.procs").write_text(str(os.getpid()))
        moved = True
    except OSError as error:
        sentence = f"no control group with a quota can be made: {error}. Run the tests as root."
        if os.environ.get("TARE_REQUIRE_ENGINES") == "1":
            pytest.fail(sentence)
        pytest.skip(sentence)
    finally:
        if not moved and group.is_dir():
            group.rmdir()
    yield
    (root / (own or "/").lstrip("/") / "cgroup.procs").write_text(str(os.getpid()))
    for _ in range(50):
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.1)  # a worker that was killed may take a moment to be gone
    pytest.fail(f"{group} could not be removed")


def test_a_cpu_quota_is_named(measure, quota):
    """Also where a control group namespace hides it from inside."""
    usable("bubblewrap")
    bare, hidden = measure("bare", "bubblewrap")
    for record in (bare, hidden):
        assert record.noise["throttled_pct"] > 5
        assert "a CPU quota stopped it in " in record.noise_verdict
        assert "a CPU quota on Tare itself stopped it in " in record.noise_verdict
        assert record.resources["cpu_quota"] == 0.5
    assert not comparable([Pair(bare, hidden)]).startswith("not comparable")


DAEMONS = ("docker", "podman")
DAEMONS_ONLY = [{"name": name, "engine": name, "baseline": "docker"} for name in DAEMONS]


@pytest.fixture(scope="module")
def group_above(prepared, tmp_path_factory):
    """The groups that docker and podman keep their containers in: (engine, controller) -> folder."""
    for engine in DAEMONS:
        usable(engine)
    folder = tmp_path_factory.mktemp("groups")
    shutil.copy(prepared, folder / "digits.npz")
    asked = task(folder, DAEMONS_ONLY, rounds={"min": 1, "max": 1}, threads=None, timeout_s=120)
    found = {}
    for record in measure_block(asked, {name: platforms.create(name) for name in DAEMONS}):
        for line in record.evidence["host_view"]["cgroup"]:
            _, controllers, path = line.split(":", 2)
            for controller in ("cpu", "memory"):
                for name in (controllers, controller):
                    group = (CGROUPS / name / path.lstrip("/")).parent
                    if controller in (controllers or controller).split(",") and group.is_dir():
                        found.setdefault((record.engine, controller), group)
    for (engine, _), group in found.items():
        # of systemd's own slices services are in, too, which a limit would starve
        if group.name not in ("docker", "libpod_parent"):
            pytest.skip(f"{engine} keeps its containers in {group}, which is not its own")
        if not os.access(group, os.W_OK):
            pytest.skip(f"{group} can't be written; run the tests as root")
    return found


@contextmanager
def limited(groups, v2, v1):
    """Some groups with a limit; of version 2 or 1: the file, the limit, no limit."""
    files = [
        next((group / file, limit, none) for file, limit, none in (v2, v1) if (group / file).exists())
        for group in groups
    ]
    try:
        for file, limit, _ in files:
            file.write_text(limit)
        yield
    finally:
        for file, _, none in files:
            file.write_text(none)


def test_a_quota_above_a_containers_own_group_is_named(measure, group_above):
    groups = [group_above[engine, "cpu"] for engine in DAEMONS]
    with limited(groups, ("cpu.max", "50000 100000", "max 100000"), ("cpu.cfs_quota_us", "50000", "-1")):
        bare, *others = measure("bare", *DAEMONS)
    assert "a CPU quota stopped it in " not in bare.noise_verdict
    for record in others:
        assert record.resources["cpu_quota"] == 0.5
        assert "a CPU quota stopped it in " in record.noise_verdict
        said = f"not comparable: resource cpu_quota is none in bare and 0.5 in {record.engine}"
        assert comparable([Pair(bare, record)]).startswith(said)


def test_a_run_that_is_killed_for_want_of_memory_says_so(prepared, tmp_path, group_above):
    shutil.copy(prepared, tmp_path / "digits.npz")
    asked = task(tmp_path, ["bare", *DAEMONS], rounds=ROUNDS, threads=None, timeout_s=120)
    groups, few = [group_above[engine, "memory"] for engine in DAEMONS], str(120 << 20)
    with limited(groups, ("memory.max", few, "max"), ("memory.limit_in_bytes", few, "-1")):
        bare, *killed = measure_block(asked, {name: platforms.create(name) for name in ("bare", *DAEMONS)})
    assert bare.status == "ok"
    for record in killed:
        assert record.status == "failed"
        assert "the kernel has killed for want of memory" in record.failure.reason


def test_every_environment_has_the_cpus_that_the_controller_is_bound_to(measure):
    for engine in DAEMONS:
        usable(engine)
    all_cpus = os.sched_getaffinity(0)
    if len(all_cpus) < 2:
        pytest.skip("one CPU: there is nothing to be bound to")
    os.sched_setaffinity(0, {max(all_cpus)})
    try:
        bare, *others = measure("bare", "bubblewrap", *DAEMONS)
    finally:
        os.sched_setaffinity(0, all_cpus)
    assert bare.resources["cpus"] == [max(all_cpus)]
    for record in others:
        assert not comparable([Pair(bare, record)]).startswith("not comparable")


def test_a_worker_that_spins_while_it_waits_is_named(measure, monkeypatch):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU: torch has one thread, and that one sleeps while it waits")
    spinning = {"GOMP_SPINCOUNT": "infinite", "OMP_WAIT_POLICY": "active"}
    monkeypatch.setitem(
        quiet.SWITCHES, "short_spin", replace(quiet.SWITCHES["short_spin"], variables=spinning)
    )
    records = measure("bare", AGAIN, warmup_steps=20)
    assert records[0].noise["idle_cpu_pct"] > 10, "while the other one was warming up"
    for record in records:
        assert record.noise["waiting_cpu_pct"] > 2
        assert "it was not idle while it waited for its turn: " in record.noise_verdict
        assert "another worker of the block was not idle" in record.noise_verdict


def test_what_torchs_threads_do_after_a_turn_without_the_quiet_settings_is_named(measure):
    """OpenMP's own spinning ends within the next settling step, so no limit is passed, and a note says it."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU: torch has one thread, and that one sleeps while it waits")
    spinning = measure("bare", AGAIN, name="default", quiet=False)
    assert notes.spinning(spinning)[0].startswith("threads of 2 of 2 runs went on spinning for ")
    # a machine that is slowed down at this moment may be as slow to fall asleep
    assert any(notes.spinning(measure("bare", AGAIN, name=f"quiet-{n}")) == [] for n in range(4))


@pytest.mark.parametrize("engine", [name for name in platforms.ENGINES if name != "bare"])
def test_an_idle_machine_is_quiet(engine, measure):
    """Tried a few times; it may only fail to come out quiet where the machine is seen to be busy by other means too."""
    usable(engine)
    seen, busy_pct = [], []
    for attempt in range(4):
        records = measure("bare", engine, name=f"attempt-{attempt}")
        for record in records:
            assert record.noise["waiting_cpu_pct"] <= 2, "a waiting worker is idle"
            assert record.noise.get("idle_cpu_pct", 0) <= 2, "one that never had a turn, too"
            assert {"other_cpu_pct", "steal_pct", "involuntary_switches", "major_faults"} <= set(record.noise)
        if all(record.noise_verdict == "quiet" for record in records):
            return
        seen.append(sorted({record.noise_verdict for record in records}))
        # nothing of ours runs now
        now = psutil.cpu_times_percent(interval=2)
        busy_pct.append(100 - now.idle - now.iowait)
        time.sleep(3)
    theirs = ("other processes used", "the hypervisor took")
    if min(busy_pct) > 3 and all(any(words in said for words in theirs) for said in map(str, seen)):
        pytest.skip(f"others used {min(busy_pct):.0f} % of the CPUs at least: {seen}")
    pytest.fail(f"never quiet, while {busy_pct} % of the CPUs were busy without us: {seen}")
