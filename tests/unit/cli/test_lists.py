"""`tare overhead`: files of numbers."""

from __future__ import annotations

import json

import pytest

from tare.cli import main, numbers
from tare.stats.lists import overhead_of_values

BARE, DOCKER = [6400.0, 6380.0, 6450.0], [6210.0, 6190.0, 6250.0]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def command(baseline, platform, *options, metric="throughput"):
        for name, content in (("a.csv", baseline), ("b.csv", platform)):
            if isinstance(content, bytes):
                (tmp_path / name).write_bytes(content)
            elif content is not None:
                text = content if isinstance(content, str) else "".join(f"{value}\n" for value in content)
                (tmp_path / name).write_text(text)
        status = main(
            ["overhead", "--baseline", "a.csv", "--platform", "b.csv", "--metric", metric, *options]
        )
        said = capsys.readouterr()
        return status, said.out, said.err

    return command


def test_plain_lists(run):
    status, out, err = run(BARE, DOCKER)
    assert (status, err) == (0, "")
    assert out.startswith(
        "Overhead of b.csv against a.csv in throughput; positive = slower.\nEstimate: 3.02 % ["
    )
    assert "95 % t interval, 3 and 3 independent values" in out
    assert "By the papers' formula: 3.02 %, from the means 6,410 and 6,217" in out
    assert "Verdict: slower (margin 2 %)" in out
    assert "taken for independent runs" in out


def test_json_has_the_names_of_overhead_csv(run):
    status, out, _ = run(BARE, DOCKER, "--json")
    found = json.loads(out)
    expected = overhead_of_values(BARE, DOCKER, metric="throughput")
    assert status == 0
    assert found["estimate_pct"] == pytest.approx(expected.estimate_pct)
    assert found["ci_low_pct"] == pytest.approx(expected.ci_low_pct)
    assert found["verdict"] == "slower"


def test_pairs_whatever_their_order(run):
    base = "# measured on Monday\npair,images/s\nmon,6400\n\ntue,6380\nwed,6450\n"
    own = "block,images/s\nwed,6250\nmon,6210\ntue,6190\nthu,6000\n"
    status, out, _ = run(base, own, "--json")
    found, expected = json.loads(out), overhead_of_values(BARE, DOCKER, metric="throughput", paired=True)
    assert status == 0
    assert found["estimate_pct"] == pytest.approx(expected.estimate_pct)
    assert found["ci_high_pct"] == pytest.approx(expected.ci_high_pct)
    assert (found["paired"], found["platform_runs"]) == (True, 3)
    assert (found["baseline_column"], found["platform_column"]) == ("images/s", "images/s")
    assert found["note"] == "not used, since only b.csv has them: pairs thu"


def test_one_of_several_columns(run):
    table = "run,host,seconds\n1,a,0.010\n2,a,0.011\n"
    other = "run,host,seconds\n1,a,0.012\n2,a,0.013\n"
    status, out, _ = run(table, other, "--column", "seconds", "--pair", "run", metric="time")
    assert status == 0
    assert out.startswith(
        "Overhead of b.csv (column seconds) against a.csv (column seconds) in time; positive"
    )
    assert "2 pairs" in out


@pytest.mark.parametrize(
    ("baseline", "platform", "options", "said"),
    [
        (None, BARE, (), "a.csv can't be read: No such file or directory."),
        ("", BARE, (), "a.csv has no values; write one a line."),
        ("images/s\n", BARE, (), "a.csv has no values below its header"),
        (b"\xff\xfe\x00\x81", BARE, (), "a.csv is no text file"),
        (BARE, "6210\nabout 6190\n6250\n", (), "b.csv, line 2: 'about 6190' is no number."),
        (BARE, "NA\n6190\n", (), "b.csv, line 1: 'NA' is neither a number nor a header."),
        (BARE, "failed\n6190\n", (), "b.csv, line 1: 'failed' is neither a number nor a header."),
        (BARE, "64o0\n6190\n", (), "b.csv, line 1: '64o0' is neither a number nor a header."),
        (BARE, "n\n6210\nabout 6190\n", (), "b.csv, line 3: 'about 6190' is no number."),
        (BARE, "6210\n0\n", (), "b.csv, line 2: 0 is no throughput or time; both are above 0."),
        (BARE, "6210\n-1\n", (), "b.csv, line 2: -1 is no throughput or time"),
        (BARE, "6210\nnan\n", (), "b.csv, line 2: nan is no throughput or time"),
        (BARE, "6210\n1e999\n", (), "b.csv, line 2: 1e999 is no throughput or time"),
        (BARE, "1,6210\n2,6190\n", (), "b.csv has no header; name its columns in the first line."),
        (BARE, "a,b\n1,2\n", (), "b.csv has the columns a, b; say with --column which one holds the values."),
        ("a,b\n1,2\n", "a,b\n1\n", ("--column", "a"), "b.csv, line 2: 1 fields where the first line has 2."),
        ("n\n1\n", "m\n1\n", ("--column", "n"), "b.csv has no column 'n'"),
        ("pair,n\n1,5\n1,6\n", BARE, (), "a.csv, line 3: names the pair '1' a second time"),
        ("pair,n\n,5\n", BARE, (), "a.csv, line 2: names no pair"),
        ("pair,n\n1,5\n", "n\n5\n", (), "a.csv has a column of pairs and b.csv has none"),
        ("pair,n\n1,5\n", "pair,n\n2,5\n", (), "a.csv and b.csv have no pair in common."),
        (BARE, DOCKER, ("--level", "95"), "level is 95.0; choose one above 0.5 and at most 0.9999"),
        (BARE, DOCKER, ("--margin-pct", "-1"), "margin_pct is -1; set it above 0"),
    ],
)
def test_bad_input_is_one_sentence(run, baseline, platform, options, said):
    status, out, err = run(baseline, platform, *options)
    assert (status, out) == (1, "")
    assert err.startswith("tare: ")
    assert said in err
    assert err.count("\n") == 1


