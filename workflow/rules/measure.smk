# One rule for each distinct set of environments. A rule makes all records of a block in one go, with the machine to
# itself: threads is all that Snakemake has. The records are `update` outputs, since Snakemake deletes others before a
# rerun and after a failure. No input is newer than a record in Snakemake's eyes: Tare itself decides what is stale.
for group in session.groups:

    rule:
        name:
            group.name
        input:
            begin=session.nothing,
            data=ancient(session.path("data", "digits.npz")),
        output:
            records=update(session.record_patterns(group)),
        log:
            session.path("logs", "{cell}", "{repetition}", "block.log"),
        wildcard_constraints:
            cell="|".join(group.cells),
            repetition="|".join(str(repetition) for repetition in group.repetitions),
        priority: session.priority
        threads: workflow.cores
        params:
            seconds=session.seconds,
            again=session.again,
            place=session.place,
            wait=session.campaign.options.wait,
        script:
            "../scripts/measure.py"
