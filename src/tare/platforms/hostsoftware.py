"""What of the host an empty image needs, so that the bits inside are the host's own.

Both sides of a comparison then run the same files, and what is measured is the container mechanism alone.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from tare.platforms.base import HostSoftware

# Folders of an image in which the host's userland can be mounted.
EMPTY_FOLDERS = (
    "bin",
    "dev",
    "etc",
    "lib",
    "lib64",
    "proc",
    "root",
    "run",
    "sbin",
    "sys",
    "tmp",
    "usr",
    "var",
)
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc")
IMAGE_NAME = "tare/host"


def find() -> HostSoftware:
    """The userland and the Python of this process: environment, the interpreter behind it, and Tare's own source."""
    source = Path(__file__).resolve().parents[2]
    executable = Path(sys.executable)
    folders = [
        Path(sys.prefix),
        Path(sys.base_prefix),
        *(link.parent for link in _links(executable)),
        executable.resolve().parent.parent,
        source,
    ]
    # By the names they are called by and by their real ones: a home folder is often a link to where it really is.
    python = dict.fromkeys(path for folder in folders for path in (folder, folder.resolve()))
    return HostSoftware(
        system=tuple(Path(path) for path in _SYSTEM if os.path.exists(path)),
        python=tuple(path for path in python if str(path) != "/"),
    )


def _links(path: Path) -> Iterator[Path]:
    """The symbolic links on the way from a path to the file that it leads to, itself first."""
    while path.is_symlink():
        yield path
        path = Path(os.path.normpath(path.parent.resolve() / path.readlink()))


def empty_image() -> bytes:
    """A tar archive of empty folders: the image for docker and podman. The same bytes every time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in EMPTY_FOLDERS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode, folder.mtime = tarfile.DIRTYPE, 0o755, 0
            if name == "tmp":
                folder.mode = 0o1777
            archive.addfile(folder)
    return buffer.getvalue()


def image_tag() -> str:
    """Tag of the empty image, made from its content: an image of an older Tare is never taken for it."""
    return hashlib.sha256(empty_image()).hexdigest()[:12]
