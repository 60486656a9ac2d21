"""PyTorch."""

from __future__ import annotations

import hashlib
import math
import re

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tare.worker.data import Data, batches
from tare.worker.frameworks import check_data, check_device, check_parameters, numpy_blas
from tare.worker.frameworks.initial_weights import initial_weights
from tare.worker.networks import Convolution, Dense, Flatten, MaxPool, Network, Relu, Sigmoid

# Enough to keep all threads busy; larger pieces only need more memory.
EVALUATION_BATCH_SIZE = 500
# torch gives each thread at least so many items of a simple operation.
_GRAIN_ITEMS = 32768


def configure(threads: int, device: str) -> None:
    """See `tare.worker.frameworks.Framework.configure`."""
    check_device(threads, device)
    if device == "gpu" and not torch.cuda.is_available():
        raise ValueError(
            "device is 'gpu' but torch finds no usable GPU here; use 'cpu' or make the GPU visible"
        )
    torch.set_num_threads(threads)
    # Nothing here runs two operations at once; torch refuses to be told so a second time.
    if torch.get_num_interop_threads() != 1:
        torch.set_num_interop_threads(1)


def thread_count() -> int:
    """See `tare.worker.frameworks.Framework.thread_count`."""
    return int(torch.get_num_threads())


def software() -> dict[str, str]:
    """See `tare.worker.frameworks.Framework.software`."""
    build = torch.__config__.show()
    return {
        "torch": torch.__version__,
        "torch_build": str(torch.version.git_version),
        # what it was built with, all compiler flags among it; the line left out is of the processor, and told below
        "torch_build_settings": hashlib.sha256(re.sub(r".*CPU capability.*", "", build).encode()).hexdigest()[
            :12
        ],
        "numpy": np.__version__,
        "numpy_blas": numpy_blas(),
        "blas": _first(r"BLAS_INFO=(\w+)", build),
        "mkl": _first(r"Math Kernel Library Version (\S+)", build),
        "onednn": _first(r"MKL-DNN (v\S+ \(Git Hash \w+\))", build),
        "onednn_in_use": "yes" if torch.backends.mkldnn.is_available() else "no",
        "openmp": _first(r"OpenMP (\d+)", build),
        "compiler": _first(r"(GCC \S+|clang \S+)", build),
        "cpu_capability": _first(r"CPU capability usage: (\S+)", build),
        "parallel_backend": _first(r"ATen parallel backend: (\S+)", torch.__config__.parallel_info()),
        "cuda": torch.version.cuda or "none",
        "cudnn": str(torch.backends.cudnn.version() or "none"),
    }


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match.group(1) if match else "none"


