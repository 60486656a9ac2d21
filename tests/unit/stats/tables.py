"""What tests of overhead.csv share."""

from __future__ import annotations

import pandas as pd

from tare.stats.overhead import overhead

NO_DOCKER = ("docker does not answer", "Start it with `systemctl start docker`.")


def run(records, planned, metric="throughput_images_per_sec", margin_pct=2.0, **how) -> pd.DataFrame:
    """overhead.csv of these records."""
    return overhead(records, planned, metric=metric, margin_pct=margin_pct, **how)


def row(frame: pd.DataFrame, environment: str = "docker", cell: str = "lenet-torch") -> pd.Series:
    """The one row of an environment in a cell."""
    found = frame[(frame["environment"] == environment) & (frame["cell"] == cell)]
    assert len(found) == 1
    return found.iloc[0]
