"""Rule overhead: what each environment costs in each cell."""

from pathlib import Path

from tare.campaign import freeze
from tare.campaign.script import running
from tare.records.store import read, scan, write_atomically
from tare.stats.overhead import overhead

with running(snakemake.log[0]):
    study_dir = Path(snakemake.output.overhead).parent
    study, plan = freeze.read(study_dir)
    # all of them: those that were made for other settings or repetitions are not used, but counted
    records = [read(path) for path in scan(study_dir)]
    frame = overhead(
        records,
        plan,
        metric=study.metric,
        margin_pct=study.margin_pct,
        adjust=study.adjust,
        interval=study.interval,
    )
    write_atomically(Path(snakemake.output.overhead), frame.to_csv(index=False, lineterminator="\n"))
