"""plan.csv: what it holds, and that it comes back from disk as it went there."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.plan import table
from tare.plan.errors import StudyError
from tare.plan.matrix import cells
from tare.plan.table import Refusal, State, blocks, build, first_state, next_state, read, state_of, to_text
from tests.unit.studies import matrix, study

TWO_CELLS = matrix(framework=["torch", "tensorflow"])
NO_DOCKER = Refusal("docker does not answer", "Start it: sudo systemctl start docker.")


def begin(one, refused=None, cell_refusals=None):
    return build(one, first_state(one, refused or {}), cell_refusals or {})


def on_disk(plan, path):
    table.write(path, plan)
    return read(path)


def test_one_row_for_each_cell_environment_and_repetition():
    one = study(matrix=TWO_CELLS, repetitions=3)
    plan = begin(one)
    assert list(plan.columns) == table.COLUMNS
    assert len(plan) == 2 * 2 * 3
    assert not plan.duplicated(["cell", "environment", "repetition"]).any()
    assert set(plan["status"]) == {"measure"}
    assert set(plan["wave"]) == {1}
    row = plan[(plan["cell"] == "lenet-torch") & (plan["environment"] == "docker")].iloc[0]
    expected = {
        "model": "lenet", "framework": "torch", "data": "digits", "batch_size": 64, "device": "cpu", "gpu": "none",
        "learners": 1, "engine": "docker", "baseline": "bare",
    }  # fmt: skip
    assert dict(row[[*expected]]) == expected


def test_repetition_r_of_all_cells_is_done_before_the_next():
    plan = begin(study(matrix=matrix(model=["lenet", "fcn-r"], framework=["torch", "tensorflow"])))
    found = blocks(plan)
    assert [block.order for block in found] == list(range(1, 25))
    assert [block.repetition for block in found] == [r for r in range(1, 7) for _ in range(4)]
    for repetition in range(1, 7):
        assert len({block.cell for block in found if block.repetition == repetition}) == 4
    # in another order each time
    assert len({tuple(b.cell for b in found[i : i + 4]) for i in range(0, 24, 4)}) > 3


def test_a_block_holds_every_environment_once_in_the_order_of_the_slots():
    plan = begin(study(environments=["bare", "docker", "podman"]))
    for block in blocks(plan):
        rows = plan[(plan["cell"] == block.cell) & (plan["repetition"] == block.repetition)].sort_values(
            "slot"
        )
        assert list(rows["slot"]) == [0, 1, 2]
        assert block.environments == tuple(rows["environment"])
        assert block.spec_hashes == tuple(rows["spec_hash"])
        assert set(block.environments) == {"bare", "docker", "podman"}
        assert block.wave == 1


def test_an_environment_that_cannot_be_used_has_rows_with_reason_and_remedy():
    one = study(matrix=TWO_CELLS, environments=["bare", "docker", "podman"], repetitions=3)
    plan = begin(one, {"docker": NO_DOCKER})
    refused = plan[plan["status"] == "unusable"]
    assert set(refused["environment"]) == {"docker"}
    assert len(refused) == 2 * 3
    assert set(refused["reason"]) == {NO_DOCKER.reason}
    assert set(refused["remedy"]) == {NO_DOCKER.remedy}
    assert refused[["wave", "order", "slot"]].isna().all(axis=None)
    assert set(refused["repetition"]) == {1, 2, 3}
    assert {e for block in blocks(plan) for e in block.environments} == {"bare", "podman"}


def test_nothing_can_be_used():
    one = study(environments=[{"name": "docker", "baseline": "docker"}])
    plan = begin(one, {"docker": NO_DOCKER})
    assert blocks(plan) == []
    assert list(plan["repetition"]) == [1, 2, 3, 4, 5, 6]
    assert state_of(plan) == State((), {"docker": NO_DOCKER})


def test_a_cell_that_cannot_be_measured_has_rows_and_no_block():
    one = study(matrix=matrix(gpu=["none", "V100"]), repetitions=2)
    no_gpu = Refusal("no V100 here", "Run the study on a machine with V100.")
    plan = begin(one, cell_refusals={("lenet-torch-v100", e): no_gpu for e in ("bare", "docker")})
    refused = plan[plan["status"] == "unusable"]
    assert set(refused["cell"]) == {"lenet-torch-v100"}
    assert len(refused) == 2 * 2
    assert set(refused["reason"]) == {"no V100 here"}
    assert [block.cell for block in blocks(plan)] == ["lenet-torch-cpu"] * 2
    assert [block.order for block in blocks(plan)] == [1, 2]


def test_slots_stay_balanced_where_a_cell_lacks_an_environment():
    one = study(environments=["bare", "docker", "podman"])
    plan = begin(one, cell_refusals={("lenet-torch", "docker"): NO_DOCKER})
    taken = [block.environments for block in blocks(plan)]
    assert taken.count(("bare", "podman")) == taken.count(("podman", "bare")) == 3


def test_words_of_an_engine_become_one_line():
    assert Refusal(" no\r\nanswer,\t really ", 'say "hi"\n') == Refusal("no answer, really", 'say "hi"')


def test_the_plan_comes_back_from_disk(tmp_path):
    one = study(matrix=matrix(gpu=["none", "V100"]), environments=["bare", "docker", "podman"])
    awkward = Refusal('docker said "no, NA"; null, ü\r\nand\nmore', "N/A")
    plan = begin(one, {"docker": awkward}, {("lenet-torch-v100", "podman"): Refusal("NaN", "")})
    path = tmp_path / "plan.csv"
    again = on_disk(plan, path)
    assert to_text(again) == to_text(plan)
    assert path.read_bytes().decode() == to_text(plan)
    assert state_of(again) == state_of(plan) == first_state(one, {"docker": awkward})
    assert blocks(again) == blocks(plan)
    assert table.settled(again) == table.settled(plan)


def test_building_again_from_disk_changes_nothing(tmp_path):
    one = study(matrix=TWO_CELLS, environments=["bare", "podman", "docker", "bubblewrap"])
    path = tmp_path / "plan.csv"
    state = first_state(one, {"docker": NO_DOCKER})
    refused = {("lenet-torch", "podman"): Refusal("why")}
    table.write(path, build(one, state, refused))
    before = path.stat().st_mtime_ns, path.read_bytes()
    for _ in range(2):
        state = next_state(one, state_of(read(path)), [], {})
        table.write(path, build(one, state, refused))
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before  # not even written


def test_the_same_plan_from_another_order_in_the_file_has_the_same_blocks():
    one = study(matrix=TWO_CELLS, environments=["bare", "docker", "podman"])
    other = study(matrix=matrix(framework=["tensorflow", "torch"]), environments=["podman", "docker", "bare"])
    assert blocks(begin(one)) == blocks(begin(other))


def test_another_seed_is_another_order():
    assert [b.cell for b in blocks(begin(study(matrix=TWO_CELLS, repetitions=20)))] != [
        b.cell for b in blocks(begin(study(matrix=TWO_CELLS, repetitions=20, seed=2)))
    ]


def test_settled_is_what_is_planned_of_cells_that_are_measured():
    one = study(matrix=matrix(gpu=["none", "V100", "A100"]), environments=["bare", "docker"])
    refused = {
        ("lenet-torch-v100", "docker"): Refusal("not built"),
        ("lenet-torch-a100", "bare"): Refusal("no A100 here"),
        ("lenet-torch-a100", "docker"): Refusal("no A100 here"),
    }
    assert table.settled(begin(one, cell_refusals=refused)) == {
        ("lenet-torch-cpu", "bare"): None,
        ("lenet-torch-cpu", "docker"): None,
        ("lenet-torch-v100", "bare"): None,
        ("lenet-torch-v100", "docker"): Refusal("not built"),
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"can't be read \(No columns to parse from file\); delete it to plan the study anew\."),
        ("a,b\n1,2\n", r"has no column 'cell'; delete it to plan the study anew\."),
        ('a,"b\n', r"can't be read \(.*\); delete it to plan the study anew\."),
        ("a,b\n1,2,3\n1\n4,5,6,7\n", r"can't be read \(.*\); delete it to plan the study anew\."),
        (b"\xff\xfe", r"can't be read \(.*\); delete it to plan the study anew\."),
    ],
)
def test_a_file_that_is_no_plan_says_what_to_do(tmp_path, text, sentence):
    path = tmp_path / "plan.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StudyError, match=rf"^{path} {sentence}$") as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_letters_for_numbers_say_what_to_do(tmp_path):
    path = tmp_path / "plan.csv"
    table.write(path, begin(study(repetitions=1)))
    path.write_text(path.read_text().replace(",64,", ",many,"))
    with pytest.raises(StudyError, match=r"can't be read \(.*\); delete it to plan the study anew\.$"):
        read(path)


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("cell", "", "has a row without cell"),
        ("engine", "", "has a row without engine"),
        ("spec_hash", "", "has a row without spec_hash"),
        ("batch_size", "", "has a row without batch_size"),
        ("repetition", "", "has a row without repetition"),
        ("slot", "", "has a row without slot"),
        ("status", "done", "has the status 'done', which is none"),
        ("repetition", "2", "has cell lenet-torch, environment (bare|docker), repetition 2 twice"),
    ],
)
def test_a_row_that_can_not_be(tmp_path, column, value, sentence):
    path = tmp_path / "plan.csv"
    table.write(path, begin(study(repetitions=2)))
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows.loc[0, column] = value
    rows.to_csv(path, index=False)
    with pytest.raises(StudyError, match=rf"^{path} {sentence}; delete it to plan the study anew\.$"):
        read(path)


def test_a_damaged_file_is_written_anew(tmp_path):
    path = tmp_path / "study.json"
    path.write_bytes(b"\xff\xff")
    table.write_if_changed(path, "{}\n")
    assert path.read_text() == "{}\n"


def test_patterns_that_no_cell_fits():
    plan = begin(study(matrix=TWO_CELLS))
    patterns = ["lenet-*", "lenet-torch", "*torch*", "fcn*", "LENET-*", "lenet", "lenet-t[ae]*"]
    assert table.patterns_without_match(patterns, plan) == ["fcn*", "LENET-*", "lenet"]


ENVIRONMENT_NAMES = ["bare", "bubblewrap", "docker", "podman"]


@settings(max_examples=25, deadline=None)
@given(
    names=st.lists(st.sampled_from(ENVIRONMENT_NAMES[1:]), unique=True, max_size=3),
    down=st.sets(st.sampled_from(ENVIRONMENT_NAMES[1:])),
    refused_cells=st.sets(
        st.tuples(st.sampled_from(["lenet-torch", "lenet-tensorflow"]), st.sampled_from(ENVIRONMENT_NAMES))
    ),
    repetitions=st.integers(1, 5),
    seed=st.integers(0, 2**31 - 1),
    words=st.text(max_size=30),
)
def test_any_plan_comes_back_and_is_built_again(
    names, down, refused_cells, repetitions, seed, words, tmp_path_factory
):
    one = study(matrix=TWO_CELLS, environments=["bare", *names], repetitions=repetitions, seed=seed)
    state = first_state(one, {name: Refusal(words, words[::-1]) for name in names if name in down})
    cell_refusals = {key: Refusal(words) for key in refused_cells if key[1] in ["bare", *names]}
    plan = build(one, state, cell_refusals)
    again = on_disk(plan, tmp_path_factory.mktemp("plan") / "plan.csv")
    assert to_text(build(one, next_state(one, state_of(again), [], {}), cell_refusals)) == to_text(plan)
    # nothing is dropped: every combination has its one row
    rows = again.groupby(["cell", "environment", "repetition"]).size()
    assert len(rows) == len(cells(one)) * len(one.environments) * repetitions
    assert set(rows) == {1}


def test_a_plan_of_an_older_version_is_of_quiet_cells(tmp_path):
    one = study()
    plan = build(one, first_state(one, {}), {})
    (tmp_path / "plan.csv").write_text(to_text(plan.drop(columns="settings")))
    assert list(read(tmp_path / "plan.csv")["settings"]) == ["quiet"] * len(plan)
