"""Which shared libraries this process has loaded, each with a hash by which another build is told.

Hashing all bytes would take each worker of TensorFlow two seconds (1.7 GB), of torch 0.6 s; so, 0.33 and 0.12 s.
A file of up to `WHOLE_BYTES` is hashed whole. A larger one is told by its size, its build id (the linker's own hash of
the whole file, where it has one) and `SAMPLES` pieces of `SAMPLE_BYTES`, spread evenly over it from its first byte to
its last. Another build moves its code and data about, so that nearly all pieces differ. What escapes is a file in which
somebody has changed single bytes by hand.
"""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import BinaryIO

WHOLE_BYTES = 4 << 20
SAMPLES, SAMPLE_BYTES = 64, 1 << 14
# 128 bits of the hash: a record of a TensorFlow run names 300 libraries.
_DIGITS = 32
_NOTE_SEGMENT, _BUILD_ID_NOTE = 4, 3
# What the kernel appends to the path of a mapped file that is no longer there, and what stands for its hash.
_DELETED = " (deleted)"
REPLACED = "replaced while it was loaded"


def loaded() -> dict[str, str]:
    """Name -> hash of each file of code in this process's memory; several of one name are joined by +."""
    found: dict[str, set[str]] = {}
    for path in _mapped():
        name = Path(path.removesuffix(_DELETED)).name
        found.setdefault(name, set()).add(_identity(path))
    return {name: "+".join(sorted(found[name])) for name in sorted(found)}


def _identity(path: str) -> str:
    if path.endswith(_DELETED):
        return REPLACED
    try:
        return identity(path)
    except OSError as error:
        return "unreadable: " + str(error.strerror)


def _mapped(maps: str = "/proc/self/maps") -> set[str]:
    """The files whose code is mapped: the program itself, the libraries, the modules."""
    found = set()
    with Path(maps).open(encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            parts = line.rstrip("\n").split(None, 5)
            # memory that has no file has a name here too: /memfd:..., /dev/zero, /SYSV...
            if len(parts) < 6 or "x" not in parts[1] or not parts[5].startswith("/"):
                continue
            if not parts[5].startswith(("/memfd:", "/dev/", "/SYSV")):
                found.add(parts[5])
    return found


def identity(path: str) -> str:
    """A file's hash (see above).

    Raises:
        OSError: it can't be read.
    """
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        told = hashlib.sha256(str(size).encode())
        if size <= WHOLE_BYTES:
            told.update(file.read())
        else:
            told.update(build_id(file))
            for number in range(SAMPLES):
                file.seek((size - SAMPLE_BYTES) * number // (SAMPLES - 1))
                told.update(file.read(SAMPLE_BYTES))
    return told.hexdigest()[:_DIGITS]


def build_id(file: BinaryIO) -> bytes:
    """The build id in the notes of a 64-bit little-endian ELF file; empty where there is none."""
    file.seek(0)
    head = file.read(64)
    if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
        return b""
    (table,) = struct.unpack_from("<Q", head, 32)
    entry_bytes, entries = struct.unpack_from("<HH", head, 54)
    file.seek(table)
    segments = file.read(entry_bytes * entries)
    for start in range(0, len(segments) - 55, max(entry_bytes, 56)):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", segments, start)
        if kind == _NOTE_SEGMENT:
            file.seek(offset)
            found = _build_id_note(file.read(length))
            if found:
                return found
    return b""


def _build_id_note(notes: bytes) -> bytes:
    place = 0
    while place + 12 <= len(notes):
        name_bytes, content_bytes, kind = struct.unpack_from("<III", notes, place)
        name_at = place + 12
        content_at = name_at + (name_bytes + 3 & ~3)
        if kind == _BUILD_ID_NOTE and notes[name_at : name_at + name_bytes] == b"GNU\0":
            return notes[content_at : content_at + content_bytes]
        place = content_at + (content_bytes + 3 & ~3)
    return b""
