"""Rule overhead: what each environment costs in each cell."""

from pathlib import Path

from tare.campaign import freeze
from tare.campaign.script import running
from tare.campaign.state import all_records
from tare.records.store import write_atomically
from tare.stats.overhead import overhead

with running(snakemake.log[0]):
    study_dir = Path(snakemake.output.overhead).parent
    study, plan = freeze.read(study_dir)
    frame = overhead(
        all_records(study_dir),
        plan,
        metric=study.metric,
        margin_pct=study.margin_pct,
        adjust=study.adjust,
        interval=study.interval,
    )
    write_atomically(Path(snakemake.output.overhead), frame.to_csv(index=False, lineterminator="\n"))
