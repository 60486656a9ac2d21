"""Whether a classifier has learned anything."""

from __future__ import annotations

from scipy.stats import binomtest

# Many cells are judged at once, so the level is stricter than the usual 5 %.
LEVEL = 0.01


def at_chance(accuracy: float, items: int, classes: int) -> bool:
    """True where the accuracy is not significantly above guessing (one-sided binomial test, 1 / classes).

    Args:
        accuracy: fraction of the held-out items that were classified rightly, 0..1.
        items: number of held-out items.
        classes: number of classes.
    """
    right = round(accuracy * items)
    return bool(binomtest(right, items, 1 / classes, alternative="greater").pvalue >= LEVEL)
