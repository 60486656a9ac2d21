"""One module per deep-learning framework, all with the same functions: nothing else knows which it is.

Importing this package imports no framework; `load` does. What `load` gives back is a module that has what
`Framework` lists. A further framework is one module and one line in `FRAMEWORKS`.
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

import numpy as np

from tare.worker.data import Data
from tare.worker.networks import Network

FRAMEWORKS = {
    "torch": "tare.worker.frameworks.torch",
    "tensorflow": "tare.worker.frameworks.tensorflow",
}


class Trainer(Protocol):
    """A network in training. Equal seeds give equal initial weights and batches, whatever the framework."""

    parameters: int
    """How many parameters the framework itself counts."""

    def step(self) -> None:
        """One whole training step on the next batch; returns when its result is there, on a GPU too."""

    def keep_busy(self) -> None:
        """Some microseconds of work for all threads, which changes nothing of the training."""

    def loss(self) -> float:
        """The training loss of the last step, before its update; NaN where there has been no step."""

    def evaluate(self) -> tuple[float, float]:
        """Mean loss and accuracy (0..1) on the held-out part of the data."""


class TrainerType(Protocol):
    """Builds the network on the device, with its data.

    Raises ValueError where the framework does not arrive at the published number of parameters, or where the
    data does not suit the network.
    """

    def __call__(self, network: Network, data: Data, batch_size: int, seed: int, device: str) -> Trainer:
        """`device` is "cpu" or "gpu", the same as given to `configure`."""


class Framework(Protocol):
    """What a framework's module offers."""

    Trainer: TrainerType

    def configure(self, threads: int, device: str) -> None:
        """Set the number of threads and the device ("cpu" or "gpu"); to be called before anything else.

        Raises ValueError for a device that is not there and RuntimeError where it is too late.
        """

    def software(self) -> dict[str, str]:
        """Versions and build strings of the framework and of the libraries that it computes with."""

    def thread_count(self) -> int:
        """How many threads the framework says that it computes with."""


def load(name: str) -> Framework:
    """Import a framework's module.

    Raises ValueError for a name that is not in `FRAMEWORKS`, ImportError where the framework isn't installed.
    """
    if name not in FRAMEWORKS:
        raise ValueError(f"framework {name!r} is not known; use one of {', '.join(sorted(FRAMEWORKS))}")
    return cast(Framework, importlib.import_module(FRAMEWORKS[name]))


def numpy_blas() -> str:
    """The BLAS that numpy was built with, and its version; `unknown` where this numpy does not tell (before 1.25)."""
    try:
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}"
    except (TypeError, KeyError):
        return "unknown"


def check_device(threads: int, device: str) -> None:
    """Raise ValueError where `threads` or `device` is nothing that any framework can be configured with."""
    if threads < 1:
        raise ValueError(f"threads is {threads}; it must be at least 1")
    if device not in ("cpu", "gpu"):
        raise ValueError(f"device {device!r} is not known; use 'cpu' or 'gpu'")


def check_data(network: Network, data: Data) -> None:
    """Raise ValueError where the images or labels do not suit the network."""
    if data.train_x.shape[1:] != network.input_shape:
        raise ValueError(
            f"network {network.name} takes images {network.input_shape}, "
            f"the data has {data.train_x.shape[1:]}; choose data of that shape"
        )
    classes = 1 + max(int(data.train_y.max()), int(data.test_y.max()))
    if classes > network.classes:
        raise ValueError(
            f"network {network.name} tells {network.classes} classes apart, the data has {classes}; "
            "choose other data"
        )


def check_parameters(network: Network, counted: int) -> None:
    """Raise ValueError where the framework's own count of parameters is not the published one."""
    if counted != network.parameters:
        raise ValueError(
            f"network {network.name} has {counted:,} parameters here instead of the published "
            f"{network.parameters:,}; its layers are not those of the paper: correct them or the count"
        )
