"""TensorFlow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from tare.worker.data import Data, batches
from tare.worker.frameworks import check_data, check_device, check_parameters, numpy_blas
from tare.worker.frameworks.initial_weights import initial_weights
from tare.worker.networks import Convolution, Dense, Flatten, MaxPool, Network, Relu, Sigmoid

# Enough to keep all threads busy; larger pieces only need more memory.
EVALUATION_BATCH_SIZE = 500
# So many that Eigen shares the work out to its threads.
_FILLER_ITEMS = 65536


def configure(threads: int, device: str) -> None:
    """See `tare.worker.frameworks.Framework.configure`."""
    check_device(threads, device)
    gpus = tf.config.list_physical_devices("GPU")
    if device == "gpu" and not gpus:
        raise ValueError(
            "device is 'gpu' but tensorflow finds no usable GPU here; use 'cpu' or make the GPU visible"
        )
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    # Nothing here gains from two operations at once, and they would share the same threads.
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
        return
    for gpu in gpus:
        # Otherwise the first process takes the whole memory, and no second one can be held beside it.
        tf.config.experimental.set_memory_growth(gpu, True)


def thread_count() -> int:
    """See `tare.worker.frameworks.Framework.thread_count`."""
    return int(tf.config.threading.get_intra_op_parallelism_threads())


def software() -> dict[str, str]:
    """See `tare.worker.frameworks.Framework.software`."""
    build = tf.sysconfig.get_build_info()
    return {
        "tensorflow": str(tf.version.VERSION),
        "tensorflow_build": str(tf.version.GIT_VERSION),
        "numpy": np.__version__,
        "numpy_blas": numpy_blas(),
        "blas": "eigen",
        "onednn": _onednn(),
        "compiler": str(tf.version.COMPILER_VERSION),
        "cuda": str(build.get("cuda_version", "none")),
        "cudnn": str(build.get("cudnn_version", "none")),
    }


def _onednn() -> str:
    """Whether oneDNN's operations are in use, which changes the speed; only a private module knows."""
    try:
        from tensorflow.python.util import _pywrap_util_port
    except ImportError:
        return "unknown"
    return "on" if _pywrap_util_port.IsMklEnabled() else "off"


