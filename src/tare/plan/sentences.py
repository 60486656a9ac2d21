"""What pydantic found wrong in a configuration, in one sentence: the key, what is wrong, what to do."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from tare.plan.errors import nearest, shown

Location = tuple[int | str, ...]

# pydantic's type of a fault -> what is to be done; in braces, what pydantic tells with it
_MUST = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list, such as [a, b]",
    "model_type": "must hold keys and values, such as `key: value`",
    "dict_type": "must hold keys and values, such as `key: value`",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
}


def sentence(error: ValidationError, model: type[BaseModel]) -> str:
    """The first fault; an unknown key before others, since a misspelt key is also missed at its right name.

    Args:
        model: what was to be made of the configuration.
    """
    faults = error.errors(include_url=False)
    first = next((f for f in faults if f["type"] in ("extra_forbidden", "invalid_key")), faults[0])
    kind, location = first["type"], first["loc"]
    context = {name: _whole(value) for name, value in first.get("ctx", {}).items()}
    key = _key(location) or "the study"
    if kind == "extra_forbidden":
        beside = _model_of(model, location[:-1]).model_fields
        return f"unknown key {key!r}{nearest(str(location[-1]), beside)}"
    if kind == "invalid_key":
        return f"the key {shown(first['input'])} is not text; put it in quotes, or correct it."
    if kind == "missing":
        field = _model_of(model, location[:-1]).model_fields.get(str(location[-1]))
        meaning = f" ({field.description.rstrip('.')})" if field is not None and field.description else ""
        return f"the key {key!r} is missing; add it{meaning}."
    if kind == "too_short":
        return f"{key}: must not be empty; give at least one value."
    if kind == "string_too_long":
        return f"{key}: must have at most {context['max_length']} characters, not {len(first['input'])}."
    if kind in _MUST:
        quotes = "; put it in quotes" if kind == "string_type" and _is_scalar(first["input"]) else ""
        return f"{key}: {_MUST[kind].format(**context)}, not {shown(first['input'])}{quotes}."
    message = first["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    return f"{key}: {message}" + ("" if message.endswith((".", "?")) else ".")


def _whole(value: Any) -> Any:
    """100.0 as 100: bounds are told as people write them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_scalar(value: Any) -> bool:
    return value is not None and not isinstance(value, list | dict)


def _key(location: Location) -> str:
    key = ""
    for part in location:
        key += f"[{part + 1}]" if isinstance(part, int) else (f".{part}" if key else str(part))
    return key


def _model_of(model: type[BaseModel], location: Location) -> type[BaseModel]:
    """The model that a place in the configuration belongs to: `environments[2]` to Environment."""
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            annotation = model.model_fields[part].annotation
            inner = [annotation, *get_args(annotation)]
            model = next((t for t in inner if isinstance(t, type) and issubclass(t, BaseModel)), model)
    return model
