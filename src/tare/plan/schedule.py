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

    A Williams design: over n blocks each environment takes each slot once, and over n blocks (2 n where n is odd) each
    follows each other one equally often, so that what one run leaves behind meets all others alike. Which environment
    plays which part, and the order of the blocks, are random; after each full design they are drawn anew.
    """
    count = len(environments)
    if not count:
        return []
    squares = 1 if count % 2 == 0 else 2
    design, row = divmod(index, squares * count)
    random = Random(f"{seed}/{cell}/{design}")
    names = sorted(environments)
    random.shuffle(names)
    rows = []
    for square in range(squares):
        shifts = list(range(count))
        random.shuffle(shifts)
        rows += [_williams(count, shift, mirrored=square == 1) for shift in shifts]
    return [names[part] for part in rows[row]]


def _williams(count: int, shift: int, *, mirrored: bool) -> list[int]:
    """One row of a Williams square: 0, 1, n-1, 2, n-2, ... shifted; mirrored in the second square of an odd n."""
    zigzag = [(place + 1) // 2 if place % 2 else -(place // 2) for place in range(count)]
    row = [(value + shift) % count for value in zigzag]
    return row[::-1] if mirrored else row
