"""Data are read or refused with one sentence; batches are full, endless, and the same for the same seed."""

from itertools import islice

import numpy as np
import pytest

from tare.worker.data import batches, load


def arrays(**changed):
    """Four arrays that are fine, with some of them changed."""
    fine = {
        "train_x": np.zeros((5, 4, 4, 1), np.float32),
        "train_y": np.arange(5),
        "test_x": np.ones((2, 4, 4, 1), np.float32),
        "test_y": np.arange(2),
    }
    return {name: array for name, array in {**fine, **changed}.items() if array is not None}


def test_what_was_saved_is_loaded(tmp_path):
    path = tmp_path / "digits.npz"
    np.savez(path, **arrays())
    data = load(path)
    assert data.train_x.shape == (5, 4, 4, 1)
    assert data.train_x.dtype == np.float32
    assert data.train_y.tolist() == [0, 1, 2, 3, 4]
    assert data.train_y.dtype == np.int64
    assert data.test_x.min() == 1
    assert len(data.test_y) == 2


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"test_y": None}, "lacks test_y"),
        ({"train_x": np.zeros((5, 4, 4, 1))}, "train_x is float64"),
        ({"train_x": np.zeros((5, 16), np.float32)}, r"train_x is float32 \[5, 16\]"),
        ({"train_y": np.zeros(5, np.int32)}, "train_y is int32"),
        ({"train_y": np.array(["a"] * 5, dtype=object)}, "allow_pickle|Object arrays"),
        ({"train_y": np.arange(4)}, "5 images, train_y 4 labels"),
        ({"test_x": np.zeros((0, 4, 4, 1), np.float32), "test_y": np.arange(0)}, "0 images"),
        ({"test_x": np.full((2, 4, 4, 1), 255, np.float32)}, "outside 0..1"),
        ({"test_x": np.full((2, 4, 4, 1), np.nan, np.float32)}, "outside 0..1"),
        ({"test_y": np.array([-1, 0])}, "negative"),
        ({"test_x": np.zeros((2, 5, 5, 1), np.float32)}, "test_x"),
    ],
)
def test_bad_arrays_are_refused(tmp_path, changed, named):
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays(**changed))
    with pytest.raises(ValueError, match=named) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"no archive", b"PK\x03\x04 cut short"])
def test_bad_files_are_refused(tmp_path, content):
    path = tmp_path / "bad.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.npz"):
        load(path)


def test_a_single_array_is_refused(tmp_path):
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(ValueError, match=r"one\.npy"):
        load(tmp_path / "one.npy")


@pytest.mark.parametrize(("n", "batch_size"), [(10, 4), (10, 10), (3, 8)])
def test_batches_are_full_and_use_every_sample_equally_often(n, batch_size):
    taken = list(islice(batches(n, batch_size, seed=1), n))
    assert all(batch.shape == (batch_size,) and batch.dtype == np.int64 for batch in taken)
    epochs = np.concatenate(taken).reshape(batch_size, n)
    assert all(sorted(epoch) == list(range(n)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_batches_follow_the_seed():
    def first(seed):
        return np.concatenate(list(islice(batches(100, 8, seed), 30))).tolist()

    assert first(7) == first(7) != first(8)


def test_batches_stay_the_same_in_every_version_of_numpy():
    assert next(batches(10, 10, seed=1)).tolist() == [1, 0, 9, 8, 6, 3, 7, 4, 2, 5]


@pytest.mark.parametrize(("n", "batch_size"), [(0, 4), (4, 0)])
def test_batches_of_nothing_are_refused_at_once(n, batch_size):
    with pytest.raises(ValueError, match="at least 1"):
        batches(n, batch_size, seed=1)
