"""The networks that Tare trains, described once for every framework.

A network is a list of layers in the order in which they are applied, its published number of parameters, and
how it is trained. The frameworks (`tare.worker.frameworks`) build it from this description, so that all train
the very same thing. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Union

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Convolution:
    """`filters` square filters of `size` x `size` pixels with a bias each, stride 1, no padding."""

    filters: int
    size: int


@dataclass(frozen=True)
class MaxPool:
    """The largest value of each `size` x `size` square; the squares do not overlap (stride = size)."""

    size: int


@dataclass(frozen=True)
class Flatten:
    """An image (H, W, C) as one vector of H * W * C values, in this order."""


@dataclass(frozen=True)
class Dense:
    """A fully connected layer of `units` outputs, with biases."""

    units: int


@dataclass(frozen=True)
class Relu:
    """max(x, 0)."""


@dataclass(frozen=True)
class Sigmoid:
    """1 / (1 + exp(-x))."""


Layer = Union[Convolution, MaxPool, Flatten, Dense, Relu, Sigmoid]


@dataclass(frozen=True)
class InversePolicy:
    """Caffe's "inv" policy: iteration t (from 0) uses learning_rate * (1 + gamma * t) ** -power."""

    gamma: float
    power: float


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent with momentum and coupled L2 weight decay, on every parameter alike.

    With the gradient g, the weight w and the momentum buffer v (which starts at 0), one iteration does
    g += weight_decay * w; v = momentum * v + g; w -= rate * v, where rate follows the policy.
    """

    learning_rate: float
    momentum: float
    weight_decay: float = 0.0
    policy: InversePolicy | None = None

    def rate(self, iteration: int) -> float:
        """The learning rate of this iteration, counted from 0."""
        if self.policy is None:
            return self.learning_rate
        return self.learning_rate * (1.0 + self.policy.gamma * iteration) ** -self.policy.power


@dataclass(frozen=True)
class Parameters:
    """The shapes of one layer's weights, (size, size, C, filters) or (inputs, units), and of its biases."""

    weights: Shape
    biases: Shape

    @property
    def fan_in(self) -> int:
        """How many inputs one output is made of."""
        return prod(self.weights[:-1])


@dataclass(frozen=True)
class Network:
    """A network and how it is trained; the loss is always the softmax cross-entropy, averaged over the batch.

    `input_shape` is (H, W, C). `parameters` is the published count, which every framework must arrive at.
    `purpose` is "learning" where the accuracy that is reached means something, "speed" where only the time of
    a step does. `initialiser` names how the weights start (see `tare.worker.frameworks.initial_weights`).
    """

    name: str
    title: str
    source: str
    purpose: str
    input_shape: Shape
    layers: tuple[Layer, ...]
    parameters: int
    optimiser: Sgd
    default_batch_size: int
    initialiser: str = "xavier"

    @property
    def classes(self) -> int:
        """The number of classes: the values that come out of the last layer."""
        return self.shapes()[-1][0]

    def shapes(self) -> list[Shape]:
        """The shape of a sample before the first layer and after each: (H, W, C), or (units,) once flat.

        Raises ValueError where a layer cannot take what the one before it gives.
        """
        shapes = [self.input_shape]
        for layer in self.layers:
            try:
                shapes.append(_shape_after(layer, shapes[-1]))
            except ValueError as error:
                raise ValueError(f"network {self.name}: {error}; correct its list of layers") from None
        return shapes

    def parameter_shapes(self) -> list[Parameters]:
        """The shapes of the parameters, one entry for each layer that has any, in order."""
        found = []
        for layer, shape in zip(self.layers, self.shapes()):
            if isinstance(layer, Convolution):
                weights = (layer.size, layer.size, shape[-1], layer.filters)
                found.append(Parameters(weights, (layer.filters,)))
            elif isinstance(layer, Dense):
                found.append(Parameters((shape[0], layer.units), (layer.units,)))
        return found


def _shape_after(layer: Layer, shape: Shape) -> Shape:
    if isinstance(layer, (Relu, Sigmoid)):
        return shape
    if isinstance(layer, Flatten):
        return (prod(shape),)
    if isinstance(layer, Dense):
        if len(shape) != 1:
            raise ValueError(f"{layer} needs a flat input, not {shape}")
        return (layer.units,)
    if isinstance(layer, (Convolution, MaxPool)):
        if len(shape) != 3 or min(shape[:2]) < layer.size:
            raise ValueError(f"{layer} needs an image (H, W, C) at least as large as itself, not {shape}")
        height, width, channels = shape
        if isinstance(layer, Convolution):
            return (height - layer.size + 1, width - layer.size + 1, layer.filters)
        # Caffe rounds the size up, the others down: the same only while the squares cover the image exactly.
        if height % layer.size or width % layer.size:
            raise ValueError(f"{layer} does not divide its input {shape}")
        return (height // layer.size, width // layer.size, channels)
    raise ValueError(f"{layer!r} is not a known layer")


FCN_R = Network(
    name="fcn-r",
    title="FCN-R, fully connected 784-2048-4096-1024-10",
    source="arXiv:1711.03386 (networks from hclhkbu/dlbench)",
    purpose="speed",
    input_shape=(28, 28, 1),
    layers=(
        Flatten(),
        Dense(2048),
        Sigmoid(),
        Dense(4096),
        Sigmoid(),
        Dense(1024),
        Sigmoid(),
        Dense(10),
    ),
    parameters=14_205_962,
    optimiser=Sgd(learning_rate=0.05, momentum=0.9),
    default_batch_size=512,
)

LENET = Network(
    name="lenet",
    title="LeNet, as in Caffe",
    source="arXiv:1810.12210 (Caffe's settings for MNIST)",
    purpose="learning",
    input_shape=(28, 28, 1),
    layers=(
        Convolution(20, 5),
        MaxPool(2),
        Convolution(50, 5),
        MaxPool(2),
        Flatten(),
        Dense(500),
        Relu(),
        Dense(10),
    ),
    parameters=431_080,
    optimiser=Sgd(
        learning_rate=0.01,
        momentum=0.9,
        weight_decay=5e-4,
        policy=InversePolicy(gamma=1e-4, power=0.75),
    ),
    default_batch_size=64,
)

NETWORKS: dict[str, Network] = {network.name: network for network in (FCN_R, LENET)}
