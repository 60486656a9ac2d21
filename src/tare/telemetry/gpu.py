"""The GPUs that the driver reports, through NVML."""

from __future__ import annotations

import pynvml


def names() -> list[str]:
    """Names of the GPUs here, as NVML gives them; empty where there is no driver or no GPU."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    found: list[str] = []
    try:
        for index in range(pynvml.nvmlDeviceGetCount()):
            name = pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(index))
            found.append(name.decode() if isinstance(name, bytes) else str(name))
    except pynvml.NVMLError:
        pass  # a GPU that fell off its bus can't be used, as one that is not there
    finally:
        pynvml.nvmlShutdown()
    return found


def matching(wanted: str, present: list[str]) -> list[str]:
    """Those of the GPUs whose name holds the wanted one: `V100` fits `Tesla V100-SXM2-16GB`."""
    return [name for name in present if wanted.casefold() in name.casefold()]
