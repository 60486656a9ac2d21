"""Rule figure_throughput: each run a dot."""

from pathlib import Path

import pandas as pd

from tare.campaign.script import running
from tare.report import figures

with running(snakemake.log[0]):
    figures.write_throughput(
        pd.read_parquet(snakemake.input.runs), [Path(p) for p in snakemake.output.figures]
    )
