"""The weights that training starts from, the same in every framework."""

from __future__ import annotations

import numpy as np

from tare.worker.networks import Network


def initial_weights(network: Network, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases of each layer that has any, in order: float32, of the network's `parameter_shapes`.

    "xavier" is Caffe's: uniform in +-sqrt(3 / fan_in), biases 0. Raises ValueError for any other initialiser.
    """
    if network.initialiser != "xavier":
        raise ValueError(
            f"network {network.name}: initialiser {network.initialiser!r} is not known; use 'xavier'"
        )
    initial = []
    for layer, shapes in enumerate(network.parameter_shapes()):
        # RandomState: only for it numpy promises the same numbers in every version.
        random = np.random.RandomState(np.random.MT19937(np.random.SeedSequence([seed, layer])))
        bound = (3.0 / shapes.fan_in) ** 0.5
        weights = random.uniform(-bound, bound, shapes.weights).astype(np.float32)
        initial.append((weights, np.zeros(shapes.biases, np.float32)))
    return initial
