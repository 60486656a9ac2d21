"""GPUs as NVML names them, on machines that have none, one, or a broken one."""

import pynvml
import pytest

from tare.telemetry import gpu


class Nvml:
    """A driver with GPUs of these names; an error among them is raised."""

    def __init__(self, *names, without_driver=False):
        self._names, self._without_driver = names, without_driver
        self.open = 0

    def install(self, monkeypatch):
        for name in ("Init", "Shutdown", "DeviceGetCount", "DeviceGetHandleByIndex", "DeviceGetName"):
            monkeypatch.setattr(pynvml, f"nvml{name}", getattr(self, name))
        return self

    def Init(self):
        if self._without_driver:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
        self.open += 1

    def Shutdown(self):
        self.open -= 1

    def DeviceGetCount(self):
        return len(self._names)

    def DeviceGetHandleByIndex(self, index):
        return self._names[index]

    def DeviceGetName(self, handle):
        if isinstance(handle, Exception):
            raise handle
        return handle


@pytest.mark.parametrize(
    ("nvml", "names"),
    [
        (Nvml(without_driver=True), []),
        (Nvml(), []),
        (Nvml("NVIDIA H200"), ["NVIDIA H200"]),
        (Nvml(b"Tesla V100-SXM2-16GB", "NVIDIA H200"), ["Tesla V100-SXM2-16GB", "NVIDIA H200"]),
        (Nvml("NVIDIA H200", pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)), ["NVIDIA H200"]),
    ],
)
def test_names(nvml, names, monkeypatch):
    nvml.install(monkeypatch)
    assert gpu.names() == names
    assert nvml.open == 0, "whatever happens, the library is shut down"


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ("V100", ["Tesla V100-SXM2-16GB"]),
        ("v100", ["Tesla V100-SXM2-16GB"]),
        ("NVIDIA H200", ["NVIDIA H200"]),
        ("P100", []),
    ],
)
def test_a_part_of_the_name_is_enough(wanted, fits):
    assert gpu.matching(wanted, ["Tesla V100-SXM2-16GB", "NVIDIA H200"]) == fits
