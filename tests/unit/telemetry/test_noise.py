"""What disturbed a run: differences of readings, and the verdict on them."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tare.records.schema import Turn
from tare.telemetry import noise, noise_verdict
from tare.telemetry.noise import HostReading, WorkerWindow
from tare.telemetry.procfs import CpuTimes

BEFORE = HostReading(
    t=100.0, cpus=(0, 1), cpu=CpuTimes(50.0, 1.0, 2.0), load_1min=1.5,
    paging={"swapped_bytes": 4096, "major_faults": 10}, heat_events=3, frequencies_mhz=[2600.0, 2600.0],
    governors=["performance"], throttling={"/a": (100, 50, 2.0)}, own_cpu_s=7.0,
)  # fmt: skip
# ten seconds later, of which two workers worked all the time on both CPUs
AFTER = replace(BEFORE, t=110.0, cpu=CpuTimes(70.0, 1.0, 2.0), own_cpu_s=7.1)


@dataclass
class Counted:
    t: float = 0.0
    cpu_s: float = 0.0
    cpu_wait_s: float | None = 0.0
    involuntary_switches: int = 0
    major_faults: int = 0
    throttling: dict = field(default_factory=dict)


def window(cpu_s=9.95, **after):
    return WorkerWindow(Counted(cpu_s=2.0), Counted(cpu_s=2.0 + cpu_s, **after))


def host(after=AFTER, workers=None, **changes):
    return noise.host_figures(BEFORE, replace(after, **changes), workers or [window(), window()])


def test_a_quiet_machine():
    found = host()
    assert json.loads(json.dumps(found)) == found
    assert found["other_cpu_pct"] == 0
    assert (found["window_s"], found["load_1min_before"]) == (10, 1.5)
    assert noise_verdict.verdict(found) == "quiet"


def test_other_processes_are_what_is_neither_the_workers_nor_the_controllers():
    # 20 s were used, of which 12 s by workers and 0.1 s here, in 20 s of two CPUs
    found = host(workers=[window(cpu_s=6), window(cpu_s=6)])
    assert found["other_cpu_pct"] == pytest.approx(39.5)
    assert noise_verdict.verdict(found) == "noisy: other processes used 40 % of the CPUs"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cpu": CpuTimes(70, 1.8, 2)}, "the hypervisor took 4 % of the CPUs (steal)"),
        ({"paging": {"swapped_bytes": 4096 + (3 << 20)}}, "3 MiB were swapped"),
        ({"heat_events": 5}, "CPUs were slowed down for heat 2 times"),
        (
            {"throttling": {"/a": (200, 145, 5.0)}},
            "a CPU quota on Tare itself stopped it in 95 % of the periods",
        ),
    ],
)
def test_what_the_host_does(changes, said):
    assert noise_verdict.verdict(host(**changes)) == f"noisy: {said}"


@pytest.mark.parametrize(
    "changes",
    [
        {"cpu": CpuTimes(70.9, 1.5, 9)},
        {"paging": {"swapped_bytes": 8192, "major_faults": 900}},
        {"throttling": {"/a": (400, 52, 2.0)}},
        {"throttling": {"/a": (100, 50, 2.0)}},
        {"throttling": {"/new": (10, 10, 2.0)}},
        {"frequencies_mhz": [1200.0, 2600.0]},
    ],
)
def test_what_is_not_enough(changes):
    assert noise_verdict.verdict(host(**changes)) == "quiet"


def test_what_is_not_known_is_left_out_and_no_reason():
    bare = replace(
        BEFORE, cpu=None, paging={}, heat_events=None, frequencies_mhz=[], governors=[], throttling={}
    )
    found = noise.host_figures(bare, replace(bare, t=110.0), [])
    assert found == {"window_s": 10.0, "load_1min_before": 1.5}
    assert noise_verdict.verdict(found) == "", "not judged, which is not quiet"


def test_ticks_of_a_moment_are_no_share():
    found = host(t=100.2)
    assert "other_cpu_pct" not in found
    assert noise_verdict.verdict(found) == "", "nobody knows whether others were at work"
    assert noise_verdict.verdict(found | {"heat_events": 1}).startswith("noisy: ")


def test_a_worker_that_failed_is_not_taken_for_somebody_else():
    told = turns_with(cpu_s=[(2.0, 4.0), (4.5, 8.0)])
    failed = WorkerWindow(Counted(cpu_s=2.0), None, told, last_cpu_s=11.95)
    assert failed.cpu_s == 9.95
    assert noise_verdict.verdict(host(workers=[window(), failed])) == "quiet"
    unread = replace(failed, last_cpu_s=None)
    assert unread.cpu_s == 6.0
    assert host(workers=[window(), unread])["other_cpu_pct"] > 10
    assert WorkerWindow(Counted(cpu_s=2.0), None).cpu_s == 0


@pytest.mark.parametrize(
    ("own_s", "unaccounted_s", "least", "most", "said"),
    [
        # 20 s were used, of which 9.95 s by the other worker and 0.1 s by the controller, in 20 s of two CPUs
        (9.45, 0.6, 0.0, 2.5, "quiet"),
        (5.95, 4.0, 0.0, 20.0, ""),
        (0.95, 4.0, 25.0, 45.0, "noisy: other processes used 25 % of the CPUs"),
    ],
)
def test_what_a_failed_worker_may_have_used_unseen_hides_nobody(own_s, unaccounted_s, least, most, said):
    failed = WorkerWindow(Counted(), None, last_cpu_s=own_s, unaccounted_s=unaccounted_s)
    found = host(workers=[window(), failed])
    assert (found["other_cpu_pct"], found["other_cpu_at_most_pct"]) == (least, most)
    assert noise_verdict.verdict(found) == said


def test_one_that_never_took_a_turn_has_no_figures():
    assert noise.worker_figures(WorkerWindow(Counted(), None), 2) == {}


def test_what_a_worker_meets():
    found = noise.worker_figures(
        window(cpu_s=10, cpu_wait_s=2.5, involuntary_switches=500, major_faults=3), 2
    )
    assert found == {
        "cpu_s": 10, "involuntary_switches": 500, "major_faults": 3, "involuntary_switches_per_cpu_s": 50,
        "cpu_wait_s": 2.5, "cpu_wait_pct": 20,
    }  # fmt: skip
    assert noise_verdict.verdict(found | {"other_cpu_pct": 0}) == "quiet"


def test_a_quota_that_only_the_host_sees_is_found():
    """A container does not see what an engine's own group, above its own, is kept from."""
    inside = {"/sys/fs/cgroup/cpu": (0, 0, 0.0)}
    one = WorkerWindow(
        Counted(throttling=inside),
        Counted(cpu_s=1.0, throttling={"/sys/fs/cgroup/cpu": (100, 2, 0.1)}),
        groups=({"/sys/fs/cgroup/cpu/docker": (10, 0, 0.0)}, {"/sys/fs/cgroup/cpu/docker": (110, 90, 5.0)}),
    )
    assert noise.worker_figures(one, 2)["throttled_pct"] == 90
    assert noise.worker_figures(replace(one, groups=({}, {})), 2)["throttled_pct"] == 2


