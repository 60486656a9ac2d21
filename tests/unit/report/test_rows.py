"""Lines, gaps and notes."""

from __future__ import annotations

from tare.report import rows
from tests.unit.report import cases


def test_a_line_is_text_with_few_digits():
    line = next(line for line in rows.lines(cases.full().overhead) if line.environment == "docker")
    assert line.verdict == "slower"
    assert (line.interval, line.level) == ("[0.95, 4.02]", "99.29")
    assert line.estimate == "2.50"
    assert line.baseline_value.startswith("6,")


def test_what_differs_is_in_the_note():
    found = [line for line in rows.lines(cases.mixed().overhead) if line.verdict == "not comparable"]
    assert [line.cell for line in found] == ["lenet-tensorflow"]
    assert "2.12.0 in bubblewrap" in found[0].note
    assert found[0].estimate == ""


def test_what_differs_by_nature_is_no_note_but_a_mark_and_a_sentence_for_each_environment():
    found = rows.lines(cases.differing().overhead)
    marked = {(line.environment, line.cell) for line in found if line.mark}
    assert marked == {("docker", cell) for cell in cases.CELLS} | {("podman", cases.CELLS[0])}
    assert all(line.estimate and not line.note for line in found if not line.is_baseline)
    assert rows.differing(found) == [
        "docker differs from bare in /dev/shm, seccomp and network.",
        "podman differs from bare in /dev/shm.",
    ]
    assert rows.differing(rows.lines(cases.mixed().overhead)) == []


def test_gaps_say_each_reason_once():
    found = [gap.text for gap in rows.gaps(rows.lines(cases.mixed().overhead))]
    assert found == [
        "podman not measured in any cell: podman is not installed. Install it with `apt-get install podman`",
        "vgg16-torch not measured: no V100 here",
    ]
    everything = [gap.text for gap in rows.gaps(rows.lines(cases.nowhere().overhead))]
    assert everything == [
        "fcn-r-torch, lenet-tensorflow and lenet-torch not measured: no V100 here. Use a machine with one"
    ]
    assert rows.gaps(rows.lines(cases.full().overhead)) == []


def test_notes_name_a_few_of_the_lines_they_belong_to():
    assert rows.notes(rows.lines(cases.nothing().overhead)) == [
        "fcn-r-torch, bare; lenet-tensorflow, bare; lenet-torch, bare: 0 of 6 runs measured",
        "fcn-r-torch, bubblewrap; fcn-r-torch, docker; 7 more: 0 of 6 blocks measured",
    ]


def test_baselines():
    assert rows.against(cases.full().overhead) == "bare"
    assert rows.against(cases.ladder().overhead) == "each one's baseline"
    assert rows.against(cases.only_bare().overhead) == "bare"
    assert rows.is_again("bare-again", "bare")
    assert not rows.is_again("docker", "bare")
