"""A worker's process as this host sees it: read by the controller from the kernel, not told by anything inside."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tare.platforms.process import processes
from tare.worker import cgroups
from tare.worker.evidence import telling_mounts

# The programs that engines leave between themselves and a container. Of others no argument is recorded: they may be
# anything of the user's.
HELPERS = ("containerd-shim", "conmon", "starter", "starter-suid", "bwrap")
_MOST_ANCESTORS = 12
# Enough for an id of 64 digits and the folder or namespace that it is in.
_LONGEST_ARGUMENTS = 300


def host_view(token: str, inside: dict[str, Any], proc: Path = Path("/proc")) -> dict[str, Any]:
    """Control groups with their limits, mounts and ancestors of the worker's process, as this host sees it.

    Of the processes that carry the run's token (an engine's helpers may, too) it is the one that has the id and the
    namespaces that the worker reported of itself.

    Args:
        token: of the run.
        inside: `tare.worker.evidence.collect()` of the worker.
        proc: where the kernel shows its processes.

    Returns:
        `pid`, `cgroup`, `mounts`, and `ancestors` (`name`, and of engines' helpers `arguments`; from the parent up to
        the controller or the first process), `cpu_quota` and `memory_limit_bytes` (the tightest of all groups around
        it, None where there is none); empty where the process can't be found or read: it may belong to another
        user, or the controller may have a process namespace of its own.
    """
    namespaces = inside.get("namespaces")
    if not namespaces:
        return {}
    for pid, found in processes(token).items():
        folder = proc / str(pid)
        try:
            if found != token or _inner_pid(folder) != inside.get("pid"):
                continue
            if any(os.readlink(folder / "ns" / name) != value for name, value in namespaces.items()):
                continue
            return {
                "pid": pid,
                "cgroup": (folder / "cgroup").read_text("utf-8", "replace").splitlines(),
                "mounts": telling_mounts((folder / "mountinfo").read_text("utf-8", "replace")),
                "ancestors": list(_ancestors(folder)),
                # from inside, a container often sees no group above its own
                "cpu_quota": cgroups.cpu_quota(folder),
                "memory_limit_bytes": cgroups.memory_limit_bytes(folder),
            }
        except OSError:
            continue  # gone meanwhile, or not ours to look at
    return {}


def _status(folder: Path, key: str) -> str:
    for line in (folder / "status").read_text("utf-8", "replace").splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return value.strip()
    return ""


def _inner_pid(folder: Path) -> int | None:
    """The process's id in its own process namespace."""
    numbers = _status(folder, "NSpid").split()
    return int(numbers[-1]) if numbers else None


def _ancestors(folder: Path) -> Iterator[dict[str, str]]:
    for _ in range(_MOST_ANCESTORS):
        parent = int(_status(folder, "PPid") or 0)
        if parent in (0, 1, os.getpid()):
            return
        folder = folder.parent / str(parent)
        name = (folder / "comm").read_text("utf-8", "replace").strip()
        found = {"name": name}
        if name in HELPERS:
            arguments = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            found["arguments"] = arguments[:_LONGEST_ARGUMENTS].strip()
        yield found
