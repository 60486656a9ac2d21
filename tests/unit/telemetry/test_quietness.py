"""What `tare doctor` finds that would disturb a measurement."""

import os
import shutil

import psutil
import pytest

from tare.telemetry import quietness
from tare.telemetry.gpu_state import GpuReading
from tare.telemetry.quietness import Busy
from tare.worker import cgroups

CPUS = sorted(os.sched_getaffinity(0))


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Quiet, unless files or values are changed; what is looked at is a copy of nothing."""
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    proc.mkdir()
    sys.mkdir()

    class Machine:
        def __init__(self):
            self.busy, self.gpus = [], []
            self.stat_after, self.swap_bytes, self.virtual = None, 0, False
            self.changes = {}

        def put(self, path, text):
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

        def stat(self, busy=0, steal=0):
            return "".join(f"cpu{cpu} {busy} 0 0 0 0 0 0 {steal} 0 0\n" for cpu in CPUS)

        def look(self):
            return {
                finding.what: finding.remedy for finding in quietness.look(1.0, proc=proc, sys=sys, gpus=True)
            }

    made = Machine()
    made.put("proc/stat", made.stat())
    made.put("proc/loadavg", "0.10 0.1 0.1 1/100 1\n")

    def busiest(sample_s):
        for path, text in made.changes.items():
            made.put(path, text)
        if made.stat_after:
            made.put("proc/stat", made.stat_after)
        return made.busy

    clock = iter(range(1000))
    monkeypatch.setattr(quietness.noise.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(quietness, "busiest", busiest)
    monkeypatch.setattr(quietness.gpu_state, "read", lambda: made.gpus)
    monkeypatch.setattr(quietness.host, "describe", lambda: {"virtual_machine": made.virtual})
    monkeypatch.setattr(cgroups, "cpu_quota", lambda: None)
    monkeypatch.setattr(cgroups, "memory_limit_bytes", lambda: None)
    monkeypatch.setattr(os, "getpriority", lambda which, who: 0)
    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_OTHER)
    monkeypatch.setattr(os, "cpu_count", lambda: len(CPUS))
    swap = psutil.swap_memory()
    monkeypatch.setattr(psutil, "swap_memory", lambda: swap._replace(used=made.swap_bytes))
    return made


def test_a_quiet_machine(machine):
    assert machine.look() == {}


def test_who_is_busy_is_named(machine):
    hertz = os.sysconf("SC_CLK_TCK")
    machine.stat_after = machine.stat(busy=hertz // 2)
    machine.busy = [Busy("mine", 12, 80.4), Busy("yours", 13, 20)]
    ((what, remedy),) = machine.look().items()
    assert what.startswith("Other processes use ")
    assert what.endswith(": mine (process 12, 80 % of a CPU), yours (process 13, 20 % of a CPU)")
    assert "pause them" in remedy


def test_steal(machine):
    machine.stat_after = machine.stat(steal=os.sysconf("SC_CLK_TCK"))
    ((what, _),) = machine.look().items()
    assert what.startswith("The hypervisor takes")


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({"proc/loadavg": "99.5 1 1 1/1 1"}, "The load average is 99.5"),
        (
            {f"sys/devices/system/cpu/cpu{CPUS[0]}/cpufreq/scaling_governor": "powersave"},
            "The CPUs' frequency follows the load (governor powersave)",
        ),
        ({"sys/devices/system/cpu/intel_pstate/no_turbo": "0"}, "Turbo is on"),
        ({"sys/devices/system/cpu/cpufreq/boost": "1\n"}, "Turbo is on"),
        ({"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]"}, "Transparent huge pages"),
    ],
)
def test_settings_and_load(machine, files, what):
    for path, text in files.items():
        machine.put(path, text)
    ((said, remedy),) = machine.look().items()
    assert said.startswith(what)
    assert remedy


@pytest.mark.parametrize(
    "files",
    [
        {f"sys/devices/system/cpu/cpu{CPUS[0]}/cpufreq/scaling_governor": "performance"},
        {"sys/devices/system/cpu/intel_pstate/no_turbo": "1"},
        {"sys/devices/system/cpu/cpufreq/boost": "0"},
        {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never"},
    ],
)
def test_settings_that_are_right(machine, files):
    for path, text in files.items():
        machine.put(path, text)
    assert machine.look() == {}


def test_limits_swap_and_virtual_machines(machine, monkeypatch):
    monkeypatch.setattr(cgroups, "cpu_quota", lambda: 0.5)
    monkeypatch.setattr(os, "cpu_count", lambda: len(CPUS) + 6)
    machine.swap_bytes, machine.virtual = psutil.virtual_memory().total, True
    said = list(machine.look())
    assert said[0].startswith(f"A CPU quota lets Tare use 0.5 of {len(CPUS)} CPUs")
    assert said[1].startswith(f"Tare may use {len(CPUS)} of {len(CPUS) + 6} CPUs")
    assert said[2].endswith("MiB of swap are in use")
    assert said[3].startswith("This is a virtual machine")
    assert len(said) == 4


def test_what_a_daemon_does_not_hand_on_to_its_containers(machine, monkeypatch):
    monkeypatch.setattr(cgroups, "memory_limit_bytes", lambda: 8 << 30)
    monkeypatch.setattr(os, "getpriority", lambda which, who: 10)
    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_BATCH)
    said = list(machine.look())
    assert said[0].startswith("A control group lets Tare use 8,192 MiB of memory")
    assert said[1].startswith("Tare runs with niceness 10")
    assert said[2].startswith("Tare runs under another scheduling policy")
    assert all(what.endswith("not comparable with bare") for what in said)
    assert len(said) == 3


def test_what_goes_on_at_this_moment(machine):
    machine.put("proc/vmstat", "pswpin 0\npswpout 0\n")
    machine.changes = {
        f"sys/devices/system/cpu/cpu{CPUS[0]}/thermal_throttle/core_throttle_count": "5",
        "proc/vmstat": "pswpin 0\npswpout 100000\n",
    }
    machine.put(f"sys/devices/system/cpu/cpu{CPUS[0]}/thermal_throttle/core_throttle_count", "3")
    assert list(machine.look()) == [
        "Memory is short: pages are being swapped at this moment",
        "CPUs are being slowed down for heat (2 times just now)",
    ]


def test_gpus(machine):
    machine.gpus = [
        GpuReading("V100", 1, 1, 1, (), None, ()),
        GpuReading("H200", 1, 1, 1, ("power",), None, (3, 4)),
    ]
    assert list(machine.look()) == [
        "GPU 1 (H200) is in use by 2 processes",
        "GPU 1 (H200) is slowed down by: power",
    ]


def test_the_real_busiest_process_is_found():
    hog = psutil.Popen([shutil.which("sh"), "-c", "while :; do :; done"])
    try:
        found = {one.pid: one for one in quietness.busiest(0.5)}
    finally:
        hog.kill()
        hog.wait()
    assert found[hog.pid].pct > 3
    assert found[hog.pid].name
