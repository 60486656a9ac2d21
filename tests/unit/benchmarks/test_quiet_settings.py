"""What `benchmarks/quiet_settings.py` makes of its sessions."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tare.plan.quiet import SWITCHES, in_force


@pytest.fixture(scope="module")
def module() -> ModuleType:
    path = Path(__file__).parents[3] / "benchmarks" / "quiet_settings.py"
    spec = importlib.util.spec_from_file_location("quiet_settings", path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules["quiet_settings"] = found
    spec.loader.exec_module(found)
    return found


def session(random, sd: float, factor: float = 1.0, level: float = 1.0) -> dict:
    """Three equal workers whose processes differ, one of the default settings, on a machine that changes its speed."""
    machine = level * np.exp(random.normal(0, 0.1, 30).cumsum())
    worker = [
        machine * step * np.exp(random.normal(0, sd) + random.normal(0, 1e-4, 30))
        for step in [0.01 * factor] * 3 + [0.01]
    ]
    return {
        "step_s": [list(w) for w in worker[:-1]],
        "default_step_s": list(worker[-1]),
        "spun_s": [0.002] * 3,
    }


def test_spread_and_ratio_come_out_whatever_the_machine_does(module):
    random = np.random.default_rng(3)
    found = module.result([session(random, 0.01, 1.2, level) for level in np.linspace(1, 3, 200)])
    # a ratio has the variance of two processes
    assert found.sd_pct == pytest.approx(100 * 0.01 * 2**0.5, rel=0.08)
    assert found.sd_interval_pct[0] < 100 * 0.01 * 2**0.5 < found.sd_interval_pct[1]
    assert found.relative == pytest.approx(1.2, rel=0.005)
    assert found.spun_s == 0.002


def test_the_interval_of_the_spread_holds_the_truth_as_often_as_it_says(module):
    random = np.random.default_rng(4)
    truth = 2**0.5
    held = 0
    for _ in range(400):
        low, high = module.result([session(random, 0.01) for _ in range(5)]).sd_interval_pct
        held += low < truth < high
    assert 0.92 < held / 400 < 0.98


def test_one_session_gives_no_interval_of_the_ratio(module):
    found = module.result([session(np.random.default_rng(1), 0.01)])
    assert found.relative_interval is None
    assert found.sd_interval_pct[0] < found.sd_pct < found.sd_interval_pct[1]


@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
def test_every_switch_has_a_candidate(module, framework):
    tried = module.candidates(framework)
    assert set(tried["quiet"].switches) == set(in_force("quiet", framework, {}))
    assert tried["all off"].switches == ()
    for name in in_force("quiet", framework, dict.fromkeys(SWITCHES, True)):
        assert {f"quiet without {name}", f"quiet with {name}"} & set(tried)
    kinds = [str(asdict(candidate)) for candidate in tried.values()]
    assert len(set(kinds)) == len(kinds)


def test_it_goes_on_with_what_is_on_disk_of_the_same_settings(module, tmp_path):
    import json

    tried = module.candidates("torch")
    line = {"name": "quiet", "settings": asdict(tried["quiet"]), "setup": {"rounds": 3}}
    others = [
        line | {"setup": {"rounds": 4}},
        line | {"settings": line["settings"] | {"threads": 1}},
        line | {"name": "an older candidate"},
    ]
    path = tmp_path / "torch.jsonl"
    assert module._read(path, {"rounds": 3}, tried) == []
    path.write_text("".join(json.dumps(one) + "\n" for one in [line, *others]))
    found = module._read(path, {"rounds": 3}, tried)
    assert [one["name"] for one in found] == ["quiet"]
    from random import Random

    few = {name: tried[name] for name in ("quiet", "all off")}
    assert {module._following(few, found, Random(seed)) for seed in range(20)} == {"all off"}