def test_reasons_of_a_worker():
    before = Counted(throttling={"/a": (0, 0, 0.0), "/": (0, 0, 0.0)})
    after = Counted(
        cpu_s=1.0, cpu_wait_s=None, major_faults=11, throttling={"/a": (50, 44, 2.0), "/": (50, 0, 0.0)}
    )
    found = noise.worker_figures(WorkerWindow(before, after), 2)
    assert noise_verdict.reasons(found) == [
        "a CPU quota stopped it in 88 % of the periods",
        "11 of its pages had to be read from a disk",
    ]
    assert "cpu_wait_s" not in found


def turns_with(cpu_s, wait_s=0.09, step_s=0.01):
    """Turns of a settling step and one timed step, with so long a wait between them."""
    period_s = wait_s + 2 * step_s
    return [
        Turn(
            round=number,
            position=0,
            steps=1,
            settle_s=[step_s],
            durations_s=[step_s],
            started_t=number * period_s,
            cpu_s=both,
        )
        for number, both in enumerate(cpu_s)
    ]


@pytest.mark.parametrize(
    ("used_s", "pct"),
    [
        (0.0, 0),
        (0.01, 0),  # spins for no longer than the next worker settles
        (0.09, 44.44),  # one thread spins on, on two CPUs
    ],
)
def test_whether_a_waiting_worker_is_idle(used_s, pct):
    turns = turns_with([(n * (0.04 + used_s), n * (0.04 + used_s) + 0.04) for n in range(5)])
    found = noise.waiting(turns, 2, 2)
    assert found["waiting_cpu_pct"] == pytest.approx(pct, abs=0.01)
    assert (found["waited_s"], found["waiting_cpu_s"]) == (pytest.approx(0.36), pytest.approx(4 * used_s))


def test_whether_it_is_idle_is_not_known_of_older_turns_or_of_one():
    assert noise.waiting(turns_with([None, None]), 2, 2) == {}
    assert noise.waiting(turns_with([(0, 1)]), 2, 2) == {}


@pytest.mark.parametrize(("threads", "cpus", "pct"), [(16, 16, 0), (64, 16, 0), (2, 16, 9.72), (1, 16, 9.72)])
def test_each_thread_may_spin_for_a_settling_step(threads, cpus, pct):
    used_s = 15 * 0.01
    turns = turns_with([(n * (0.04 + used_s), n * (0.04 + used_s) + 0.04) for n in range(5)])
    assert noise.waiting(turns, cpus, threads)["waiting_cpu_pct"] == pytest.approx(pct, abs=0.01)


def test_a_limit_is_passed_only_above_it_and_each_reason_has_one_number():
    for limit in noise_verdict.LIMITS:
        assert noise_verdict.verdict({"other_cpu_pct": 0, limit.figure: limit.most}) == "quiet"
        (said,) = noise_verdict.reasons({limit.figure: 1000 * (limit.most + 1)})
        assert sum(character.isdigit() for character in limit.words.replace("{value}", "")) == 0
        assert noise_verdict.SEPARATOR not in said


def test_the_documentation_has_every_limit():
    text = " ".join(
        (Path(__file__).parents[3] / "docs" / "measurement.md").read_text(encoding="utf-8").split()
    )
    for limit in noise_verdict.LIMITS:
        most = "1 MiB" if limit.figure == "host_swapped_bytes" else f"{limit.most:g}"
        assert f"| `{limit.figure}` | {most} |" in text, limit.figure


def test_the_real_host():
    before, after = noise.read_host({0}), noise.read_host({0})
    assert after.t >= before.t
    assert after.own_cpu_s >= before.own_cpu_s > 0
    assert json.dumps(noise.host_figures(before, after, []))
