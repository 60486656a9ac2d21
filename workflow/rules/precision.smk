# A look at how precise the study is once so many blocks are measured, and which cells go on. A checkpoint, since the jobs
# that follow depend on what it finds; only studies with `precision_pct` come to it, and only calls that measure.
checkpoint precision:
    input:
        records=session.judged,
        plan=session.plan,
        code=sources("stats", "records"),
    output:
        look=session.path("precision", "{blocks}.json"),
    log:
        session.path("logs", "precision-{blocks}.log"),
    wildcard_constraints:
        blocks="[0-9]+",
    script:
        "../scripts/precision.py"


session.go_on_by(checkpoints.precision)