def test_a_folder_is_no_file(run, tmp_path):
    (tmp_path / "a.csv").mkdir()
    assert "a.csv can't be read: Is a directory." in run(None, DOCKER)[2]


def test_the_direction_is_never_guessed(run):
    with pytest.raises(SystemExit) as ended:
        run(BARE, DOCKER, metric="speed")
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("columns", "metric", "said"),
    [
        (
            ("step_ms", "step_ms"),
            "throughput",
            "a.csv has its values in the column 'step_ms', which sounds",
        ),
        (("images/s", "images/s"), "time", "'images/s', which sounds like a throughput, not a time"),
        (("seconds", "images_per_sec"), "time", "b.csv has its values in the column 'images_per_sec'"),
        (
            ("time_s", "time_ms"),
            "time",
            "in the column 'time_s' and b.csv in 'time_ms'; if both are the same",
        ),
    ],
)
def test_columns_that_hold_something_else(run, columns, metric, said):
    base, own = (f"{name}\n{1.0}\n{1.1}\n" for name in columns)
    status, out, err = run(base, own, metric=metric)
    assert (status, out) == (1, "")
    assert said in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "columns", [("bare", "docker"), ("throughput", "throughput"), ("Images/s", "images/s")]
)
def test_columns_that_may_well_be_the_same(run, columns):
    base, own = (f"{name}\n100\n101\n" for name in columns)
    assert run(base, own)[0] == 0


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        *((name, "throughput") for name in (
            "images/s", "images per second", "tokens_per_sec_per_gpu", "samples_per_second_mean", "images_per_s_avg",
            "imgs_per_sec_gpu0", "images per second (mean)", "throughput (images/s)", "fps", "steps_s", "it/s", "MB/s",
        )),
        *((name, "time") for name in (
            "time/s", "duration/s", "step_time/s", "latency_ms", "seconds_per_batch", "s_per_image", "ms/step",
            "time (s)", "elapsed", "step_ms", "time_per_step_s", "Wall-Time [s]",
        )),
        *((name, "") for name in ("bare", "value", "t/s", "it_s", "step_s", "img_sec", "time_images_per_s")),
    ],
)  # fmt: skip
def test_what_a_columns_name_says(column, kind):
    assert numbers.kind_of(column) == kind


def test_a_column_that_is_there_twice(run):
    table = "pair,images/s,images/s\n1,100,200\n"
    assert "a.csv has two columns 'images/s'; give each a name of its own." in run(table, table)[2]


def test_pairs_as_programs_write_whole_numbers(run):
    status, out, _ = run("pair,fps\n1,100\n2,101\n10,99\n", "pair,fps\n1.0,97\n2.0,98\n10.0,97\n", "--json")
    found = json.loads(out)
    assert (status, found["platform_runs"], found["note"].startswith("not used")) == (0, 3, False)


def test_json_says_margin_and_independence(run):
    _, out, _ = run(BARE, DOCKER, "--json", "--margin-pct", "1.5")
    found = json.loads(out)
    assert found["margin_pct"] == 1.5
    assert "the two lists are taken for independent runs" in found["note"]


@pytest.mark.parametrize("margin", ["inf", "nan", "0", "100"])
def test_a_margin_that_is_none(run, margin):
    status, _, err = run(BARE, DOCKER, "--margin-pct", margin)
    assert status == 1
    assert "margin" in err and "Traceback" not in err