class Trainer:
    """See `tare.worker.frameworks.Trainer`."""

    def __init__(self, network: Network, data: Data, batch_size: int, seed: int, device: str) -> None:
        check_data(network, data)
        self._network = network
        self._gpu = device == "gpu"
        self._device = "/GPU:0" if self._gpu else "/CPU:0"
        with tf.device(self._device):
            self._variables = [
                tf.Variable(array) for layer in initial_weights(network, seed) for array in layer
            ]
            self._momenta = [tf.Variable(tf.zeros_like(variable)) for variable in self._variables]
            self._train_x, self._train_y = tf.constant(data.train_x), tf.constant(data.train_y)
            self._test_x, self._test_y = tf.constant(data.test_x), tf.constant(data.test_y)
            self._filler = tf.zeros([_FILLER_ITEMS])
        with tf.device("/CPU:0"):
            self._iteration = tf.Variable(0, dtype=tf.int64)
        self.parameters = sum(variable.shape.num_elements() for variable in self._variables)
        check_parameters(network, self.parameters)
        self._batches = batches(len(data.train_y), batch_size, seed)
        # Traced here, once and for this batch size alone, so that no step pays for it or for looking it up.
        # No XLA: with it a LeNet step of 64 images took 1.8 to 2.2 times as long (an FCN-R step 0.8 times).
        self._train = tf.function(
            self._train_on, input_signature=[tf.TensorSpec([batch_size], tf.int64)], autograph=False
        ).get_concrete_function()
        self._test = tf.function(
            self._test_on, input_signature=[tf.TensorSpec([], tf.int32)] * 2, autograph=False
        ).get_concrete_function()
        self._loss: tf.Tensor | None = None

    def step(self) -> None:
        """See `tare.worker.frameworks.Trainer.step`."""
        self._loss = self._train(tf.constant(next(self._batches)))
        if self._gpu:
            tf.test.experimental.sync_devices()

    def keep_busy(self) -> None:
        """See `tare.worker.frameworks.Trainer.keep_busy`."""
        with tf.device(self._device):
            tf.sigmoid(self._filler)
        if self._gpu:
            tf.test.experimental.sync_devices()

    def loss(self) -> float:
        """See `tare.worker.frameworks.Trainer.loss`."""
        return math.nan if self._loss is None else float(self._loss)

    def evaluate(self) -> tuple[float, float]:
        """See `tare.worker.frameworks.Trainer.evaluate`."""
        samples = self._test_y.shape[0]
        loss, right = 0.0, 0
        for start in range(0, samples, EVALUATION_BATCH_SIZE):
            losses, rights = self._test(tf.constant(start), tf.constant(start + EVALUATION_BATCH_SIZE))
            loss, right = loss + float(losses), right + int(rights)
        return loss / samples, right / samples

    def _train_on(self, chosen: Any) -> Any:
        """One step on the chosen samples (int64 [batch_size]); gives their mean loss before the update."""
        rule = self._network.optimiser
        with tf.device(self._device):
            images, labels = tf.gather(self._train_x, chosen), tf.gather(self._train_y, chosen)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(_losses(labels, self._scores(images)))
            gradients = tape.gradient(loss, self._variables)
            rate = self._rate()
            for variable, momentum, gradient in zip(self._variables, self._momenta, gradients):
                if rule.weight_decay:
                    gradient += rule.weight_decay * variable
                # One operation for the whole rule: an FCN-R step of 64 images took 64 ms so, 72 ms with
                # assignments, and 71 ms with Keras's optimiser (whose momentum also holds the learning rate,
                # which is another rule where that changes).
                tf.raw_ops.ResourceApplyMomentum(
                    var=variable.handle,
                    accum=momentum.handle,
                    lr=rate,
                    grad=gradient,
                    momentum=rule.momentum,
                )
        self._iteration.assign_add(1)
        return loss

    def _rate(self) -> Any:
        """`Sgd.rate` of the present iteration, in the graph, and in double precision as Python has it."""
        rule = self._network.optimiser
        if rule.policy is None:
            return rule.learning_rate
        with tf.device("/CPU:0"):
            growth = 1.0 + rule.policy.gamma * tf.cast(self._iteration, tf.float64)
            return tf.cast(rule.learning_rate * growth**-rule.policy.power, tf.float32)

    def _test_on(self, start: Any, stop: Any) -> tuple[Any, Any]:
        """The sum of the losses, and the number of right answers, of the held-out samples start..stop."""
        with tf.device(self._device):
            images, labels = self._test_x[start:stop], self._test_y[start:stop]
            scores = self._scores(images)
            right = tf.equal(tf.argmax(scores, 1), labels)
            return tf.reduce_sum(_losses(labels, scores)), tf.math.count_nonzero(right)

    def _scores(self, values: Any) -> Any:
        """The network's output [n, classes] for images [n, H, W, C]."""
        remaining = iter(self._variables)
        for layer, shape in zip(self._network.layers, self._network.shapes()):
            if isinstance(layer, Convolution):
                values = tf.nn.conv2d(values, next(remaining), strides=1, padding="VALID")
                values = tf.nn.bias_add(values, next(remaining))
            elif isinstance(layer, MaxPool):
                values = tf.nn.max_pool2d(values, layer.size, layer.size, padding="VALID")
            elif isinstance(layer, Flatten):
                values = tf.reshape(values, [-1, math.prod(shape)])
            elif isinstance(layer, Dense):
                values = tf.nn.bias_add(tf.matmul(values, next(remaining)), next(remaining))
            elif isinstance(layer, Relu):
                values = tf.nn.relu(values)
            elif isinstance(layer, Sigmoid):
                values = tf.nn.sigmoid(values)
            else:
                raise ValueError(
                    f"network {self._network.name}: tensorflow has no {layer!r} here; add it to {__name__}"
                )
        return values


def _losses(labels: Any, scores: Any) -> Any:
    """The softmax cross-entropy of each sample."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
