"""What is mounted into an empty image, and the image itself."""

import io
import sys
import tarfile
from pathlib import Path

import pytest

import tare
from tare.platforms import hostsoftware
from tare.platforms.base import HostSoftware
from tare.platforms.hostsoftware import EMPTY_FOLDERS, empty_image, find, image_tag

SOURCE = Path(tare.__file__).resolve().parents[1]


def covered(path, paths):
    return any(Path(path).is_relative_to(other) for other in paths)


def test_the_image_is_the_same_bytes_every_time(monkeypatch):
    first = empty_image()
    monkeypatch.setattr("time.time", lambda: 1.0)
    assert empty_image() == first
    # Changing it means a new image on every machine; that is all that this number is for.
    assert image_tag() == "a717b73f42bb"


def test_the_image_holds_empty_folders_only():
    with tarfile.open(fileobj=io.BytesIO(empty_image())) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == list(EMPTY_FOLDERS)
    assert all(member.isdir() and (member.uid, member.gid) == (0, 0) for member in members)
    assert {member.name: oct(member.mode) for member in members}["tmp"] == "0o1777"


def test_userland_interpreter_and_source_are_there():
    paths = find().paths
    for needed in (
        sys.prefix,
        sys.base_prefix,
        Path(sys.executable).resolve(),
        sys.executable,
        SOURCE,
        "/usr",
        "/etc",
    ):
        assert covered(needed, paths), needed
    assert Path("/") not in paths
    assert all(path.exists() for path in paths)


def test_links_such_as_lib_are_mounted_by_their_own_name():
    for name in ("/bin", "/lib", "/sbin", "/lib64"):
        if Path(name).exists():
            assert Path(name) in find().paths, "in the image it is a folder, not a link to usr/lib"


def test_every_mount_point_of_the_system_is_in_the_image():
    # apptainer's sandbox without overlay has no other way to a mount point
    for path in find().system:
        assert path.name in EMPTY_FOLDERS or path.name in ("lib32", "libx32")


def test_no_path_is_inside_another():
    software = HostSoftware(
        system=(Path("/usr"), Path("/etc")),
        python=(
            Path("/usr/src/tare/src"),
            Path("/home/me/v"),
            Path("/home/me"),
            Path("/usr2"),
            Path("/home/me/v"),
        ),
    )
    assert software.paths == (Path("/etc"), Path("/home/me"), Path("/usr"), Path("/usr2"))


@pytest.fixture
def linked(tmp_path, monkeypatch):
    """A virtual environment reached through a link, whose interpreter is one link further."""
    real = tmp_path / "mnt" / "home"
    python = tmp_path / "opt" / "python-3.11.7" / "bin" / "python3.11"
    (real / "v" / "bin").mkdir(parents=True)
    python.parent.mkdir(parents=True)
    python.touch()
    (tmp_path / "opt" / "shims").mkdir()
    (tmp_path / "opt" / "shims" / "python3").symlink_to("../python-3.11.7/bin/python3.11")
    (real / "v" / "bin" / "python").symlink_to(tmp_path / "opt" / "shims" / "python3")
    (tmp_path / "home").symlink_to(real)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "home" / "v"))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "opt" / "python-3.11.7"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "home" / "v" / "bin" / "python"))
    return tmp_path


def test_an_environment_behind_a_link_is_mounted_by_both_names(linked):
    paths = find().paths
    assert linked / "home" / "v" in paths, "the program is called by this name"
    assert linked / "mnt" / "home" / "v" in paths
    assert linked / "home" not in paths, "nothing else of the home folder"


def test_each_link_on_the_way_to_the_interpreter_is_mounted(linked):
    paths = find().paths
    assert linked / "opt" / "shims" in paths
    assert linked / "opt" / "python-3.11.7" in paths


def test_an_interpreter_of_the_system_adds_nothing(monkeypatch):
    for name in ("prefix", "base_prefix"):
        monkeypatch.setattr(sys, name, "/usr")
    monkeypatch.setattr(sys, "executable", "/usr/bin/env")
    monkeypatch.setattr(hostsoftware, "__file__", "/usr/src/tare/src/tare/platforms/hostsoftware.py")
    assert [path for path in find().paths if path.is_relative_to("/usr")] == [Path("/usr")]
