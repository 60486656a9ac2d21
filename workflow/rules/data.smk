rule digits:
    input:
        begin=session.nothing,
    output:
        data=session.path("data", "digits.npz"),
    log:
        session.path("logs", "digits.log"),
    script:
        "../scripts/digits.py"
