"""The one error that a user's input can raise, and the help that goes into its sentence."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Iterable
from typing import Any

_MOST_LISTED = 30
_MOST_SHOWN = 60


class StudyError(ValueError):
    """Something the user wrote is wrong; the message is for them, one sentence with what to do."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the closest known word, else the list of what there is."""
    by_folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    if not by_folded:
        return "; there is none."
    close = difflib.get_close_matches(str(word).casefold(), by_folded, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {by_folded[close[0]]!r}?"
    names = sorted(by_folded.values())
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"; there is {', '.join(names[:_MOST_LISTED])}{more}."


def shown(value: Any) -> str:
    """A value from a configuration file as its writer knows it, on one line and never long."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "keys and values"
    if isinstance(value, list | tuple | set):
        return "a list"
    if isinstance(value, int) and value.bit_length() > 200:  # Python itself refuses to print the longest
        return "a number of more than 60 digits"
    if isinstance(value, datetime.date | datetime.time):
        return f"the date {value}"
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
