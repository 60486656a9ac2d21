"""The order of blocks, and of the environments within each.

Pure functions of the study's seed, so that the order can be recomputed whatever was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random


def block_order(cells: Sequence[str], repetition: int, seed: int) -> list[str]:
    """The cells in the shuffled order of one repetition: all of it is done before the next begins."""
    shuffled = sorted(cells)
    Random(f"{seed}/{repetition}").shuffle(shuffled)
    return shuffled


def slots(environments: Sequence[str], cell: str, index: int, seed: int) -> list[str]:
    """The environments in the order of their slots in the `index`-th block of a cell.

    Rotating one random order gives each environment each slot equally often, up to remainders; a new random
    order after each full turn keeps neighbours from being always the same.
    """
    if not environments:
        return []
    cycle, shift = divmod(index, len(environments))
    order = sorted(environments)
    Random(f"{seed}/{cell}/{cycle}").shuffle(order)
    return order[shift:] + order[:shift]
