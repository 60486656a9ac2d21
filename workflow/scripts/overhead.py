"""Rule overhead: what each environment costs in each cell."""

from pathlib import Path

from tare.campaign import freeze
from tare.campaign.script import running
from tare.campaign.state import current_records
from tare.stats import overhead, write

with running(snakemake.log[0]):
    study_dir = Path(snakemake.params.study_dir)
    study, plan = freeze.read(study_dir)
    records = list(current_records(study_dir, plan))
    frame = overhead(records, plan, metric=study.metric, margin_pct=study.margin_pct)
    write(frame, Path(snakemake.output.overhead))
