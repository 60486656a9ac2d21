"""Caffe's LeNet on digits in a plain torch loop, as anyone would write it: knows nothing of Tare.

Reads numbers of steps, one a line; answers each with the seconds that so many steps took.
"""

import gc
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

BATCH_SIZE = 64


class FlattenLast(nn.Module):
    """Flattens images whose channels lie last without a copy of them."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images.permute(0, 2, 3, 1).flatten(1)


def main(data_path: str, threads: int) -> None:
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), FlattenLast(),
        nn.Linear(800, 500), nn.ReLU(inplace=True), nn.Linear(500, 10),
    ).to(memory_format=torch.channels_last)  # fmt: skip
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, fused=True)
    with np.load(data_path) as data:
        images = (
            torch.from_numpy(data["train_x"])
            .permute(0, 3, 1, 2)
            .contiguous(memory_format=torch.channels_last)
        )
        labels = torch.from_numpy(data["train_y"])
    random = np.random.RandomState(1)
    order, place, iteration = random.permutation(len(labels)), 0, 0
    print("ready", flush=True)
    warm = False
    for line in sys.stdin:
        begun = time.perf_counter()
        for _ in range(int(line)):
            if place + BATCH_SIZE > len(order):
                order, place = random.permutation(len(labels)), 0
            chosen = torch.from_numpy(order[place : place + BATCH_SIZE])
            place += BATCH_SIZE
            for group in optimiser.param_groups:
                group["lr"] = 0.01 * (1 + 1e-4 * iteration) ** -0.75
            optimiser.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(
                model(images.index_select(0, chosen)), labels.index_select(0, chosen)
            )
            loss.backward()
            optimiser.step()
            iteration += 1
        print(time.perf_counter() - begun, flush=True)
        if not warm:
            gc.collect()
            gc.freeze()
            gc.disable()
            warm = True


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
