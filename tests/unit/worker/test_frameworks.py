"""What every framework must do alike. A further framework is tested by its line in `FRAMEWORKS`.

The frameworks' settings hold for a whole process, so whatever depends on them runs in a process of its own.
"""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tare.worker import frameworks
from tare.worker.data import Data, batches
from tare.worker.frameworks import FRAMEWORKS, load
from tare.worker.frameworks.initial_weights import initial_weights
from tare.worker.networks import LENET, NETWORKS, Dense, Flatten, InversePolicy, Sgd

REFERENCE = next(iter(FRAMEWORKS))


@pytest.fixture(params=FRAMEWORKS)
def name(request):
    return request.param


@pytest.fixture
def framework(name):
    return configured(name)


@cache
def configured(name):
    framework = load(name)
    framework.configure(threads=2, device="cpu")
    assert framework.thread_count() == 2
    return framework


@cache
def digits():
    """The real digits of scikit-learn, 8x8, as images of 28x28: each pixel three times, an edge of two."""
    images, labels = load_digits(return_X_y=True)
    pixels = (images / 16).astype(np.float32).reshape(-1, 8, 8).repeat(3, axis=1).repeat(3, axis=2)
    x = np.pad(pixels, ((0, 0), (2, 2), (2, 2)))[..., None]
    held_out = np.arange(len(labels)) % 5 == 0
    y = labels.astype(np.int64)
    return Data(x[~held_out], y[~held_out], x[held_out], y[held_out])


@cache
def run_of(name, network, steps, batch_size, seed=1):
    """A whole run: its losses, and what `evaluate` gave before and after it."""
    trainer = configured(name).Trainer(NETWORKS[network], digits(), batch_size, seed, "cpu")
    before = trainer.evaluate()
    losses = losses_of(trainer, steps)
    return SimpleNamespace(
        parameters=trainer.parameters, losses=losses, before=before, after=trainer.evaluate()
    )


def losses_of(trainer, steps):
    losses = []
    for _ in range(steps):
        trainer.step()
        losses.append(trainer.loss())
    return losses


def lenet_run(name):
    return run_of(name, "lenet", steps=150, batch_size=64)


def fcn_r_run(name):
    return run_of(name, "fcn-r", steps=6, batch_size=16)


def test_importing_the_package_imports_no_framework():
    script = f"import sys, tare.worker.frameworks; sys.exit(bool(set(sys.modules) & {set(FRAMEWORKS)}))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_unknown_framework_is_refused():
    with pytest.raises(ValueError, match=r"'caffe9' is not known; use one of .*torch"):
        load("caffe9")


def test_unknown_initialiser_is_refused():
    with pytest.raises(ValueError, match="network lenet: initialiser 'orthogonal'"):
        initial_weights(replace(LENET, initialiser="orthogonal"), seed=1)


def test_initial_weights_are_caffes_xavier_and_follow_the_seed():
    layers = initial_weights(LENET, seed=1)
    for (weights, biases), shapes in zip(layers, LENET.parameter_shapes(), strict=True):
        assert weights.dtype == biases.dtype == np.float32
        assert (weights.shape, biases.shape) == (shapes.weights, shapes.biases)
        assert np.abs(weights).max() == pytest.approx(math.sqrt(3 / shapes.fan_in), rel=0.02)
        assert not biases.any()
    assert np.array_equal(layers[0][0], initial_weights(LENET, seed=1)[0][0])
    assert not np.array_equal(layers[0][0], initial_weights(LENET, seed=2)[0][0])


@pytest.mark.parametrize("run", [lenet_run, fcn_r_run])
def test_frameworks_train_alike(name, run):
    mine, reference = run(name), run(REFERENCE)
    assert mine.losses[:6] == pytest.approx(reference.losses[:6], rel=1e-4)
    assert mine.before == pytest.approx(reference.before, rel=1e-4)


def test_lenet_learns_digits(name):
    run = lenet_run(name)
    assert np.mean(run.losses[-10:]) < 0.1 * run.losses[0]
    assert run.after[0] < 0.2 * run.before[0]
    assert run.before[1] < 0.3
    assert 0.94 <= run.after[1] <= 1


def test_first_loss_is_that_of_guessing(name):
    assert lenet_run(name).losses[0] == pytest.approx(math.log(10), rel=0.1)


@pytest.mark.parametrize("run", [lenet_run, fcn_r_run])
def test_parameters_are_counted(name, run):
    assert run(name).parameters == {lenet_run: 431_080, fcn_r_run: 14_205_962}[run]


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_another_number_of_parameters_is_refused(framework, network):
    wrong = replace(network, parameters=network.parameters + 1)
    with pytest.raises(ValueError, match=rf"{network.parameters:,} parameters .* {wrong.parameters:,}"):
        framework.Trainer(wrong, digits(), 8, 1, "cpu")


def test_unsuitable_data_are_refused(framework):
    data = digits()
    cut = replace(data, train_x=data.train_x[:, 1:], test_x=data.test_x[:, 1:])
    with pytest.raises(ValueError, match=r"\(28, 28, 1\), the data has \(27, 28, 1\)"):
        framework.Trainer(LENET, cut, 8, 1, "cpu")
    with pytest.raises(ValueError, match="10 classes apart, the data has 11"):
        framework.Trainer(LENET, replace(data, test_y=data.test_y + 1), 8, 1, "cpu")


