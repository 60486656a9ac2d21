"""Whatever is wrong with a study's file, its writer gets one sentence: where, what, and what to do."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tare.plan.axes import Matrix
from tare.plan.environment import Environment
from tare.plan.errors import StudyError, nearest, shown
from tare.plan.study import Rounds, Study, load
from tests.unit.studies import content, matrix


def said(path, text: str | bytes) -> str:
    """What the loader says of a file with this text; checks what holds for every such sentence."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StudyError) as caught:
        load(path)
    sentence = str(caught.value)
    assert sentence.count(str(path)) == 1
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    assert len(sentence) < len(str(path)) + 400
    return sentence.replace(str(path), "FILE")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mine.yaml"


def environments(*entries):
    return {"environments": list(entries)}


# what is changed in a right study -> what is said
CHANGED = {
    "unknown key": (
        {"repetition": 6},
        "FILE: unknown key 'repetition'; did you mean 'repetitions'?",
    ),
    "unknown key, unlike any": (
        {"zzz": 6},
        "FILE: unknown key 'zzz'; there is adjust, environments, interval, margin_pct, matrix, max_repetitions, "
        "metric, name, precision_pct, quiet, repetitions, rounds, "
        "schedule, seed, steps_per_turn, threads, time_budget_per_environment_s, "
        "time_budget_s, timeout_s, "
        "title, warmup_steps.",
    ),
    "no precision beside its end": (
        {"max_repetitions": 12},
        "FILE: the study: max_repetitions says how far a cell may go on until it is precise enough; "
        "add `precision_pct`, or take it out.",
    ),
    "an end before the beginning": (
        {"precision_pct": 1.0, "max_repetitions": 5},
        "FILE: the study: max_repetitions 5 is below repetitions 6; lower the one or raise the other.",
    ),
    "a precision that nothing has": (
        {"precision_pct": 0},
        "FILE: precision_pct: must be at least 0.01, not 0.",
    ),
    "unknown key of the matrix": (
        {"matrix": matrix(batchsize=[32])},
        "FILE: unknown key 'matrix.batchsize'; did you mean 'batch_size'?",
    ),
    "unknown key of an environment": (
        environments("bare", {"name": "docker", "optinal": True}),
        "FILE: unknown key 'environments[2].optinal'; did you mean 'optional'?",
    ),
    "an environment under another platform's name": (
        environments("bare", {"name": "docker", "engine": "podman"}),
        "FILE: environments[2]: an environment with engine 'podman' can't be named 'docker', as another platform is: "
        "its rows would be taken for that one's; give it another name.",
    ),
    "an environment under the name of a platform that is no engine": (
        environments("bare", {"name": "kubernetes", "engine": "bare"}),
        "FILE: environments[2]: an environment with engine 'bare' can't be named 'kubernetes', as another platform "
        "is: its rows would be taken for that one's; give it another name.",
    ),
    "unknown quiet setting": (
        {"quiet": {"hugepages": False}},
        "FILE: unknown key 'quiet.hugepages'; did you mean 'huge_pages'?",
    ),
    "a quiet setting of the wrong kind": (
        {"quiet": {"gc_off": 1}},
        "FILE: quiet.gc_off: must be true or false, not 1.",
    ),
    "quiet of the wrong kind": (
        {"quiet": 1},
        "FILE: quiet: must be on, off, or switches such as `huge_pages: false`, not 1.",
    ),
    "misspelt settings": (
        {"matrix": matrix(settings=["quite"])},
        "FILE: matrix.settings: there is no value of settings 'quite'; did you mean 'quiet'?",
    ),
    "quiet off and quiet cells": (
        {"quiet": False, "matrix": matrix(settings=["quiet", "default"])},
        "FILE: the study: quiet is off, but matrix.settings asks for quiet cells; take one of the two out.",
    ),
    "quiet switches without quiet cells": (
        {"quiet": {"gc_off": False}, "matrix": matrix(settings=["default"])},
        "FILE: the study: quiet names switches, but matrix.settings asks for no quiet cell; take one of the two out.",
    ),
    "the key of older versions, quiet": (
        {"settings": "quiet"},
        "FILE: the study: the key 'settings' is no longer at the top; write `quiet: on` instead, or leave it out.",
    ),
    "the key of older versions, default": (
        {"settings": "default"},
        "FILE: the study: the key 'settings' is no longer at the top; write `quiet: off` instead.",
    ),
    "the axis at the wrong place": (
        {"settings": ["quiet", "default"]},
        "FILE: the study: the key 'settings' is no longer at the top; "
        "write `settings: [quiet, default]` in `matrix` instead.",
    ),
    "unknown key of the rounds": (
        {"rounds": {"minimum": 3}},
        "FILE: unknown key 'rounds.minimum'; did you mean 'min'?",
    ),
    "no matrix": (
        {"matrix": None},
        "FILE: the key 'matrix' is missing; add it (The axes whose every combination is a cell).",
    ),
    "misspelt key that is missed, too": (
        {"matrix": None, "matrx": matrix()},
        "FILE: unknown key 'matrx'; did you mean 'matrix'?",
    ),
    "no framework": (
        {"matrix": {"model": ["lenet"]}},
        "FILE: the key 'matrix.framework' is missing; add it (Frameworks by name).",
    ),
    "environment without a name": (
        environments({"engine": "bare"}),
        "FILE: the key 'environments[1].name' is missing; add it "
        "(Name in tables and files; a bare string is name and engine).",
    ),
    "unknown network": (
        {"matrix": matrix(model=["lenet", "lennet"])},
        "FILE: matrix.model: there is no network 'lennet'; did you mean 'lenet'?",
    ),
    "unknown framework": (
        {"matrix": matrix(framework="PyTorch")},
        "FILE: matrix.framework: there is no framework 'PyTorch'; did you mean 'torch'?",
    ),
    "unknown data": (
        {"matrix": matrix(data=["mnist"])},
        "FILE: matrix.data: there is no data set 'mnist'; there is digits.",
    ),
    "unknown engine": (
        environments("bare", "dokcer"),
        "FILE: environments[2].engine: there is no engine 'dokcer'; did you mean 'docker'?",
    ),
    "name that is no engine": (
        environments("bare", {"name": "hardened"}),
        "FILE: environments[2].engine: there is no engine 'hardened'; "
        "there is apptainer, bare, bubblewrap, docker, podman.",
    ),
    "no environment": (
        environments(),
        "FILE: environments: must not be empty; give at least one value.",
    ),
    "empty axis": (
        {"matrix": matrix(model=[])},
        "FILE: matrix.model: must not be empty; give at least one value.",
    ),
    "empty batch sizes": (
        {"matrix": matrix(batch_size=[])},
        "FILE: matrix.batch_size: must not be empty; give at least one value.",
    ),
    "list for a mapping": (
        {"matrix": [{"model": "lenet"}]},
        "FILE: matrix: must hold keys and values, such as `key: value`, not a list.",
    ),
    "mapping for a list": (
        {"environments": {"bare": {}}},
        "FILE: environments: must be a list, such as [a, b], not keys and values.",
    ),
    "number for an environment": (
        environments("bare", 5),
        "FILE: environments[2]: must hold keys and values, such as `key: value`, not 5.",
    ),
    "nothing for an environment": (
        environments("bare", None),
        "FILE: environments[2]: must hold keys and values, such as `key: value`, not nothing.",
    ),
    "list for text": ({"title": ["a"]}, "FILE: title: must be text, not a list."),
    "number for text": ({"title": 2024}, "FILE: title: must be text, not 2024; put it in quotes."),
    "date for text": (
        {"title": yaml.safe_load("2024-05-01")},
        "FILE: title: must be text, not the date 2024-05-01; put it in quotes.",
    ),
    "truth for a number": ({"threads": True}, "FILE: threads: must be a whole number, not true."),
    "truth for a batch size": (
        {"matrix": matrix(batch_size=True)},
        "FILE: matrix.batch_size[1]: must be a whole number, not true.",
    ),
    "text for a number": ({"repetitions": "6"}, "FILE: repetitions: must be a whole number, not '6'."),
    "fraction for a count": ({"repetitions": 6.5}, "FILE: repetitions: must be a whole number, not 6.5."),
    "number for truth": (
        environments("bare", {"name": "docker", "optional": 1}),
        "FILE: environments[2].optional: must be true or false, not 1.",
    ),
    "text for seconds": ({"timeout_s": "5 min"}, "FILE: timeout_s: must be a number, not '5 min'."),
    "endless seconds": (
        {"time_budget_s": float("inf")},
        "FILE: time_budget_s: must be a finite number, not inf.",
    ),
    "no number": ({"margin_pct": float("nan")}, "FILE: margin_pct: must be a finite number, not nan."),
    "no seconds": ({"time_budget_s": 0}, "FILE: time_budget_s: must be above 0, not 0."),
    "too many seconds": ({"timeout_s": 1e300}, "FILE: timeout_s: must be at most 100000000, not 1e+300."),
    "no repetition": ({"repetitions": 0}, "FILE: repetitions: must be at least 1, not 0."),
    "too many repetitions": (
        {"repetitions": 10**9},
        "FILE: repetitions: must be at most 10000, not 1000000000.",
    ),
    "huge number": (
        {"seed": 10**400},
        "FILE: seed: must be below 2147483648, not a number of more than 60 digits.",
    ),
    "negative batch size": (
        {"matrix": matrix(batch_size=[64, -1])},
        "FILE: matrix.batch_size[2]: must be at least 1, not -1.",
    ),
    "too few blocks for a bootstrap": (
        {"interval": "bca", "repetitions": 19},
        "FILE: the study: `interval: bca` needs at least 20 repetitions and there are 19; "
        "ask for more, or write `interval: t`.",
    ),
    "a bootstrap until precise": (
        {"interval": "bca", "repetitions": 20, "precision_pct": 1.0},
        "FILE: the study: `interval: bca` can't make up for stopping by the width, as `precision_pct` does; "
        "take one of the two out.",
    ),
    "a bootstrap at the levels of a whole table": (
        {"interval": "bca", "repetitions": 20},
        "FILE: the study: `interval: bca` is too narrow at the high levels that `adjust: holm` asks for; "
        "write `adjust: none`, or `interval: t`.",
    ),
    "a precision that nothing reaches": (
        {"precision_pct": 1e-9},
        "FILE: precision_pct: must be at least 0.01, not 1e-09.",
    ),
    "too few blocks for a precision": (
        {"precision_pct": 1.0, "repetitions": 2, "max_repetitions": 4},
        "FILE: the study: max_repetitions is 4, and no interval of fewer than 5 blocks is judged; "
        "raise it, or take `precision_pct` out.",
    ),
    "margin too wide": ({"margin_pct": 100}, "FILE: margin_pct: must be below 100, not 100."),
    "too many runs": (
        {"matrix": matrix(batch_size=list(range(1, 101))), "repetitions": 10000},
        "FILE: the study: 100 cells x 2 environments x 10000 repetitions are 2000000 runs, more "
        "than 1000000; "
        "make several studies of it.",
    ),
    "unknown schedule": (
        {"schedule": "parallel"},
        "FILE: schedule: must be 'lockstep' or 'sequential', not 'parallel'.",
    ),
    "rounds the wrong way round": (
        {"rounds": {"min": 90}},
        "FILE: rounds: min 90 is above max 80; lower the one or raise the other.",
    ),
    "value twice": (
        {"matrix": matrix(batch_size=[32, 64, 32])},
        "FILE: matrix: batch_size names 32 twice; name it once.",
    ),
    "environment twice": (
        environments("bare", "docker", "docker"),
        "FILE: environments: 'docker' is named twice; give one of them another name and its engine.",
    ),
    "no baseline": (
        environments("docker"),
        "FILE: environments: 'docker' is compared with 'bare', which is not an environment of the study; "
        "add it, or name another `baseline:`.",
    ),
    "unknown baseline": (
        environments("bare", {"name": "docker", "baseline": "chroot"}),
        "FILE: environments: 'docker' is compared with 'chroot', which is not an environment of the study; "
        "add it, or name another `baseline:`.",
    ),
    "baseline of the baseline": (
        environments({"name": "podman", "baseline": "docker"}, "docker"),
        "FILE: environments: 'docker' is compared with 'bare', which is not an environment of the study; "
        "add it, or name another `baseline:`.",
    ),
    "baselines in a circle": (
        environments(
            "bare", {"name": "docker", "baseline": "podman"}, {"name": "podman", "baseline": "docker"}
        ),
        "FILE: environments: the baselines go in a circle: docker -> podman -> docker; "
        "one environment must be its own baseline.",
    ),
    "fallback as a baseline": (
        environments(
            "bare",
            {"name": "again", "engine": "bare", "fallback": True},
            {"name": "docker", "baseline": "again"},
        ),
        "FILE: environments: 'docker' is compared with 'again', a fallback, which is not always there; "
        "name another `baseline:`.",
    ),
    "fallback without a baseline": (
        environments({"name": "bare", "fallback": True}),
        "FILE: environments: 'bare' is a fallback and its own baseline; "
        "name the `baseline:` that it is compared with.",
    ),
    "name of a folder elsewhere": (
        environments("bare", {"name": "../docker", "engine": "docker"}),
        "FILE: environments[2].name: '../docker' can't be a name; write a `name:` of lower-case "
        "letters, digits, "
        "`_`, `.`, `-`, the first a letter or digit.",
    ),
    "name too long": (
        environments("bare", {"name": "d" * 65, "engine": "docker"}),
        "FILE: environments[2].name: must have at most 64 characters, not 65.",
    ),
    "name of the block's log": (
        environments("bare", {"name": "block", "engine": "docker"}),
        "FILE: environments[2].name: 'block' is the name of a block's own log; give the "
        "environment another name.",
    ),
    "name of the study": (
        {"name": "My Study"},
        "FILE: name: 'My Study' can't be a name; write a `name:` of lower-case letters, digits, "
        "`_`, `.`, `-`, "
        "the first a letter or digit.",
    ),
    "CPU as a GPU": (
        {"matrix": matrix(gpu="cpu")},
        "FILE: matrix.gpu: 'cpu' is no GPU; write `none` for the CPU.",
    ),
    "None as a GPU": (
        {"matrix": matrix(gpu=["V100", "None"])},
        "FILE: matrix.gpu: 'None' is no GPU; write `none` for the CPU.",
    ),
    "no name of a GPU": (
        {"matrix": matrix(gpu="")},
        "FILE: matrix.gpu: '' is no part of a GPU's name; write `none`, or a name such as `V100`.",
    ),
    "pattern as a GPU": (
        {"matrix": matrix(gpu="V*\n")},
        "FILE: matrix.gpu: 'V*\\n' is no part of a GPU's name; write `none`, or a name such as `V100`.",
    ),
    "long nonsense": (
        {"matrix": matrix(model="x" * 10000)},
        f"FILE: matrix.model: there is no network '{'x' * 56}...; there is fcn-r, lenet.",
    ),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_wrong_key_or_value_gets_one_sentence(what, path):
    changes, sentence = CHANGED[what]
    assert said(path, yaml.safe_dump(content(**changes))) == sentence


GOOD = yaml.safe_dump(content())
# text of the file -> what is said
TEXTS = {
    "nothing": ("", "The study FILE holds nothing; it must hold keys and values, such as `repetitions: 6`."),
    "a list": (
        "- a\n",
        "The study FILE holds a list; it must hold keys and values, such as `repetitions: 6`.",
    ),
    "a word": (
        "a",
        "The study FILE holds a single value; it must hold keys and values, such as `repetitions: 6`.",
    ),
    "no YAML": (
        GOOD + "title: [a\n",
        "The study FILE is no valid YAML in line 11, column 1: expected ',' or ']', but got '<stream end>'; "
        "correct it there.",
    ),
    "tab": (
        "matrix:\n\tmodel: lenet\n",
        "The study FILE is no valid YAML in line 2, column 1: found character '\\t' that cannot "
        "start any token; "
        "correct it there.",
    ),
    "a key twice": (
        GOOD + "repetitions: 6\nseed: 2\nrepetitions: 7\n",
        "The study FILE is no valid YAML in line 12, column 1: the key 'repetitions' is there "
        "twice; correct it there.",
    ),
    "an inner key twice": (
        "environments:\n  - {name: bare, optional: true, optional: false}\n",
        "The study FILE is no valid YAML in line 2, column 34: the key 'optional' is there "
        "twice; correct it there.",
    ),
    "a program": (
        GOOD + "title: !!python/object/apply:os.system [true]\n",
        "The study FILE is no valid YAML in line 10, column 8: could not determine a constructor for the tag "
        "'tag:yaml.org,2002:python/object/apply:os.system'; correct it there.",
    ),
    "no UTF-8": (
        GOOD.encode() + b"title: caf\xe9\n",
        f"The study FILE is not UTF-8 text (byte {len(GOOD) + 11} is 0xe9); save it as UTF-8.",
    ),
    "control character": (
        "title: a\x07b\n",
        "The study FILE is no valid YAML: character 9 is U+0007, which YAML does not allow; remove it.",
    ),
    "impossible date": (
        GOOD + "title: 2024-99-99\n",
        "The study FILE holds a number or a date that there can't be (month must be in 1..12); "
        "put it in quotes if it is text.",
    ),
    "number of 5,000 digits": (
        GOOD + f"seed: {'9' * 5000}\n",
        "The study FILE holds a number or a date that there can't be (Exceeds the limit (4300 "
        "digits) for integer "
        "string conversion); put it in quotes if it is text.",
    ),
    "number of 80 digits": (
        GOOD + f"seed: {'9' * 80}\n",
        "FILE: seed: must be below 2147483648, not a number of more than 60 digits.",
    ),
    "very deep": (
        "[" * 20000,
        "The study FILE is nested too deeply; it needs no more than four levels.",
    ),
    "itself": (GOOD + "title: &a [*a]\n", "FILE: title: must be text, not a list."),
    "nothing for a key": (GOOD + "title:\n", "FILE: title: must be text, not nothing."),
    "number as a key": (GOOD + "5: 6\n", "FILE: the key 5 is not text; put it in quotes, or correct it."),
    "on as a key": (GOOD + "on: 5\n", "FILE: the key true is not text; put it in quotes, or correct it."),
}


@pytest.mark.parametrize("what", TEXTS)
def test_a_file_that_is_no_study_gets_one_sentence(what, path):
    text, sentence = TEXTS[what]
    assert said(path, text) == sentence


def test_the_file_must_be_there(tmp_path):
    with pytest.raises(
        StudyError, match=r"^The study .*none\.yaml can't be read: No such file or directory\.$"
    ):
        load(tmp_path / "none.yaml")
    with pytest.raises(StudyError, match=r"can't be read: Is a directory\.$"):
        load(tmp_path)


def test_a_file_name_that_is_no_study_name_asks_for_a_name(tmp_path):
    sentence = said(tmp_path / "My Study.yaml", GOOD)
    assert sentence.startswith(
        "FILE: name: 'My Study' can't be a name; write a `name:` of lower-case letters"
    )


def test_the_nearest_word():
    assert nearest("Lenet", ["fcn-r", "lenet"]) == "; did you mean 'lenet'?"
    assert nearest("v100", ["V100"]) == "; did you mean 'V100'?"
    assert nearest("zzz", ["b", "a"]) == "; there is a, b."
    assert nearest("zzz", []) == "; there is none."
    assert nearest("zzz", [f"name{n:02}" for n in range(40)]).endswith("name29 and 10 more.")


def test_shown_values_are_short_and_on_one_line():
    for value in ("a\nb" * 100, 10**5000, [1] * 1000, {"a": 1}, None, b"\xff" * 200):
        assert len(shown(value)) <= 60
        assert "\n" not in shown(value)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**3), 10**7)
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.dates()
    | st.binary(max_size=4)
    | st.sampled_from(["lenet", "torch", "digits", "bare", "docker", "lockstep", "none", "V100", "quiet"])
)
KEYS = st.sampled_from(
    sorted({key for model in (Study, Matrix, Environment, Rounds) for key in model.model_fields})
) | st.text(max_size=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.integers(), inner, max_size=6),
    max_leaves=12,
)
# a right study in which some values are other ones
NEARLY = st.builds(
    lambda changes, inner, entry: (
        content(
            matrix=matrix(**{k: v for k, v in inner.items() if k.isidentifier()}),
            environments=["bare", entry],
        )
        | changes
    ),
    st.dictionaries(st.sampled_from(sorted(Study.model_fields)), VALUES, max_size=2),
    st.dictionaries(st.sampled_from(sorted(Matrix.model_fields)), VALUES, max_size=2),
    st.dictionaries(st.sampled_from(sorted(Environment.model_fields)), VALUES, min_size=1) | VALUES,
)


def loads_or_says_why(path, text: bytes) -> None:
    path.write_bytes(text)
    sentence = "It loads."
    try:
        load(path)
    except StudyError as error:
        sentence = str(error)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=NEARLY | VALUES)
def test_no_content_raises_anything_else(path, value):
    loads_or_says_why(path, yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "surrogatepass"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.integers(0, len(GOOD)),
    length=st.integers(0, 20),
    text=st.text("{}[]:,-?&*!|>'\"%@`#<=\n\t 0x1.e_~ay", max_size=12) | st.text(max_size=4),
)
def test_no_text_raises_anything_else(path, start, length, text):
    loads_or_says_why(path, (GOOD[:start] + text + GOOD[start + length :]).encode("utf-8", "surrogatepass"))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_else(path, text):
    loads_or_says_why(path, text)
