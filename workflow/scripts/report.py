"""Rule report: the study as one self-contained page."""

from pathlib import Path

import pandas as pd

import tare
from tare.campaign import freeze, selfcheck
from tare.campaign.script import running
from tare.campaign.state import current_records
from tare.report import page
from tare.stats.table import read

with running(snakemake.log[0]):
    study_dir = Path(snakemake.output.page).parent
    study, plan = freeze.read(study_dir)
    records = list(current_records(study_dir, plan))
    page.write(
        Path(snakemake.output.page),
        study={
            **study.model_dump(),
            "max_repetitions": study.most_repetitions,
            "tare_version": tare.__version__,
        },
        overhead=read(Path(snakemake.input.overhead)),
        runs=pd.read_parquet(snakemake.input.runs),
        plan=plan,
        records=records,
        self_check=selfcheck.last(study_dir.parent, records[-1].host) if records else None,
        superseded=len(list((study_dir / "superseded").glob("*/*/*.json"))),
        interrupted=len(list((study_dir / "interrupted").glob("*/*/*.json"))),
        figures_svg={Path(p).stem: Path(p).read_text(encoding="utf-8") for p in snakemake.input.figures},
    )
