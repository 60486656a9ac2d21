rule collect_runs:
    input:
        records=session.records,
        plan=session.path("plan.csv"),
        study=session.path("study.json"),
        code=sources("records", "plan", "campaign"),
    output:
        runs=session.path("runs.parquet"),
    params:
        study_dir=session.path(),
    log:
        session.path("logs", "collect_runs.log"),
    script:
        "../scripts/collect_runs.py"


rule overhead:
    input:
        records=session.records,
        plan=session.path("plan.csv"),
        study=session.path("study.json"),
        code=sources("records", "stats"),
    output:
        overhead=session.path("overhead.csv"),
    params:
        study_dir=session.path(),
    log:
        session.path("logs", "overhead.log"),
    script:
        "../scripts/overhead.py"
