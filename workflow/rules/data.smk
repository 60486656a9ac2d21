rule digits:
    input:
        begin=session.nothing,
    output:
        data=session.path("data", "digits.npz"),
    log:
        session.path("logs", "digits.log"),
    script:
        "../scripts/digits.py"


rule plan:
    input:
        begin=session.nothing,
    output:
        plan=update(session.path("plan.csv")),
        study=update(session.path("study.json")),
    log:
        session.path("logs", "plan.log"),
    script:
        "../scripts/plan.py"
