"""The 1,797 handwritten digits that scikit-learn ships (of UCI's set for optical recognition, the test part).

They are 8x8 grey values from 0 to 16; here they are scaled to 28x28 pixels from 0 to 1, the input of MNIST's
networks.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from scipy.ndimage import zoom
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SIZE = 28
TEST_FRACTION = 0.2
_SPLIT_SEED = 0


def arrays() -> dict[str, np.ndarray]:
    """The set, split: train_x float32 [1437, 28, 28, 1], train_y int64 [1437]; test_x, test_y alike [360].

    A fifth is held out, with each digit in its share (stratified, always the same one).
    """
    digits = load_digits()
    images = digits.images / digits.images.max()
    factor = SIZE / images.shape[1]
    # bilinear, between the centres of the outer pixels: no value leaves 0..1
    scaled = zoom(images, (1, factor, factor), order=1, grid_mode=False).astype(np.float32)
    train_x, test_x, train_y, test_y = train_test_split(
        scaled[..., np.newaxis], digits.target.astype(np.int64), test_size=TEST_FRACTION,
        random_state=_SPLIT_SEED, stratify=digits.target,
    )  # fmt: skip
    return {"train_x": train_x, "train_y": train_y, "test_x": test_x, "test_y": test_y}


def write(path: Path) -> None:
    """Write the set as .npz, whole or not at all."""
    buffer = io.BytesIO()
    found = arrays()
    np.savez(
        buffer,
        train_x=found["train_x"],
        train_y=found["train_y"],
        test_x=found["test_x"],
        test_y=found["test_y"],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    try:
        temporary.write_bytes(buffer.getvalue())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
