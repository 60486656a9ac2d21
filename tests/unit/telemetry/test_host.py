"""What the machine is, and how busy it is."""

import getpass
import json
import os

from tare.telemetry import host


def test_the_machine_is_described_in_plain_values():
    described = host.describe()
    assert json.loads(json.dumps(described)) == described
    assert described["usable_cpus"] == len(os.sched_getaffinity(0))
    assert described["memory_bytes"] > 1e8
    assert described["kernel"] == os.uname().release
    assert described["cpu"]


def test_nothing_names_the_user_or_the_machine():
    text = json.dumps(host.describe())
    home = os.path.expanduser("~")  # noqa: PTH111
    assert home == "/" or home not in text
    assert os.uname().nodename not in text.split('"')
    assert f'"{getpass.getuser()}"' not in text


def test_what_is_not_there_is_left_out(monkeypatch):
    monkeypatch.setattr(host, "_text", lambda path: None)
    described = host.describe()
    assert described["frequency_governor"] is None
    assert described["cpu"] == os.uname().machine
    assert described["virtual_machine"] is False


def test_cpu_models_of_both_architectures(monkeypatch):
    for text, model in {
        "processor: 0\nmodel name\t: Example CPU @ 2.0 GHz\nflags\t\t: fpu hypervisor": "Example CPU @ 2.0 GHz",
        "processor: 0\nFeatures: fp asimd\nModel\t\t: Raspberry Pi 5": "Raspberry Pi 5",
    }.items():
        monkeypatch.setattr(host, "_text", lambda path, text=text: text if path == "/proc/cpuinfo" else None)
        assert host.describe()["cpu"] == model
        assert host.describe()["virtual_machine"] == ("hypervisor" in text)


def test_two_readings_of_the_load_can_be_subtracted():
    before, after = host.load(), host.load()
    assert set(before) == {"load_1min", "busy_s", "steal_s", "iowait_s"}
    assert after["busy_s"] >= before["busy_s"] >= 0
