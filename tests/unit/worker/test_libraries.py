"""Which libraries are loaded, and that another build is told from the same one."""

import os
import struct
import sys
from pathlib import Path

import pytest

from tare.worker import libraries
from tare.worker.libraries import REPLACED, SAMPLE_BYTES, SAMPLES, WHOLE_BYTES, build_id, identity, loaded


def test_the_libraries_of_this_process_have_a_hash_each():
    found = loaded()
    assert [name for name in found if name.startswith("libc.so")]
    assert Path(os.path.realpath(sys.executable)).name in found or "libpython" in "".join(found)
    assert {len(text) for name, text in found.items() if "+" not in text and name.endswith(".so.6")} == {32}
    assert list(found) == sorted(found)
    assert loaded() == found


MAPS = """\
7f00-7f01 r--p 00000000 fe:00 11 {}/libone.so.1
7f01-7f02 r-xp 00001000 fe:00 11 {}/libone.so.1
7f02-7f03 r--p 00001000 fe:00 12 {}/only data.npz
7f03-7f04 r-xp 00000000 fe:00 13 {}/with space.so
7f04-7f05 r-xp 00000000 fe:00 14 {}/gone.so (deleted)
7f05-7f06 rwxp 00000000 00:01 15 /memfd:jit (deleted)
7f06-7f07 r-xp 00000000 00:01 16 /dev/zero (deleted)
7f07-7f08 r-xp 00000000 00:00 0  [vdso]
7f08-7f09 r-xp 00000000 00:00 0
7f09-7f0a r-xp 00000000 fe:00 17 {}/never/there.so
"""


@pytest.fixture
def maps(tmp_path, monkeypatch):
    path = tmp_path / "maps"
    path.write_text(MAPS.replace("{}", str(tmp_path)), encoding="utf-8")
    for name in ("libone.so.1", "with space.so", "only data.npz"):
        (tmp_path / name).write_bytes(name.encode())
    found = libraries._mapped(str(path))
    monkeypatch.setattr(libraries, "_mapped", lambda: found)
    return tmp_path


def test_only_files_with_code_count_each_once(maps):
    found = loaded()
    assert set(found) == {"libone.so.1", "with space.so", "gone.so", "there.so"}
    assert found["libone.so.1"] == identity(str(maps / "libone.so.1"))


def test_one_that_was_replaced_or_can_not_be_read_is_never_equal_to_one_that_was(maps):
    found = loaded()
    assert found["gone.so"] == REPLACED
    assert found["there.so"] == "unreadable: No such file or directory"


def test_two_files_of_one_name_are_both_told(maps, monkeypatch):
    (maps / "other").mkdir()
    (maps / "other" / "libone.so.1").write_bytes(b"another")
    both = {str(maps / "libone.so.1"), str(maps / "other" / "libone.so.1")}
    monkeypatch.setattr(libraries, "_mapped", lambda: both)
    assert loaded() == {"libone.so.1": "+".join(sorted(identity(path) for path in both))}


@pytest.mark.parametrize("size", [0, 1, WHOLE_BYTES, WHOLE_BYTES + 1, 3 * WHOLE_BYTES])
def test_the_same_bytes_have_the_same_hash_and_another_size_has_another(tmp_path, size):
    content = bytes(range(256)) * (size // 256) + bytes(size % 256)
    for name, data in {"a": content, "b": content, "c": content + b"\0"}.items():
        (tmp_path / name).write_bytes(data)
    a, b, c = (identity(str(tmp_path / name)) for name in "abc")
    assert a == b != c


def test_every_byte_of_a_small_file_counts_and_each_sample_of_a_large_one(tmp_path):
    path = tmp_path / "file"
    small = bytearray(WHOLE_BYTES)
    path.write_bytes(small)
    before = identity(str(path))
    small[WHOLE_BYTES // 3] = 1
    path.write_bytes(small)
    assert identity(str(path)) != before

    size = 16 * WHOLE_BYTES
    large = bytearray(size)
    path.write_bytes(large)
    seen = {identity(str(path))}
    for number in range(SAMPLES):
        start = (size - SAMPLE_BYTES) * number // (SAMPLES - 1)
        for place in (start, start + SAMPLE_BYTES - 1):
            large[place] = 1
            path.write_bytes(large)
            seen.add(identity(str(path)))
            large[place] = 0
    assert len(seen) == 1 + 2 * SAMPLES, "from the first byte to the last"


def elf(note: bytes, size: int, at: int = 176) -> bytes:
    """A 64-bit ELF file whose second segment holds notes, from the place `at` on."""
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", header, 32, 64)
    struct.pack_into("<HH", header, 54, 56, 2)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    notes = struct.pack("<IIQQQQQQ", 4, 4, at, 0, 0, len(note), len(note), 4)
    return ((bytes(header) + load + notes).ljust(at, b"\0") + note).ljust(size, b"\0")


def note(kind: int, name: bytes, content: bytes) -> bytes:
    padded = [part.ljust(-(-len(part) // 4) * 4, b"\0") for part in (name, content)]
    return struct.pack("<III", len(name), len(content), kind) + b"".join(padded)


def test_the_build_id_is_found_among_other_notes(tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(
        elf(
            note(1, b"GNU\0", b"abi tag") + note(3, b"Go\0\0", b"no") + note(3, b"GNU\0", b"\x01\x02\x03"),
            900,
        )
    )
    with path.open("rb") as file:
        assert build_id(file) == b"\x01\x02\x03"


def test_builds_that_differ_between_the_samples_only_are_told_by_their_build_id(tmp_path):
    ids = []
    for content in (b"\x01" * 20, b"\x02" * 20):
        path = tmp_path / "lib.so"
        path.write_bytes(elf(note(3, b"GNU\0", content), 2 * WHOLE_BYTES, at=3 * SAMPLE_BYTES))
        with path.open("rb") as file:
            assert build_id(file) == content
        ids.append(identity(str(path)))
    assert ids[0] != ids[1]


@pytest.mark.parametrize(
    "content",
    [b"", b"\x7fELF", b"no ELF at all" * 10, elf(b"", 300), elf(note(3, b"GNU\0", b"ab")[:13], 190)],
)
def test_files_without_a_build_id_have_none(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with path.open("rb") as file:
        assert build_id(file) == b""


def test_a_real_library_has_the_build_id_that_its_linker_gave_it():
    (path,) = [path for path in libraries._mapped() if Path(path).name.startswith("libc.so")][:1]
    with Path(path).open("rb") as file:
        assert len(build_id(file)) in (8, 16, 20)
