"""The networks are those of the papers, and a list of layers that makes no sense is refused."""

import subprocess
import sys
from dataclasses import replace
from math import prod

import pytest

from tare.worker.networks import (
    FCN_R,
    LENET,
    NETWORKS,
    Convolution,
    Dense,
    Flatten,
    InversePolicy,
    MaxPool,
    Sgd,
)


def test_networks_are_found_by_their_names():
    assert NETWORKS == {"fcn-r": FCN_R, "lenet": LENET}


@pytest.mark.parametrize(("name", "published"), [("fcn-r", 14_205_962), ("lenet", 431_080)])
def test_layers_add_up_to_the_published_number_of_parameters(name, published):
    network = NETWORKS[name]
    counted = sum(prod(shapes.weights) + prod(shapes.biases) for shapes in network.parameter_shapes())
    assert counted == network.parameters == published
    assert network.classes == 10


def test_lenet_shapes_are_those_of_caffe():
    assert LENET.shapes() == [
        (28, 28, 1),
        (24, 24, 20),
        (12, 12, 20),
        (8, 8, 50),
        (4, 4, 50),
        (800,),
        (500,),
        (500,),
        (10,),
    ]
    assert [shapes.fan_in for shapes in LENET.parameter_shapes()] == [25, 500, 800, 500]


@pytest.mark.parametrize(
    ("layers", "named"),
    [
        ((Dense(10),), "flat"),
        ((Flatten(), Convolution(20, 5)), "image"),
        ((Convolution(20, 29),), "at least as large"),
        ((MaxPool(3),), "divide"),
        (("dropout",), "not a known layer"),
    ],
)
def test_layers_that_do_not_fit_are_refused(layers, named):
    with pytest.raises(ValueError, match=rf"network lenet: .*{named}"):
        replace(LENET, layers=layers).shapes()


def test_inverse_policy_lowers_the_rate_as_caffe_does():
    rule = Sgd(learning_rate=0.01, momentum=0.9, policy=InversePolicy(gamma=1e-4, power=0.75))
    assert rule.rate(0) == 0.01
    assert rule.rate(10_000) == pytest.approx(0.01 * 2**-0.75)
    assert FCN_R.optimiser.rate(10_000) == 0.05


def test_networks_need_the_standard_library_only():
    script = "import sys, tare.worker.networks; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
