"""config/README.md, made from the models that check a study: `python -m tare.cli.configuration > config/README.md`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from tare.campaign.options import DEFAULTS, KEYS
from tare.plan.axes import DATA_SETS, Matrix
from tare.plan.base import Model
from tare.plan.environment import Environment
from tare.plan.quiet import Quiet
from tare.plan.study import Rounds, Study
from tare.platforms import ENGINES
from tare.worker.frameworks import FRAMEWORKS
from tare.worker.networks import NETWORKS

# A study that needs nothing but bubblewrap; the tests read it and the documentation's tests run it.
EXAMPLE = """\
# minimal.yaml
title: LeNet in bubblewrap
matrix:
  model: [lenet]
  framework: [torch]
environments:
  - bare
  - {name: bubblewrap, optional: true}
  # bare under a second name shows how finely this machine can be measured
  - {name: bare-again, engine: bare}
"""

_DATA = {
    "digits": "The 1,797 handwritten digits that scikit-learn ships (UCI), scaled to 28x28 pixels; a fifth is held out."
}

_INTRO = f"""\
# Configuration

<!-- Made by `python -m tare.cli.configuration > config/README.md` from the models; a test compares them. -->

A *study* is a YAML file that says what is measured, where, and how long. The ones that come with Tare are in
`config/studies/`; your own can be anywhere:

```yaml
{EXAMPLE}```

```sh
tare plan minimal.yaml
snakemake --cores all --config study=minimal.yaml
```

Everything that is made goes to `results/<name>/`. A key that does not exist, or a value that can't be, stops Tare
before anything is measured, with a sentence that says where and what to do.

You can edit a study at any time. What a run is asked to do is hashed into its record: the cell, the engine and its
options, `schedule`, `threads`, the quiet settings that are on, `warmup_steps`, `steps_per_turn` and `seed`. Where one
of these changes, the blocks concerned are measured again, and their old records go to `superseded/`. All other changes
cost nothing that is there: more repetitions are added, an environment that is new gets new repetitions together with
its baseline, and budgets, `metric` and `margin_pct` hold from then on.

The first run freezes what can be measured: an environment that could not be used then keeps its rows that say why,
until `--config add=NAME` adds it. One that can't be used later, or a GPU that is away, only holds up what is missing.

A cell's name is its model and framework, then each axis that varies or leaves its default: `lenet-torch`,
`lenet-torch-b32`, `lenet-torch-v100-g2-l4` (2 GPUs per learner, 4 learners), `lenet-torch-default` (none of the quiet
settings; without `-default` they are on). `only` takes such names, with `*` for any
letters, `?` for one, `[ab]` for one of several.
"""


def markdown() -> str:
    """The page."""
    networks = (
        (
            f"`{network.name}`",
            network.title,
            "x".join(map(str, network.input_shape)),
            f"{network.parameters:,}",
            str(network.default_batch_size),
            network.purpose,
            network.source,
        )
        for network in NETWORKS.values()
    )
    parts = [
        _INTRO,
        "## What a call is told: `--config`\n",
        _table(
            ("key", "left out", "meaning"),
            ((f"`{key}`", _code(DEFAULTS.get(key)), text) for key, text in KEYS.items()),
        ),
        "The same keys can stand in `config/config.yaml`, or in a file for `--configfile`.\n",
        "## The study file\n",
        _keys(Study),
        "### `matrix`\n",
        "Where an axis has one value, it may stand without brackets.\n",
        _keys(Matrix),
        "### `environments`\n",
        "A list; an environment that is only a name has that name's engine and all defaults.\n",
        _keys(Environment),
        "### `quiet`\n",
        "`on` is what stands below; `off` is the papers' plain protocol: its cells are those of `settings: default`. "
        "A switch that is not named keeps its default. [docs/measurement.md](../docs/measurement.md#settings) says "
        "what each does and why.\n",
        _keys(Quiet),
        "### `rounds`\n",
        _keys(Rounds),
        "## What there is\n",
        "### Networks\n",
        _table(
            ("`model`", "what it is", "input", "parameters", "batch size", "good for", "source"), networks
        ),
        "### Frameworks\n",
        _list((name, "") for name in FRAMEWORKS),
        "### Engines\n",
        _list((name, _summary(place.partition(":")[0])) for name, place in ENGINES.items()),
        "### Data\n",
        _list((name, _DATA[name]) for name in DATA_SETS),
    ]
    return "\n".join(parts)


def _keys(model: type[Model]) -> str:
    schema = model.model_json_schema()
    rows = []
    for name, entry in schema["properties"].items():
        default = "**needed**" if name in schema.get("required", ()) else _default(entry)
        rows.append((f"`{name}`", _values(name, entry), default, model.model_fields[name].description or ""))
    return _table(("key", "value", "left out", "meaning"), rows)


def _default(entry: dict[str, Any]) -> str:
    default = entry["default"]
    if isinstance(default, dict) and entry.get("words"):
        return f"`{entry['words'][0]}`"
    if isinstance(default, dict):
        return ", ".join(f"`{key}: {_plain(value)}`" for key, value in default.items())
    if isinstance(default, list):
        return f"`[{', '.join(map(str, default))}]`"
    return "" if default in (None, "") else f"`{_plain(default)}`"


def _values(name: str, entry: dict[str, Any]) -> str:
    """What may stand there, in words, from pydantic's JSON schema."""
    options = [option for option in entry.get("anyOf", [entry]) if option.get("type") != "null"]
    (option,) = options
    if "const" in option:
        return f"`{option['const']}`"
    if "enum" in option:
        return " or ".join(f"`{value}`" for value in option["enum"])
    if "$ref" in option:
        return ", ".join([*(f"`{word}`" for word in entry.get("words", ())), f"[keys](#{name})"])
    if option["type"] == "array":
        items = option["items"]
        return f"list of [keys](#{name})" if "$ref" in items else f"list of {_values(name, items)}"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    bounds = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    told = " and ".join(f"{text} {_plain(option[key])}" for key, text in bounds.items() if key in option)
    return words[option["type"]] + (f", {told}" if told else "")


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _summary(module: str) -> str:
    """The first sentence of a module's docstring: what it is, to people."""
    return (import_module(module).__doc__ or "").strip().splitlines()[0]


def _code(value: str | None) -> str:
    return "" if value is None else f"`{value}`"


def _list(entries: Iterable[tuple[str, str]]) -> str:
    return "".join(f"- `{name}`{f': {text}' if text else ''}\n" for name, text in entries)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    print(markdown(), end="")
