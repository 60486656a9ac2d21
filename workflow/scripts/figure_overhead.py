"""Rule figure_overhead: estimate and interval for each cell and environment."""

from pathlib import Path

from tare.campaign import freeze
from tare.campaign.script import running
from tare.report import figures
from tare.stats.table import read

with running(snakemake.log[0]):
    study, _ = freeze.read(Path(snakemake.input.overhead).parent)
    paths = [Path(path) for path in snakemake.output.figures]
    figures.write_overhead(read(Path(snakemake.input.overhead)), study.margin_pct, paths)
