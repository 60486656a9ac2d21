"""The measuring job's words, and what it does when nobody can hear them."""

from __future__ import annotations

import io

import pytest

from tare.campaign.job import Place, TerminalProgress
from tare.campaign.script import running
from tare.measure.block import Interrupted
from tare.plan.errors import StudyError


class Gone(io.StringIO):
    """A terminal that was closed."""

    def write(self, text):
        raise OSError(5, "Input/output error")

    def isatty(self):
        return True


def test_a_terminal_that_is_gone_is_no_failure_of_the_measurement():
    progress = TerminalProgress("lenet-torch, repetition 1", Place(1, 2, 0.0), out=Gone())
    progress.doing("starting the workers")
    progress.round(1, 40, 0.5)
    progress.say("something")
    progress.ended([])


def test_a_line_a_block_where_there_is_no_terminal():
    out = io.StringIO()
    progress = TerminalProgress("lenet-torch, repetition 1", Place(2, 2, 0.0), out=out)
    progress.doing("starting the workers")
    progress.round(1, 40, 0.5)
    progress.ended([])
    assert out.getvalue() == "block 2 of 2: lenet-torch, repetition 1: 0 rounds in 0 s\n"


def test_an_error_is_one_sentence_and_its_details_are_in_the_log(tmp_path, capsys):
    log = tmp_path / "logs" / "rule.log"
    with pytest.raises(SystemExit) as ended, running(str(log)):
        raise StudyError("The study x can't be read.")
    assert ended.value.code == 1
    assert capsys.readouterr().err == "Tare: The study x can't be read.\n"
    assert "Traceback" in log.read_text()


@pytest.mark.parametrize(
    ("again", "said"),
    [
        (False, "What was measured is on disk; the next run goes on from there."),
        (
            True,
            "Blocks that were to be measured again and were not yet keep their earlier records; ask for them",
        ),
    ],
)
@pytest.mark.parametrize("stop", [Interrupted("Ctrl-C stopped it."), KeyboardInterrupt()])
def test_after_an_interruption_it_says_whether_the_next_run_goes_on(tmp_path, capsys, again, said, stop):
    with pytest.raises(SystemExit) as ended, running(str(tmp_path / "rule.log"), again=again):
        raise stop
    assert ended.value.code == 130
    assert said in capsys.readouterr().err


def test_an_error_with_nowhere_to_say_it_still_ends_with_its_status(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stderr", Gone())
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as ended, running(str(tmp_path / "file" / "rule.log")):
        raise OSError(28, "No space left on device")
    assert ended.value.code == 1


def test_a_full_disk_names_a_place_and_what_to_do(tmp_path, capsys):
    with pytest.raises(SystemExit), running(str(tmp_path / "rule.log")):
        raise OSError(28, "No space left on device")
    said = capsys.readouterr().err
    assert said == (
        f"Tare: A file beside {tmp_path} can't be written or read: No space left on device. "
        "Mend that, then run again.\n"
    )
