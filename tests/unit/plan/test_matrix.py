"""Cells and their names."""

from __future__ import annotations

import re

import pytest

from tare.plan.errors import StudyError
from tare.plan.matrix import cells
from tests.unit.studies import matrix, study


def names(**axes) -> list[str]:
    return [cell.name for cell in cells(study(matrix=matrix(**axes)))]


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ({}, ["lenet-torch"]),
        # in the order of the axes
        (
            {"model": ["lenet", "fcn-r"], "framework": ["torch", "tensorflow"]},
            ["lenet-torch", "lenet-tensorflow", "fcn-r-torch", "fcn-r-tensorflow"],
        ),
        # a batch size is named where it varies, or is not the network's own
        ({"batch_size": [64]}, ["lenet-torch"]),
        ({"batch_size": [32]}, ["lenet-torch-b32"]),
        ({"batch_size": [32, 64]}, ["lenet-torch-b32", "lenet-torch-b64"]),
        ({"model": ["lenet", "fcn-r"], "batch_size": [64]}, ["lenet-torch", "fcn-r-torch-b64"]),
        ({"model": ["lenet", "fcn-r"], "batch_size": None}, ["lenet-torch", "fcn-r-torch"]),
        # a GPU always is, the CPU where there is another choice
        ({"gpu": "V100"}, ["lenet-torch-v100"]),
        ({"gpu": ["none", "V100"]}, ["lenet-torch-cpu", "lenet-torch-v100"]),
        ({"gpu": "Tesla V100-SXM2"}, ["lenet-torch-tesla_v100-sxm2"]),
        ({"gpu": "RTX 6000/8000 (x) 1.2+"}, ["lenet-torch-rtx_6000_8000_x_1_2"]),
        ({"gpu": "V100", "gpus_per_learner": [2]}, ["lenet-torch-v100-g2"]),
        ({"gpu": "V100", "gpus_per_learner": [1, 2]}, ["lenet-torch-v100-g1", "lenet-torch-v100-g2"]),
        ({"learners": [2]}, ["lenet-torch-l2"]),
        ({"learners": [1, 4]}, ["lenet-torch-l1", "lenet-torch-l4"]),
        # in a fixed order
        (
            {"batch_size": [32], "gpu": "V100", "gpus_per_learner": [2], "learners": [4]},
            ["lenet-torch-b32-v100-g2-l4"],
        ),
        # the settings where they are not the quiet ones
        ({"settings": ["quiet", "default"]}, ["lenet-torch", "lenet-torch-default"]),
        ({"settings": "quiet"}, ["lenet-torch"]),
        ({"learners": [2], "settings": "default"}, ["lenet-torch-l2-default"]),
        # the number of GPUs says nothing of a cell without any
        ({"gpu": ["none", "V100"], "gpus_per_learner": [1, 2]},
         ["lenet-torch-cpu", "lenet-torch-v100-g1", "lenet-torch-v100-g2"]),
    ],
)  # fmt: skip
def test_names_hold_only_what_varies_or_leaves_its_default(axes, expected):
    assert names(**axes) == expected


@pytest.mark.parametrize(
    "gpus",
    [["V100", "v100"], ["A 100", "A_100"], ["A/100", "A 100"], ["A.1", "A(1)"], ["none", "V100", "v100"]],
)
def test_two_cells_of_one_name_are_refused(gpus):
    with pytest.raises(
        StudyError, match=r"^2 cells of study small would be called 'lenet-torch-[a-z0-9_]+'; "
    ) as caught:
        names(gpu=gpus)
    assert str(caught.value).endswith(
        f"rename one value of matrix.gpu ({', '.join(sorted({*gpus} - {'none'}))})."
    )


def test_names_can_be_folders_and_parts_of_a_rule():
    """Snakemake takes them for regular expressions, `only` for patterns."""
    found = names(
        model=["lenet", "fcn-r"],
        framework=["torch", "tensorflow"],
        batch_size=[1, 64, 100000],
        gpu=["none", "Tesla V100-SXM2-16GB", "Quadro RTX 6000/8000", "GTX 1660 Ti", "Radeon(TM)", "A.B+"],
        gpus_per_learner=[1, 2],
        learners=[1, 2],
    )
    assert len(set(found)) == len(found)
    assert [name for name in found if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name)] == []


def test_a_cell_says_what_it_is():
    cpu, gpu = cells(study(matrix=matrix(model="fcn-r", gpu=["none", "V100"], gpus_per_learner=2)))
    assert (cpu.device, cpu.gpu, cpu.gpus_per_learner, cpu.batch_size) == ("cpu", "none", 0, 512)
    assert (gpu.device, gpu.gpu, gpu.gpus_per_learner, gpu.learners) == ("gpu", "V100", 2, 1)
    assert (gpu.model, gpu.framework, gpu.data) == ("fcn-r", "torch", "digits")
