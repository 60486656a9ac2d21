"""Records on the disk: whole or not at all, never lost, and a file that is none is named."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tare.records import store
from tare.records.store import BadRecord
from tests.unit.factory import record

OLD, NEW = record(step_s=0.01), record(step_s=0.02)


def files(folder):
    """Every file below the folder, hidden ones too."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def superseded(folder):
    return [store.read(path) for path in sorted((folder / "superseded").rglob("*.json"))]


def test_a_record_lies_at_its_place(tmp_path):
    path = store.write(tmp_path, OLD)
    assert path == tmp_path / "runs" / "lenet-torch" / "1" / "bare.json"
    assert store.read(path) == OLD
    assert files(tmp_path) == ["runs/lenet-torch/1/bare.json"]
    assert list(store.scan(tmp_path)) == [path]


def test_one_that_is_replaced_is_kept_aside(tmp_path):
    store.write(tmp_path, OLD)
    store.write(tmp_path, NEW)
    store.write(tmp_path, OLD)
    assert superseded(tmp_path) == [OLD, NEW]
    assert all(name.startswith("superseded/lenet-torch/1/bare.2") for name in files(tmp_path)[1:])


def test_names_with_dots_are_kept_apart(tmp_path):
    for name in ("podman-4.3", "podman-4.9"):
        for _ in range(2):
            store.write(tmp_path, record(environment=name))
    assert len(superseded(tmp_path)) == 2
    assert sum("/podman-4.3.2" in name for name in files(tmp_path)) == 1


def test_all_or_none_of_a_block(tmp_path):
    block = [record(environment=name) for name in ("bare", "docker")]
    assert store.write_all(tmp_path, block) == list(store.scan(tmp_path))
    assert [store.read(path) for path in store.scan(tmp_path)] == block


def test_interrupted_ones_are_outside_what_is_scanned(tmp_path):
    stopped = record(status="interrupted", reason="SIGTERM")
    store.write(tmp_path, OLD)
    for _ in range(2):
        store.write_interrupted(tmp_path, stopped)
    assert [store.read(path) for path in store.scan(tmp_path)] == [OLD]
    kept = sorted((tmp_path / "interrupted" / "lenet-torch" / "1").iterdir())
    assert [store.read(path) for path in kept] == [stopped, stopped]


# -- a full disk ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["fsync", "replace", "copy"])
def test_no_space_keeps_the_old_record_and_leaves_no_half_file(tmp_path, monkeypatch, call):
    store.write(tmp_path, OLD)

    def full(*arguments, **other):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    place = {"fsync": (os, "fsync"), "replace": (Path, "replace"), "copy": (shutil, "copy2")}[call]
    with monkeypatch.context() as patch:
        patch.setattr(*place, full)
        with pytest.raises(OSError, match="No space left on device"):
            store.write(tmp_path, NEW)
    assert files(tmp_path) == ["runs/lenet-torch/1/bare.json"]
    assert store.read(tmp_path / files(tmp_path)[0]) == OLD


