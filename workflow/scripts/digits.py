"""Rule digits: scikit-learn's handwritten digits, ready for the workers."""

from pathlib import Path

from tare.campaign.script import running
from tare.data.digits import write

with running(snakemake.log[0]):
    write(Path(snakemake.output.data))
