rule tables:
    input:
        overhead=session.path("overhead.csv"),
        code=sources("report"),
    output:
        tables=collect(
            session.path("tables", "overhead.{ending}"), ending=TABLE_ENDINGS
        ),
    log:
        session.path("logs", "tables.log"),
    script:
        "../scripts/tables.py"


rule figure_overhead:
    input:
        overhead=session.path("overhead.csv"),
        plan=session.plan,
        code=sources("report"),
    output:
        figures=collect(
            session.path("figures", "overhead.{ending}"), ending=FIGURE_ENDINGS
        ),
    log:
        session.path("logs", "figure_overhead.log"),
    script:
        "../scripts/figure_overhead.py"


rule figure_throughput:
    input:
        runs=session.path("runs.parquet"),
        code=sources("report"),
    output:
        figures=collect(
            session.path("figures", "throughput.{ending}"), ending=FIGURE_ENDINGS
        ),
    log:
        session.path("logs", "figure_throughput.log"),
    script:
        "../scripts/figure_throughput.py"


rule report:
    input:
        overhead=session.path("overhead.csv"),
        runs=session.path("runs.parquet"),
        plan=session.plan,
        figures=collect(
            session.path("figures", "{figure}.svg"), figure=["overhead", "throughput"]
        ),
        code=sources("report", "stats"),
    output:
        page=session.path("report.html"),
    log:
        session.path("logs", "report.log"),
    script:
        "../scripts/report.py"
