# What there is to make. Logic lives in the package (src/tare), one script per rule in workflow/scripts.

from tare.campaign.session import open_session

# ---- configuration -------------------------------------------------------------------------------------------------


configfile: workflow.source_path("config/config.yaml")


# Reads the study and its plan. Changes nothing: the run begins when the graph of jobs is built (Session.begin).
session = open_session(workflow, config, workflow.basedir)


# ---- rules ---------------------------------------------------------------------------------------------------------


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/precision.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/report.smk"


# ---- target --------------------------------------------------------------------------------------------------------


rule all:
    default_target: True
    input:
        records=session.records,
        table=session.path("overhead.csv"),
        tables=collect(
            session.path("tables", "overhead.{ending}"), ending=TABLE_ENDINGS
        ),
        figures=collect(
            session.path("figures", "{figure}.{ending}"),
            figure=["overhead", "throughput"],
            ending=FIGURE_ENDINGS,
        ),
        report=session.path("report.html"),
