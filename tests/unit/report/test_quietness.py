"""How quiet it was, by cell and environment."""

from tare.report.quietness import Quietness, quietness, said
from tests.unit.factory import record


def runs(*verdicts, environment="bare"):
    return [
        record(environment=environment, repetition=n, noise_verdict=verdict)
        for n, verdict in enumerate(verdicts, start=1)
    ]


def test_runs_are_counted_by_verdict():
    found = quietness([*runs("quiet", "noisy: 3 MiB were swapped", ""), *runs("quiet", environment="docker")])
    assert found == [
        Quietness("lenet-torch", "bare", 1, 1, 1, "3 MiB were swapped"),
        Quietness("lenet-torch", "docker", 1, 0, 0, ""),
    ]
    assert said(found) == (
        "1 of 3 runs was noisy. Noisy runs count like all others; an interval is as wide as they made it. "
        "1 run could not be judged."
    )


def test_all_quiet_and_none_at_all():
    assert said(quietness(runs("quiet", "quiet"))) == "All 2 runs that were judged were quiet."
    assert said(quietness(runs("", ""))) == "No run has been judged. 2 runs could not be judged."
    assert said([]) == "No run has been made yet."
