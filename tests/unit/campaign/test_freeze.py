"""The start of a real run: lock, plan.csv and study.json."""

from __future__ import annotations

import pytest

from tare.campaign import freeze
from tare.measure.locks import Lock, LockHeld
from tare.plan.errors import StudyError
from tare.plan.table import blocks, to_text


def quiet(sentence: str) -> None:
    raise AssertionError(sentence)


def test_plan_and_study_are_read_back_as_they_were_looked_at(project):
    campaign = project.begin()
    study, plan = freeze.read(project.study_dir)
    assert study == campaign.study
    assert to_text(plan) == to_text(campaign.plan)
    assert blocks(plan) == [s.block for s in campaign.states]


def test_jobs_are_asked_for_what_the_plan_says_whatever_cpus_they_have(project):
    """The hash that a job writes into its record must be the plan's, or its block would be stale for ever."""
    from tare.plan.matrix import cells
    from tare.plan.specification import digest, specification

    project.machine.cpus = 4
    project.begin()
    project.machine.cpus = 1
    study, plan = freeze.read(project.study_dir)
    block = blocks(plan)[0]
    assert tuple(
        digest(specification(study, cells(study)[0], study.environment(name), block.repetition))
        for name in block.environments
    ) == block.spec_hashes  # fmt: skip


def test_a_second_run_writes_nothing(project):
    project.begin()
    files = [project.study_dir / name for name in ("plan.csv", "study.json")]
    before = [path.stat().st_mtime_ns for path in files]
    project.begin()
    assert [path.stat().st_mtime_ns for path in files] == before


def test_what_the_plan_does_not_tell_of_the_study_is_in_its_own_file(project):
    project.begin()
    before = (project.study_dir / "plan.csv").stat().st_mtime_ns
    project.write(margin_pct=5, title="Another")
    project.begin()
    assert freeze.read(project.study_dir)[0].margin_pct == 5
    assert (project.study_dir / "plan.csv").stat().st_mtime_ns == before


def test_a_run_beside_another_stops_when_told_to(project):
    campaign = project.look(lock="stop")
    with Lock(project.study_dir / ".lock", "The study", "a test") as other:
        other.acquire(wait=False, say=quiet)
        with pytest.raises(LockHeld, match="is in use by process"):
            freeze.begin(campaign, quiet)
    assert not (project.study_dir / "plan.csv").exists()


def test_a_plan_that_was_made_meanwhile_is_not_overwritten(project):
    campaign = project.look()
    project.write(repetitions=2)
    project.begin()
    before = (project.study_dir / "plan.csv").read_bytes()
    with pytest.raises(
        StudyError, match=r"^Another run changed the plan of study 'small' while this one waited; start"
    ):
        freeze.begin(campaign, quiet)
    assert (project.study_dir / "plan.csv").read_bytes() == before
    # and holds nobody up
    freeze.begin(project.look(), quiet).release()


def test_the_lock_lasts_until_it_is_given_back(project):
    lock = freeze.begin(project.look(), quiet)
    with pytest.raises(LockHeld):
        freeze.begin(project.look(lock="stop"), quiet)
    lock.release()
    freeze.begin(project.look(lock="stop"), quiet).release()


def test_results_that_cannot_be_written_say_so(project):
    (project.root / "results").mkdir()
    (project.root / "results" / "small").write_text("a file")
    with pytest.raises(
        StudyError, match=r"results.*: (Not a directory|File exists); results can't be written\.$"
    ):
        freeze.begin(project.look(), quiet)


def test_a_study_that_was_never_begun_says_so(tmp_path):
    with pytest.raises(StudyError, match=r"^.* holds no study; `snakemake` begins one\.$"):
        freeze.read(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"name": "small", "novelty": 1}', "\x00"])
def test_a_damaged_study_says_what_to_do_and_the_next_run_does_it(project, text):
    project.begin()
    (project.study_dir / "study.json").write_text(text)
    with pytest.raises(
        StudyError, match=r"study\.json.*; run the study again, which writes (it|this file) anew\.$"
    ):
        freeze.read(project.study_dir)
    project.begin()
    assert freeze.read(project.study_dir)[0].name == "small"