def test_no_space_for_the_second_of_a_block_keeps_the_whole_old_block(tmp_path, monkeypatch):
    old = [record(environment=name) for name in ("bare", "docker")]
    store.write_all(tmp_path, old)
    calls = []

    def second_fails(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", second_fails)
    with pytest.raises(OSError, match="No space"):
        store.write_all(tmp_path, [record(environment=r.environment, step_s=0.5) for r in old])
    assert [store.read(path) for path in store.scan(tmp_path)] == old
    assert len(files(tmp_path)) == 2


SCRIPT = """
import sys
from pathlib import Path
from tare.records import store
from tests.unit.factory import record
folder = Path(sys.argv[1])
store.write(folder, record(step_s=0.01))
{fill}
try:
    store.write(folder, record(step_s=0.02, rounds=2000))
except OSError as error:
    print(error.errno)
"""


FILL = """
file = open(folder / "big", "wb", buffering=0)
try:
    while True:
        file.write(b"x" * 4096)
except OSError:
    pass
"""


def written_by_another_process(folder, fill, *before):
    script = SCRIPT.format(fill=fill)
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])}
    return subprocess.run(
        [*before, sys.executable, "-c", script, str(folder)],
        env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_real_limit_on_the_size_of_files(tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
    done = written_by_another_process(tmp_path, limit)
    assert done.stdout == f"{errno.EFBIG}\n", done.stderr
    assert files(tmp_path) == ["runs/lenet-torch/1/bare.json"]
    assert store.read(tmp_path / files(tmp_path)[0]) == OLD


@pytest.mark.skipif(
    subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0,
    reason="a file system of its own needs root",
)
def test_a_disk_that_is_really_full(tmp_path):
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    for folder in (disk, kept):
        folder.mkdir()
    shell = 'disk=$1 kept=$2; shift 2; mount -t tmpfs -o size=256k none "$disk" && "$@" && cp -a "$disk/." "$kept"'
    own_mounts = ["unshare", "--mount", "sh", "-c", shell, "sh", str(disk), str(kept)]
    done = written_by_another_process(disk, FILL, *own_mounts)
    assert done.stdout == f"{errno.ENOSPC}\n", done.stderr
    assert files(kept) == ["big", "runs/lenet-torch/1/bare.json"]
    assert store.read(kept / "runs/lenet-torch/1/bare.json") == OLD


def test_a_folder_that_can_not_be_made(tmp_path):
    (tmp_path / "runs").touch()
    with pytest.raises(OSError, match=r"runs"):
        store.write(tmp_path, OLD)


def test_a_process_that_is_killed_while_it_writes_leaves_the_old_record(tmp_path):
    store.write(tmp_path, OLD)
    kill = "import os, signal; os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)"
    script = SCRIPT.format(fill=kill).replace("store.write(folder, record(step_s=0.01))", "")
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])}
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], env=variables, check=False)
    assert done.returncode == -9
    assert [store.read(path) for path in store.scan(tmp_path)] == [OLD]
    store.write(tmp_path, NEW)
    assert [store.read(path) for path in store.scan(tmp_path)] == [NEW]


# -- files that are none ----------------------------------------------------------------------------------------------


def changed(**values):
    return json.dumps(json.loads(OLD.model_dump_json()) | values).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no JSON"),
        (b'{"schema_version": 1', "is no JSON"),
        (b"\xff\xfe{}", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[]", "the record: "),
        (b"null", "the record: "),
        (changed(schema_version=2), "has schema version 2, this Tare reads up to 1; install a newer Tare"),
        (changed(schema_version="new"), "has the schema version 'new', this Tare reads 1; move it away"),
        (changed(schema_version=0), "has the schema version '0', this Tare reads 1; move it away"),
        (changed(schema_version=True), "has the schema version 'True', this Tare reads 1; move it away"),
        (changed(schema_version=None), "has no schema version, this Tare reads 1; move it away"),
        (changed(threads=0), "threads: "),
        (changed(tuns=[]), "tuns: "),
        (changed(turns=[{"round": 0}]), r"turns\.0\.position: "),
        (changed(status="failed"), "the record: .*does not go with failure"),
        (changed(phases={"warm": float("nan")}), r"phases\.warm: "),
    ],
)
def test_a_file_that_is_no_record_is_named_with_its_first_fault(tmp_path, content, said):
    path = tmp_path / "bare.json"
    path.write_bytes(content)
    with pytest.raises(BadRecord, match=said) as caught:
        store.read(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_a_folder(tmp_path):
    with pytest.raises(BadRecord, match=r"bare\.json can't be read: No such file or directory"):
        store.read(tmp_path / "bare.json")
    with pytest.raises(BadRecord, match="can't be read: Is a directory"):
        store.read(tmp_path)


def test_half_files_of_a_killed_process_are_not_scanned(tmp_path):
    path = store.write(tmp_path, OLD)
    path.with_name(".bare.json.123.tmp").touch()
    assert list(store.scan(tmp_path)) == [path]


def test_the_scan_of_no_study_is_empty(tmp_path):
    assert list(store.scan(tmp_path / "nothing")) == []


@pytest.mark.parametrize("text", ["", "é\n", "x" * 100_000])
def test_writing_atomically(tmp_path, text):
    path = tmp_path / "deep" / "down" / "table.csv"
    store.write_atomically(path, "before")
    store.write_atomically(path, text)
    assert path.read_text(encoding="utf-8") == text
    assert files(tmp_path) == ["deep/down/table.csv"]
