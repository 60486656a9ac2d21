"""Rule tables: the overheads as CSV, Markdown and LaTeX."""

from pathlib import Path

from tare.campaign.script import running
from tare.report import tables
from tare.stats.table import read

with running(snakemake.log[0]):
    tables.write(read(Path(snakemake.input.overhead)), Path(snakemake.output[0]).parent)