class Trainer:
    """See `tare.worker.frameworks.Trainer`."""

    def __init__(self, network: Network, data: Data, batch_size: int, seed: int, device: str) -> None:
        check_data(network, data)
        self._gpu = device == "gpu"
        self._device = torch.device("cuda" if self._gpu else "cpu")
        model = _build(network)
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        check_parameters(network, self.parameters)
        _set_weights(model, network, seed)
        # Channels last where there are convolutions: a LeNet step of 64 images took 11.6-15.3 ms so, and
        # 17.3-22.0 ms in the default layout (three processes, 2 threads, both in turn; 30 % less in each).
        convolutional = any(isinstance(layer, Convolution) for layer in network.layers)
        self._layout = torch.channels_last if convolutional else torch.contiguous_format
        self._model = model.to(self._device, memory_format=self._layout)
        self._train_x, self._train_y = self._resident(data.train_x, data.train_y)
        self._test_x, self._test_y = self._resident(data.test_x, data.test_y)
        self._batches = batches(len(data.train_y), batch_size, seed)
        self._rule = network.optimiser
        self._optimiser = torch.optim.SGD(
            self._model.parameters(),
            lr=self._rule.learning_rate,
            momentum=self._rule.momentum,
            weight_decay=self._rule.weight_decay,
            # Against foreach and the plain loop a LeNet step takes 1-3 % less, an FCN-R step 4-20 % less
            # (64 images, 2 threads).
            fused=True,
        )
        self._filler = torch.zeros(
            _GRAIN_ITEMS * torch.get_num_threads(), dtype=torch.uint8, device=self._device
        )
        self._iteration = 0
        self._loss: torch.Tensor | None = None

    def _resident(self, x: np.ndarray, y: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        images = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(memory_format=self._layout)
        return images.to(self._device), torch.from_numpy(y).to(self._device)

    def step(self) -> None:
        """See `tare.worker.frameworks.Trainer.step`."""
        chosen = torch.from_numpy(next(self._batches)).to(self._device)
        images, labels = self._train_x.index_select(0, chosen), self._train_y.index_select(0, chosen)
        self._optimiser.param_groups[0]["lr"] = self._rule.rate(self._iteration)
        self._optimiser.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(self._model(images), labels)
        loss.backward()
        self._optimiser.step()
        self._loss = loss.detach()
        self._iteration += 1
        if self._gpu:
            torch.cuda.synchronize()

    def keep_busy(self) -> None:
        """See `tare.worker.frameworks.Trainer.keep_busy`."""
        self._filler.bitwise_not_()
        if self._gpu:
            torch.cuda.synchronize()

    def loss(self) -> float:
        """See `tare.worker.frameworks.Trainer.loss`."""
        return math.nan if self._loss is None else float(self._loss)

    def evaluate(self) -> tuple[float, float]:
        """See `tare.worker.frameworks.Trainer.evaluate`."""
        self._model.eval()
        loss = torch.zeros((), dtype=torch.float64, device=self._device)
        right = torch.zeros((), dtype=torch.int64, device=self._device)
        with torch.inference_mode():
            for images, labels in zip(
                self._test_x.split(EVALUATION_BATCH_SIZE), self._test_y.split(EVALUATION_BATCH_SIZE)
            ):
                scores = self._model(images)
                loss += functional.cross_entropy(scores, labels, reduction="sum")
                right += (scores.argmax(1) == labels).sum()
        self._model.train()
        return float(loss) / len(self._test_y), int(right) / len(self._test_y)


def _build(network: Network) -> nn.Sequential:
    modules: list[nn.Module] = []
    for layer, shape in zip(network.layers, network.shapes()):
        if isinstance(layer, Convolution):
            modules.append(nn.Conv2d(shape[-1], layer.filters, layer.size))
        elif isinstance(layer, MaxPool):
            modules.append(nn.MaxPool2d(layer.size))
        elif isinstance(layer, Flatten):
            modules.append(_Flatten())
        elif isinstance(layer, Dense):
            modules.append(nn.Linear(shape[0], layer.units))
        elif isinstance(layer, Relu):
            modules.append(nn.ReLU(inplace=True))
        elif isinstance(layer, Sigmoid):
            modules.append(nn.Sigmoid())
        else:
            raise ValueError(f"network {network.name}: torch has no {layer!r} here; add it to {__name__}")
    return nn.Sequential(*modules)


class _Flatten(nn.Module):
    """Flattens in the order H, W, C of a network's weights; where channels are last that needs no copy."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images.permute(0, 2, 3, 1).flatten(1)


def _set_weights(model: nn.Sequential, network: Network, seed: int) -> None:
    """Give the model its initial weights, in torch's layout: (out, in, H, W) and (out, in)."""
    layers = [module for module in model if isinstance(module, (nn.Conv2d, nn.Linear))]
    with torch.no_grad():
        for module, (weights, biases) in zip(layers, initial_weights(network, seed)):
            weights = weights.transpose(3, 2, 0, 1) if isinstance(module, nn.Conv2d) else weights.T
            module.weight.copy_(torch.from_numpy(weights))
            module.bias.copy_(torch.from_numpy(biases))
