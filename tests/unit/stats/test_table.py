"""overhead.csv on the disk."""

from __future__ import annotations

import pandas as pd
import pytest

from tare.plan.errors import StudyError
from tare.stats import table
from tests.unit.factory import plan, study
from tests.unit.stats.tables import NO_DOCKER, run


def test_the_table_survives_the_disk(tmp_path):
    frame = run(*study(cells=["lenet-torch", "fcn-r-torch"]))
    frame.to_csv(tmp_path / "overhead.csv", index=False)
    pd.testing.assert_frame_equal(table.read(tmp_path / "overhead.csv"), frame)
    empty = run([], plan(unusable={"docker": NO_DOCKER}))
    empty.to_csv(tmp_path / "overhead.csv", index=False)
    pd.testing.assert_frame_equal(table.read(tmp_path / "overhead.csv"), empty)


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("blocks", "six", "has a value in blocks that is no number"),
        ("blocks", "6.5", "has a value in blocks that is no whole number"),
        ("estimate_pct", "2,91", "has a value in estimate_pct that is no number"),
        ("ci_low_pct", "inf", "has a value in ci_low_pct that is not finite"),
        ("verdict", "", "has a row without verdict"),
        ("environment", "bare", "has two rows of cell lenet-torch, environment bare"),
    ],
)
def test_a_damaged_table_is_refused_in_a_sentence(tmp_path, column, value, sentence):
    path = tmp_path / "overhead.csv"
    frame = run(*study(repetitions=2)).astype(str)
    frame.loc[1, column] = value
    frame.replace("<NA>", "").to_csv(path, index=False)
    with pytest.raises(StudyError, match=rf"^{path} {sentence}; move it away, and `.*` makes it anew\.$"):
        table.read(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b'a,"b\n', b"a,b\n1,2,3\n1\n4,5,6,7\n"])
def test_a_file_that_is_no_table_is_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "overhead.csv"
    path.write_bytes(content)
    with pytest.raises(
        StudyError, match=r"overhead.csv can't be read \(.*\); move it away, and .* makes it anew\.$"
    ):
        table.read(path)


def test_a_table_of_an_older_version_is_refused_in_a_sentence(tmp_path):
    frame = run(*study(repetitions=2))
    frame.drop(columns="settings").to_csv(tmp_path / "overhead.csv", index=False)
    with pytest.raises(StudyError, match=r"has no column 'settings', as in older versions; .* makes it anew"):
        table.read(tmp_path / "overhead.csv")
