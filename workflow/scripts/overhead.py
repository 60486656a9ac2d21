"""Rule overhead: what each environment costs in each cell."""

from pathlib import Path

from tare.campaign import freeze, precision
from tare.campaign.script import running
from tare.campaign.state import all_records
from tare.records.store import write_atomically
from tare.stats.overhead import of_study
from tare.stats.precision import with_notes

with running(snakemake.log[0]):
    study_dir = Path(snakemake.output.overhead).parent
    study, plan = freeze.read(study_dir)
    wished = study.precision_pct
    frame = of_study(study, all_records(study_dir), plan, looked_at=precision.looked_at(study_dir))
    frame = frame if wished is None else with_notes(frame, wished)
    write_atomically(Path(snakemake.output.overhead), frame.to_csv(index=False, lineterminator="\n"))
