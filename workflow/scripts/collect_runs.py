"""Rule collect_runs: all records of the plan as one table."""

from pathlib import Path

from tare.campaign import freeze
from tare.campaign.script import running
from tare.campaign.state import current_records
from tare.records.collect import table

with running(snakemake.log[0]):
    study_dir = Path(snakemake.output.runs).parent
    _, plan = freeze.read(study_dir)
    table(current_records(study_dir, plan), study_dir).to_parquet(snakemake.output.runs, index=False)
