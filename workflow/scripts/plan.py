"""Rule plan: plan and study were written when the run began; here they are only checked."""

from pathlib import Path

from tare.campaign import freeze
from tare.campaign.script import running

with running(snakemake.log[0]):
    freeze.read(Path(snakemake.output.plan).parent)
