"""What stopping when the interval is narrow does to its coverage, and what the correction for it brings back.

    python benchmarks/optional_stopping.py [--paths 4000] [--level 0.95] [--most 30] [--seed 1]

Each path is a cell with one comparison: log ratios of blocks, one after the other, with a spread of 1 %. It is measured
in `first` blocks, then block by block until the product's own rule (`tare.stats.precision.enough`) is content with its
interval, or the last block is done. Printed is the share of paths whose interval holds the truth at the moment of
stopping, with its Monte Carlo error: `plain` without, `stretched` with the correction that studies with `precision_pct`
get (`tare.stats.precision.stretched`). `without stopping` is the interval after the last block, whatever it is like.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tare.stats.intervals import estimate
from tare.stats.metrics import THROUGHPUT
from tare.stats.precision import enough, half_width_pct, stretched

SPREAD = 0.01
TRUTH = math.log(1.03)
MOST = 30
FIRST = (5, 6, 10)
WISHES_PCT = (1.0, 0.7, 0.5, 0.4)
LEVEL = 0.95

Draw = Callable[[np.random.Generator, int], np.ndarray]


def _normal(random: np.random.Generator, count: int) -> np.ndarray:
    return random.standard_normal(count)


def _heavy(random: np.random.Generator, count: int) -> np.ndarray:
    """Student's t with 3 degrees of freedom, scaled to a standard deviation of 1."""
    return random.standard_t(3, count) / math.sqrt(3)


def _bursts(random: np.random.Generator, count: int) -> np.ndarray:
    """One block in ten is five times as noisy."""
    scale = np.where(random.random(count) < 0.1, 5.0, 1.0)
    return random.standard_normal(count) * scale / math.sqrt(0.9 + 0.1 * 25)


def _slow_mode(random: np.random.Generator, count: int) -> np.ndarray:
    """15 % of the blocks are slower by three of the others' standard deviations: skewed, hard for any t interval."""
    share, shift = 0.15, 3.0
    values = random.standard_normal(count) + shift * (random.random(count) < share)
    return (values - share * shift) / math.sqrt(1 + shift**2 * share * (1 - share))


NOISE: dict[str, Draw] = {"normal": _normal, "t3": _heavy, "bursts": _bursts, "slow mode": _slow_mode}


@dataclass(frozen=True)
class Coverage:
    """Share of intervals that hold the truth, its Monte Carlo error, and the mean number of blocks."""

    share: float
    error: float
    blocks: float

    def __str__(self) -> str:
        return f"{100 * self.share:5.1f} ±{100 * self.error:.1f} ({self.blocks:4.1f})"


@dataclass(frozen=True)
class _Seen:
    """What is known of a path after so many blocks."""

    blocks: int
    half_pct: float
    holds: bool


def _path(ratios: Sequence[float], least: int, *, stretch: bool, level: float) -> list[_Seen]:
    truth_pct = THROUGHPUT.overhead_pct(TRUTH)
    seen = []
    for blocks in range(least, len(ratios) + 1):
        values = ratios[:blocks]
        interval = estimate(stretched(values) if stretch else values, THROUGHPUT, level).interval_pct()
        assert interval is not None
        half_pct = half_width_pct(*interval)
        assert half_pct is not None
        seen.append(_Seen(blocks, half_pct, interval[0] <= truth_pct <= interval[1]))
    return seen


def _stopped(path: Sequence[_Seen], first: int, wished_pct: float) -> _Seen:
    """Where the study stops: at the first look that is content, or at its end."""
    looks = [seen for seen in path if seen.blocks >= first]
    return next((seen for seen in looks if enough(seen.half_pct, seen.blocks, wished_pct)), looks[-1])


def _coverage(ends: Sequence[_Seen]) -> Coverage:
    share = sum(end.holds for end in ends) / len(ends)
    error = math.sqrt(max(share * (1 - share), 1 / len(ends)) / len(ends))
    return Coverage(share, error, sum(end.blocks for end in ends) / len(ends))


def simulate(
    noise: str,
    *,
    paths: int,
    seed: int,
    stretch: bool,
    first: Sequence[int] = FIRST,
    wishes_pct: Sequence[float] = WISHES_PCT,
    most: int = MOST,
    level: float = LEVEL,
) -> tuple[dict[tuple[int, float], Coverage], Coverage]:
    """Coverage for each (first blocks, wished half-width), and that of `most` blocks without stopping."""
    random = np.random.default_rng(seed)
    seen = [
        _path(
            [TRUTH + SPREAD * float(x) for x in NOISE[noise](random, most)],
            min(first),
            stretch=stretch,
            level=level,
        )
        for _ in range(paths)
    ]
    stopped = {
        (number, wish): _coverage([_stopped(path, number, wish) for path in seen])
        for number in first
        for wish in wishes_pct
    }
    return stopped, _coverage([path[-1] for path in seen])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--paths", type=int, default=4000, help="simulated cells for each kind of noise (4000)"
    )
    parser.add_argument(
        "--level",
        type=float,
        default=LEVEL,
        help="of the intervals; higher where there are many comparisons (0.95)",
    )
    parser.add_argument("--most", type=int, default=MOST, help=f"blocks of a cell at most ({MOST})")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(
        f"Coverage of {100 * arguments.level:g} % intervals in percent ± Monte Carlo error (mean blocks); "
        f"at most {arguments.most} blocks"
    )
    lowest = {"plain": Coverage(1, 0, 0), "stretched": Coverage(1, 0, 0)}
    for noise in NOISE:
        for name, stretch in (("plain", False), ("stretched", True)):
            found, fixed = simulate(
                noise,
                paths=arguments.paths,
                seed=arguments.seed,
                stretch=stretch,
                most=arguments.most,
                level=arguments.level,
            )
            print(f"\n{noise}, {name}; without stopping {fixed}")
            print("first blocks  " + "".join(f"{f'±{wish:g} points':>20}" for wish in WISHES_PCT))
            for number in FIRST:
                cells = "".join(f"{found[number, wish]!s:>20}" for wish in WISHES_PCT)
                print(f"{number:12}  {cells}")
            if noise != "slow mode":
                lowest[name] = min(lowest[name], *found.values(), key=lambda one: one.share)
    print(f"\nLowest but for the slow mode: plain {lowest['plain']}, stretched {lowest['stretched']}")


if __name__ == "__main__":
    main()
