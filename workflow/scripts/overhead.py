"""Rule overhead: what each environment costs in each cell."""

from pathlib import Path

from tare.campaign import freeze
from tare.campaign.script import running
from tare.records.store import read, scan, write_atomically
from tare.stats.overhead import overhead
from tare.stats.precision import with_notes

with running(snakemake.log[0]):
    study_dir = Path(snakemake.output.overhead).parent
    study, plan = freeze.read(study_dir)
    # all of them: those that were made for other settings or repetitions are not used, but counted
    records = [read(path) for path in scan(study_dir)]
    wished = study.precision_pct
    frame = overhead(
        records, plan, metric=study.metric, margin_pct=study.margin_pct, until_precise=wished is not None
    )
    frame = frame if wished is None else with_notes(frame, wished)
    write_atomically(Path(snakemake.output.overhead), frame.to_csv(index=False, lineterminator="\n"))
