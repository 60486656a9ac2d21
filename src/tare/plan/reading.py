"""YAML as a study is written in it: YAML 1.1 as PyYAML has it, without three of its traps.

A key that is there twice is an error (PyYAML silently takes the last one), 1e3 is a number (not text), and 010 and 1:30
are text (not 8 and 90), which no key wants.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tare.plan.errors import StudyError


class _Loader(yaml.SafeLoader):
    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is there twice", key.start_mark
                )
            seen.add((key.tag, key.value))
        return node


_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_INT, _FLOAT)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_INT, re.compile(r"^[-+]?(0|[1-9][0-9_]*)$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(
        r"^[-+]?([0-9]+\.[0-9]*([eE][-+]?[0-9]+)?|\.[0-9]+([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.inf)$|^\.nan$"
    ),
    list("-+.0123456789"),
)


def read_yaml(path: Path, what: str) -> dict[str, Any]:
    """The keys and values of a YAML file.

    Args:
        what: what the file is, for messages: `The study`.

    Raises:
        StudyError: the file can't be read, is no YAML, or holds something else than keys and values.
    """
    try:
        text = path.read_bytes().decode("utf-8")
        content = yaml.load(text, _Loader)
    except OSError as error:
        raise StudyError(f"{what} {path} can't be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise StudyError(
            f"{what} {path} is not UTF-8 text (byte {error.start + 1} is 0x{error.object[error.start]:02x}); "
            "save it as UTF-8."
        ) from error
    except RecursionError as error:
        raise StudyError(f"{what} {path} is nested too deeply; it needs no more than four levels.") from error
    except yaml.YAMLError as error:
        raise StudyError(f"{what} {path} is no valid YAML{_fault(error)}.") from error
    except (ValueError, OverflowError, ArithmeticError) as error:
        # what PyYAML's constructors let through: the 99th of May, a number of 5,000 digits
        raise StudyError(
            f"{what} {path} holds a number or a date that there can't be ({_flat(error).partition(':')[0]}); "
            "put it in quotes if it is text."
        ) from error
    if not isinstance(content, dict):
        kind = {list: "a list", type(None): "nothing"}.get(type(content), "a single value")
        raise StudyError(
            f"{what} {path} holds {kind}; it must hold keys and values, such as `repetitions: 6`."
        )
    return content


def _fault(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        return f"{where}: {_flat(error.problem or error.context)}; correct it there"
    if isinstance(error, yaml.reader.ReaderError):
        character = f"character {error.position + 1} is U+{error.character:04X}"
        return f": {character}, which YAML does not allow; remove it"
    return f": {_flat(error)}"


def _flat(words: object) -> str:
    return re.sub(r"\s+", " ", str(words)).strip().rstrip(".")
