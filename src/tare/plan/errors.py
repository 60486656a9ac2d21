"""The one error that a user's input can raise, and the help that goes into its sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class StudyError(ValueError):
    """Something the user wrote is wrong; the message is for them, one sentence with what to do."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the closest known word, else the list of what there is."""
    known = sorted(known)
    close = difflib.get_close_matches(str(word), known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else f"; there is {', '.join(known)}."
