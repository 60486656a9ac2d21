"""The host's counters, from folders that stand for /proc and /sys."""

import os

import pytest

from tare.telemetry import procfs

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# user nice system idle iowait irq softirq steal guest guest_nice
STAT = """\
cpu  300 3 30 1000 9 6 3 12 50 0
cpu0 100 1 10 400 3 2 1 4 50 0
cpu1 150 1 10 400 3 2 1 4 0 0
cpu10 50 1 10 200 3 2 1 4 0 0
intr 12 0 3
"""


@pytest.fixture
def put(tmp_path):
    def put(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return tmp_path

    return put


def test_only_the_given_cpus_count_and_guests_count_once(put):
    found = procfs.cpu_times({1}, put("stat", STAT))
    assert found.busy_s == pytest.approx((150 + 1 + 10 + 2 + 1) * TICK_S)
    assert (found.steal_s, found.iowait_s) == (pytest.approx(4 * TICK_S), pytest.approx(3 * TICK_S))
    assert procfs.cpu_times({0, 10}, put("stat", STAT)).busy_s == pytest.approx((114 + 64) * TICK_S)


@pytest.mark.parametrize("cpus", [{0, 2}, set()])
def test_a_cpu_that_is_not_told_of_leaves_nothing_known(put, cpus):
    assert procfs.cpu_times(cpus, put("stat", STAT)) is None


def test_paging(put):
    folder = put("vmstat", "nr_free_pages 3\npswpin 2\npswpout 5\npgmajfault 7\n")
    assert procfs.paging(folder) == {"swapped_bytes": 7 * os.sysconf("SC_PAGE_SIZE"), "major_faults": 7}


def test_frequencies_of_the_driver_come_before_those_of_the_processor(put):
    put("cpuinfo", "processor : 0\ncpu MHz : 2000.5\n\nprocessor : 1\ncpu MHz : 1000\n")
    folder = put("devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3100000\n")
    assert procfs.frequencies_mhz({0, 1}, folder, folder) == [2000.5, 1000]
    assert procfs.frequencies_mhz({0}, folder, folder) == [3100]
    assert procfs.frequencies_mhz({0, 2}, folder, folder) == []


def test_governors(put):
    for cpu, name in enumerate(("powersave", "performance", "powersave")):
        folder = put(f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", f"{name}\n")
    assert procfs.governors({0, 2}, folder) == ["powersave"]
    assert procfs.governors({0, 1, 7}, folder) == ["performance", "powersave"]


def test_heat(put):
    put("devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "2\n")
    folder = put("devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "3\n")
    assert procfs.heat_events({0, 1}, folder) == 5
    assert procfs.heat_events({1}, folder) is None


def test_what_is_not_there_is_not_known(tmp_path):
    assert procfs.cpu_times({0}, tmp_path) is None
    assert procfs.load_1min(tmp_path) is None
    assert procfs.paging(tmp_path) == {}
    assert procfs.frequencies_mhz({0}, tmp_path, tmp_path) == []
    assert procfs.governors({0}, tmp_path) == []


def test_this_machine():
    cpus = os.sched_getaffinity(0)
    before, after = procfs.cpu_times(cpus), procfs.cpu_times(cpus)
    assert after.busy_s >= before.busy_s > 0
    assert procfs.load_1min() >= 0
    assert procfs.paging()["major_faults"] >= 0
