"""Rules measure_*: one block."""

from pathlib import Path

from tare.campaign.job import Place, measure
from tare.campaign.script import running

with running(snakemake.log[0], again=snakemake.params.again):
    measure(
        Path(snakemake.output.records[0]).parents[3],
        snakemake.wildcards.cell,
        int(snakemake.wildcards.repetition),
        data=Path(snakemake.input.data),
        seconds=snakemake.params.seconds,
        again=snakemake.params.again,
        place=Place(**snakemake.params.place),
        wait=snakemake.params.wait,
    )
