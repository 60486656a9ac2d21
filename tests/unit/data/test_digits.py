"""The embedded data set."""

from __future__ import annotations

import numpy as np
import pytest

from tare.data import digits
from tare.worker.data import load


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "new" / "digits.npz"
    digits.write(path)
    return path


def test_the_worker_reads_what_is_written(written):
    data = load(written)
    assert (data.train_x.shape, data.train_x.dtype) == ((1437, 28, 28, 1), np.float32)
    assert (data.test_x.shape, data.test_x.dtype) == ((360, 28, 28, 1), np.float32)
    assert (data.train_y.shape, data.train_y.dtype) == ((1437,), np.int64)
    assert (data.test_y.shape, data.test_y.dtype) == ((360,), np.int64)
    assert list(written.parent.iterdir()) == [written]


def test_values_are_the_grey_levels_scaled(written):
    data = load(written)
    both = np.concatenate([data.train_x, data.test_x])
    assert both.min() == 0
    assert both.max() == 1
    # each image keeps its corners: the centres of the outer pixels are the outer pixels of the larger image
    from sklearn.datasets import load_digits

    corners = load_digits().images[:, [0, 0, -1, -1], [0, -1, 0, -1]] / 16
    found = both[:, [0, 0, -1, -1], [0, -1, 0, -1], 0]
    assert sorted(map(tuple, found.round(4))) == sorted(map(tuple, corners.round(4).astype(np.float32)))


def test_a_fifth_of_each_digit_is_held_out(written):
    data = load(written)
    train, test = np.bincount(data.train_y), np.bincount(data.test_y)
    assert len(train) == len(test) == 10
    assert np.abs(test / (train + test) - 0.2).max() < 0.005


def test_no_image_is_in_both_parts_more_often_than_in_the_set(written):
    data = load(written)
    train = {image.tobytes() for image in data.train_x}
    assert sum(image.tobytes() in train for image in data.test_x) == 0


def test_it_is_the_same_every_time(written, tmp_path):
    digits.write(tmp_path / "digits.npz")
    assert (tmp_path / "digits.npz").read_bytes() == written.read_bytes()


def test_a_write_that_breaks_off_leaves_the_old_file(written, monkeypatch, tmp_path):
    path = tmp_path / "digits.npz"
    path.write_text("old")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(digits.Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        digits.write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
