"""How quiet GPUs are, with a stand-in for NVML."""

from types import SimpleNamespace

import pynvml
import pytest

from tare.telemetry import gpu_state, noise_verdict
from tare.telemetry.gpu_state import GpuReading

QUIET = {
    "nvmlInit": None,
    "nvmlShutdown": None,
    "nvmlDeviceGetCount": 1,
    "nvmlDeviceGetHandleByIndex": "handle",
    "nvmlDeviceGetName": b"NVIDIA H200",
    "nvmlDeviceGetClockInfo": 1980,
    "nvmlDeviceGetTemperature": 41,
    "nvmlDeviceGetCurrentClocksEventReasons": pynvml.nvmlClocksEventReasonGpuIdle,
    "nvmlDeviceGetViolationStatus": SimpleNamespace(violationTime=1_000_000),
    "nvmlDeviceGetComputeRunningProcesses": [],
}
NOT_SUPPORTED = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)


@pytest.fixture
def nvml(monkeypatch):
    """Sets what the library answers; an error is raised. Gives back the names that were called."""
    called = []

    def install(**answers):
        for name, answer in (QUIET | answers).items():

            def answering(*arguments, name=name, answer=answer):
                called.append(name)
                if isinstance(answer, Exception):
                    raise answer
                return answer

            monkeypatch.setattr(pynvml, name, answering)
        return called

    return install


def test_a_quiet_gpu(nvml):
    nvml()
    (reading,) = gpu_state.read()
    assert reading == GpuReading("NVIDIA H200", 1980, 1980, 41, (), 2_000_000, ())
    found = gpu_state.figures([reading], [reading], "abc")
    assert found["gpu_foreign_processes"] == found["gpu_throttled_ms"] == 0
    assert noise_verdict.verdict({"other_cpu_pct": 0.0, **found}) == "quiet"


def test_what_slows_it_down_is_named(nvml):
    nvml(
        nvmlDeviceGetCurrentClocksEventReasons=pynvml.nvmlClocksEventReasonSwPowerCap
        | pynvml.nvmlClocksEventReasonHwThermalSlowdown
    )
    assert gpu_state.read()[0].slowed_by == ("power", "heat (hardware)")


def test_an_older_driver_and_a_gpu_that_tells_little(nvml):
    nvml(
        nvmlDeviceGetCurrentClocksEventReasons=NOT_SUPPORTED,
        nvmlDeviceGetCurrentClocksThrottleReasons=pynvml.nvmlClocksThrottleReasonSwThermalSlowdown,
        nvmlDeviceGetViolationStatus=NOT_SUPPORTED,
        nvmlDeviceGetTemperature=NOT_SUPPORTED,
        nvmlDeviceGetComputeRunningProcesses=NOT_SUPPORTED,
    )
    (reading,) = gpu_state.read()
    assert reading == GpuReading("NVIDIA H200", 1980, 1980, None, ("heat (driver)",), None, ())
    found = gpu_state.figures([reading], [reading], "abc")
    assert "gpu_throttled_ms" not in found
    assert noise_verdict.verdict(found) == "noisy: GPUs were being slowed down for power or heat (2)"


def test_time_at_lower_clocks():
    before = GpuReading("a", 1, 1, 1, (), 1_000_000, ())
    after = GpuReading("a", 1, 1, 1, ("power",), 13_000_000, ())
    found = gpu_state.figures([before], [after], "abc")
    assert found["gpu_throttled_ms"] == 12
    assert "gpu_slowdowns" not in found
    assert noise_verdict.verdict(found) == "noisy: the GPUs' clocks were lowered for power or heat for 12 ms"


def test_processes_of_others(tmp_path):
    for pid, variables in {7: b"A=b\0TARE_RUN=abc-1\0", 8: b"TARE_RUN=other-1\0", 9: b""}.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "environ").write_bytes(variables)
    reading = GpuReading("a", 1, 1, 1, (), 0, (7, 8, 9, 10))
    found = gpu_state.figures([reading], [reading], "abc", proc=tmp_path)
    assert (found["gpu_foreign_processes"], found["gpu_unknown_processes"]) == (3, 1)
    assert noise_verdict.verdict(found) == "noisy: other processes were on the GPUs (3)"
    # one that can't be told may be a container of our own, whose token can't be read
    hidden = gpu_state.figures([reading], [reading], "abc", hidden=1, proc=tmp_path)
    assert (hidden["gpu_foreign_processes"], hidden["gpu_unknown_processes"]) == (2, 1)


def test_what_happens_on_other_gpus_is_no_matter(tmp_path):
    for pid, variables in {7: b"TARE_RUN=abc-1\0", 8: b"HOME=/\0"}.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "environ").write_bytes(variables)
    ours = GpuReading("a", 1, 1, 1, (), 0, (7,))
    theirs = GpuReading("b", 1, 1, 1, (), 0, (8,))
    hot = GpuReading("b", 1, 1, 1, ("heat (driver)",), 9_000_000, (8,))
    found = gpu_state.figures([ours, theirs], [ours, hot], "abc", proc=tmp_path)
    assert [gpu["name"] for gpu in found["gpus"]] == ["a"]
    assert (found["gpu_foreign_processes"], found["gpu_throttled_ms"]) == (0, 0)
    # where some of our own can't be seen they may be on any
    found = gpu_state.figures([ours, theirs], [ours, hot], "abc", hidden=1, proc=tmp_path)
    assert (found["gpu_foreign_processes"], found["gpu_throttled_ms"]) == (1, 9)


def test_a_worker_of_ours_that_is_gone_by_then_is_no_foreigner(tmp_path):
    reading, later = GpuReading("a", 1, 1, 1, (), 0, (7,)), GpuReading("a", 1, 1, 1, (), 0, ())
    assert gpu_state.figures([reading], [later], "abc", {7}, proc=tmp_path)["gpu_foreign_processes"] == 0
    assert gpu_state.figures([reading], [later], "abc", proc=tmp_path)["gpu_foreign_processes"] == 1


@pytest.mark.parametrize(
    "answers",
    [
        {"nvmlInit": pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)},
        {"nvmlDeviceGetCount": 0},
        {"nvmlDeviceGetHandleByIndex": pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)},
    ],
)
def test_no_gpu(nvml, answers):
    called = nvml(**answers)
    assert gpu_state.read() == []
    assert called.count("nvmlShutdown") == (0 if "nvmlInit" in answers else 1)
    assert gpu_state.figures([], [], "abc") == {}
