"""Checkpoint precision: how precise the study is, and which blocks come next."""

from pathlib import Path

from tare.campaign import freeze, precision
from tare.campaign.script import running
from tare.campaign.state import states

with running(snakemake.log[0]):
    path = Path(snakemake.output.look)
    study, plan = freeze.read(path.parents[1])
    blocks = states(path.parents[1], plan)
    look = precision.judge(study, path.parents[1], plan, blocks)
    precision.write(path, look, study, blocks)
