"""The data of a run: four arrays in one .npz file, and the order in which training takes them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

ARRAYS = ("train_x", "train_y", "test_x", "test_y")


@dataclass(frozen=True)
class Data:
    """Images with their labels, for training and held out for testing.

    `train_x`, `test_x`: float32 [n, H, W, C], values in 0..1.
    `train_y`, `test_y`: int64 [n], the class of each image.
    """

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def load(path: str | os.PathLike[str]) -> Data:
    """Read the four arrays of `Data` from an .npz file.

    Raises ValueError, with the name of the file in it, where the file or an array is not what it should be.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            missing = [name for name in ARRAYS if name not in archive]
            if missing:
                raise ValueError(f"it lacks {', '.join(missing)}")
            data = Data(**{name: archive[name] for name in ARRAYS})
        _check(data)
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file; prepare the data first") from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        # np.load gives a bare array, which is no context manager, for an .npy file: hence the last two.
        raise ValueError(
            f"{path} is not usable as data ({error}); it must be an .npz file with train_x and test_x "
            "(float32 [n, H, W, C], 0..1), train_y and test_y (int64 [n]): make it again"
        ) from None
    return data


def _check(data: Data) -> None:
    for part in ("train", "test"):
        x, y = getattr(data, f"{part}_x"), getattr(data, f"{part}_y")
        if x.dtype != np.float32 or x.ndim != 4:
            raise ValueError(f"{part}_x is {x.dtype} {list(x.shape)}")
        if y.dtype != np.int64 or y.ndim != 1:
            raise ValueError(f"{part}_y is {y.dtype} {list(y.shape)}")
        if len(x) != len(y) or not len(x):
            raise ValueError(f"{part}_x has {len(x)} images, {part}_y {len(y)} labels")
        # Written so that a NaN fails too.
        if not (x.min() >= 0 and x.max() <= 1):
            raise ValueError(f"{part}_x has values outside 0..1")
        if y.min() < 0:
            raise ValueError(f"{part}_y has a negative label")
    if data.train_x.shape[1:] != data.test_x.shape[1:]:
        raise ValueError(f"train_x has images {data.train_x.shape[1:]}, test_x {data.test_x.shape[1:]}")


def batches(n: int, batch_size: int, seed: int) -> Iterator[np.ndarray]:
    """Endless batches of indices into n samples: int64 [batch_size] each, always full.

    Every epoch is a new shuffle of all samples, and what is left of one when it does not fill a batch goes
    into the next batch: every sample is used equally often, and a batch may even be larger than the data.
    """
    if n < 1 or batch_size < 1:
        raise ValueError(f"batches of {batch_size} cannot be taken from {n} samples: both must be at least 1")
    return _batches(n, batch_size, seed)


def _batches(n: int, batch_size: int, seed: int) -> Iterator[np.ndarray]:
    # RandomState: only for it numpy promises the same numbers in every version.
    random = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed)))
    waiting = np.empty(0, np.int64)
    while True:
        while len(waiting) < batch_size:
            waiting = np.concatenate([waiting, random.permutation(n).astype(np.int64, copy=False)])
        yield waiting[:batch_size]
        waiting = waiting[batch_size:]
