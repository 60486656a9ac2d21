rule collect_runs:
    input:
        records=session.records,
        plan=session.plan,
        code=sources("records", "plan", "campaign"),
    output:
        runs=session.path("runs.parquet"),
    log:
        session.path("logs", "collect_runs.log"),
    script:
        "../scripts/collect_runs.py"


rule overhead:
    input:
        records=session.records,
        plan=session.plan,
        code=sources("records", "stats"),
    output:
        overhead=session.path("overhead.csv"),
    log:
        session.path("logs", "overhead.log"),
    script:
        "../scripts/overhead.py"
