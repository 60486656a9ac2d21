"""Lists of numbers in CSV files, as people have them."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path

from tare.plan.errors import StudyError, nearest, shown

# A column of this name holds the pairs.
PAIR_COLUMNS = ("pair", "block")
_BEGINS_NUMBER = frozenset("0123456789+-.")
# How people and programs write that there is no value: as a first line a missing run, and no header.
_NO_VALUE = frozenset(("na", "n/a", "none", "null", "nil", "failed", "error", "timeout", "missing"))

# Programs write whole numbers so where a column has gaps.
_PLAIN_ZEROS = re.compile(r"(?<=\d)\.0+$")
# What column names of logs and tools say they hold.
_SECOND = r"(s|secs?|seconds?)"
_TIME_IN_UNIT = re.compile(
    rf"(^|_)(times?|duration|latency|elapsed|runtime|walltime)_?/_?({_SECOND}|ms|us|ns|min|h)$"
)
_THROUGHPUT = re.compile(
    rf"throughput|(_per_|/_?){_SECOND}(?=[_/]|$)|(^|_)(ips|fps)(?=_|$)"
    rf"|(images|imgs|items|samples|tokens|steps|batches)_{_SECOND}$"
)
_TIME = re.compile(rf"(^|_)(times?|duration|latency|elapsed|{_SECOND}|ms|us|ns)(?=[_/]|$)|runtime|walltime")
# One thing and seconds may be a rate or a time, as in `it_s` and `step_s`; `t/s` may be tokens.
_EITHER = re.compile(rf"^((it|img|image|item|sample|token|step|batch)_|t/_?){_SECOND}$")


def kind_of(column: str | None) -> str:
    """`throughput` or `time`, where a column's name says so; empty where it says neither, or both."""
    name = re.sub(r"[\s\-.()\[\]]+", "_", (column or "").casefold()).strip("_")
    if _EITHER.search(name):
        return ""
    if _TIME_IN_UNIT.search(name):
        return "time"
    rest, rates = _THROUGHPUT.subn("", name)
    times = _TIME.search(rest)
    return "" if rates and times else "throughput" if rates else "time" if times else ""


@dataclass(frozen=True)
class Numbers:
    """Values in the order of the file.

    Attributes:
        column: the values' column by the header; None where the file has no header.
        pairs: the names of the values' pairs; None where there is no such column.
    """

    path: Path
    column: str | None
    values: list[float]
    pairs: list[str] | None


def read(path: Path, column: str | None = None, pair: str | None = None) -> Numbers:
    """Read one column of values and, where there is one, the column of pairs.

    Empty lines and lines that begin with # are left out. The first line is a header if a field in it is no number.

    Args:
        column: name of the values' column; left out, the only one beside the pairs.
        pair: name of the pairs' column; left out, one called `pair` or `block`, if there is one.

    Raises:
        StudyError: the file can't be read, or isn't such a list; the sentence names file and line.
    """
    rows = _rows(path)
    if not rows:
        raise StudyError(f"{path} has no values; write one a line.")
    first = rows[0][1]
    header = [name.strip() for name in first] if not all(_is_number(field) for field in first) else None
    if header is not None and any(
        not name or name[0] in _BEGINS_NUMBER or name.lower() in _NO_VALUE for name in header
    ):
        # a value with a slip in it must not be dropped as a header
        raise StudyError(
            f"{path}, line {rows[0][0]}: {shown(','.join(header))} is neither a number nor a header."
        )
    if header is not None and len(rows) == 1:
        raise StudyError(f"{path} has no values below its header {shown(','.join(header))}.")
    place, pair_place = _places(path, header, len(first), column, pair)
    values, pairs = [], []
    for line, fields in rows if header is None else rows[1:]:
        if len(fields) != len(first):
            raise StudyError(
                f"{path}, line {line}: {len(fields)} fields where the first line has {len(first)}."
            )
        values.append(_value(path, line, fields[place]))
        if pair_place is not None:
            name = fields[pair_place].strip()
            name = _PLAIN_ZEROS.sub("", name)
            if not name or name in pairs:
                what = "names no pair" if not name else f"names the pair {shown(name)} a second time"
                raise StudyError(f"{path}, line {line}: {what}; give each line a pair of its own.")
            pairs.append(name)
    return Numbers(path, header[place] if header else None, values, pairs if pair_place is not None else None)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise StudyError(f"{path} is no text file; give a CSV file with one value a line.") from error
    except OSError as error:
        raise StudyError(f"{path} can't be read: {error.strerror or error}.") from error
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                rows.append((number, next(csv.reader([line], strict=True, skipinitialspace=True))))
            except csv.Error as error:
                raise StudyError(f"{path}, line {number}: it is no CSV ({error}).") from error
    return rows


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _places(
    path: Path, header: list[str] | None, width: int, column: str | None, pair: str | None
) -> tuple[int, int | None]:
    """Where the values are, and where the pairs."""
    if header is None:
        if column or pair or width > 1:
            raise StudyError(f"{path} has no header; name its columns in the first line.")
        return 0, None
    for name in (column, pair):
        if name is not None and name not in header:
            raise StudyError(f"{path} has no column {shown(name)}{nearest(name, header)}")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise StudyError(f"{path} has two columns {shown(twice)}; give each a name of its own.")
    pair = pair or next((name for name in PAIR_COLUMNS if name in header and name != column), None)
    others = [name for name in header if name != pair]
    if column is None and len(others) != 1:
        raise StudyError(
            f"{path} has the columns {', '.join(header)}; say with --column which one holds the values."
        )
    return header.index(column or others[0]), None if pair is None else header.index(pair)


def _value(path: Path, line: int, field: str) -> float:
    if not _is_number(field):
        raise StudyError(f"{path}, line {line}: {shown(field)} is no number.")
    value = float(field)
    if not (math.isfinite(value) and value > 0):
        raise StudyError(f"{path}, line {line}: {field.strip()} is no throughput or time; both are above 0.")
    return value