def test_same_seed_same_run(framework):
    def losses(seed):
        return losses_of(framework.Trainer(LENET, digits(), 32, seed, "cpu"), 4)

    assert losses(5) == losses(5)
    assert losses(5) != losses(6)


def test_loss_of_no_step_is_nan(framework):
    assert math.isnan(framework.Trainer(LENET, digits(), 8, 1, "cpu").loss())


def test_a_batch_may_be_larger_than_the_data(framework):
    data = digits()
    few = Data(data.train_x[:10], data.train_y[:10], data.test_x[:3], data.test_y[:3])
    trainer = framework.Trainer(LENET, few, 16, 1, "cpu")
    assert all(math.isfinite(loss) for loss in losses_of(trainer, 2))
    assert trainer.evaluate()[1] in [right / 3 for right in range(4)]


def test_optimiser_follows_its_rule_exactly(framework):
    """Against the rule in numpy: one dense layer, with a decay and a policy strong enough to be seen."""
    rule = Sgd(
        learning_rate=0.5, momentum=0.9, weight_decay=0.05, policy=InversePolicy(gamma=0.5, power=0.75)
    )
    network = replace(LENET, layers=(Flatten(), Dense(10)), parameters=7850, optimiser=rule)
    losses = losses_of(framework.Trainer(network, digits(), 20, 3, "cpu"), 8)
    assert losses == pytest.approx(softmax_regression(network, digits(), 20, 3, 8), rel=1e-5)


def softmax_regression(network, data, batch_size, seed, steps):
    (weights, biases), rule = initial_weights(network, seed)[0], network.optimiser
    w = np.vstack([weights, biases]).astype(np.float64)
    v, losses = np.zeros_like(w), []
    for step, chosen in enumerate(islice(batches(len(data.train_y), batch_size, seed), steps)):
        x = np.c_[data.train_x[chosen].reshape(batch_size, -1), np.ones(batch_size)]
        scores = np.exp(x @ w)
        p = scores / scores.sum(axis=1, keepdims=True)
        truth = np.eye(network.classes)[data.train_y[chosen]]
        losses.append(-np.log(p[truth == 1]).mean())
        v = rule.momentum * v + x.T @ (p - truth) / batch_size + rule.weight_decay * w
        w = w - rule.rate(step) * v
    return losses


def test_software_is_described(name, framework):
    found = framework.software()
    assert found[name]
    assert found[f"{name}_build"]
    assert found["numpy"] == np.__version__
    assert all(isinstance(value, str) and value and "\n" not in value for value in found.values())


@pytest.mark.parametrize(("threads", "device", "named"), [(0, "cpu", "at least 1"), (1, "tpu", "'tpu'")])
def test_nonsense_is_not_configured(framework, threads, device, named):
    with pytest.raises(ValueError, match=named):
        framework.configure(threads, device)


CHILD = """
import json, sys, time
from tare.worker import data, frameworks, networks
name, path = sys.argv[1:]
framework = frameworks.load(name)
try:
    framework.configure(1, "gpu")
    refusal = None
except ValueError as error:
    refusal = str(error)
framework.configure(1, "cpu")
trainer = framework.Trainer(networks.LENET, data.load(path), 64, 1, "cpu")
for _ in range(3):
    trainer.step()
begun, used = time.perf_counter(), time.process_time()
for _ in range(20):
    trainer.step()
busy = (time.process_time() - used) / (time.perf_counter() - begun)
print(json.dumps({"threads": framework.thread_count(), "busy": busy, "refusal": refusal}))
"""


def test_one_thread_is_one_thread_and_a_missing_gpu_is_named(name, tmp_path):
    path = tmp_path / "digits.npz"
    np.savez(path, **vars(digits()))
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": os.pathsep.join(sys.path)}
    # A number in the environment must not win over the one that was asked for.
    environment["OMP_NUM_THREADS"] = "3"
    child = subprocess.run(
        [sys.executable, "-c", CHILD, name, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(child.stdout.splitlines()[-1])
    assert found["threads"] == 1
    # CPU time over wall time: how many threads were at work. Below 1 is the fault of a busy machine.
    assert found["busy"] < 1.15
    assert "no usable GPU" in found["refusal"]


def test_every_framework_has_what_the_worker_calls(framework):
    for part in ("configure", "software", "thread_count", "Trainer"):
        assert callable(getattr(framework, part))
    for part in ("step", "loss", "evaluate"):
        assert callable(getattr(framework.Trainer, part))


def test_names_are_those_of_modules():
    assert all(module == f"{frameworks.__name__}.{name}" for name, module in FRAMEWORKS.items())


def test_keeping_busy_changes_nothing_of_the_training(framework):
    def trained(busy):
        trainer = framework.Trainer(NETWORKS["lenet"], digits(), 64, 1, "cpu")
        losses = []
        for _ in range(4):
            trainer.step()
            for _ in range(3 if busy else 0):
                trainer.keep_busy()
            losses.append(trainer.loss())
        return [*losses, *trainer.evaluate()]

    assert trained(busy=True) == pytest.approx(trained(busy=False), rel=1e-5)
