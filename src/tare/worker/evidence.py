"""What a process sees of the place it runs in, read from inside. Nothing here is what the launcher said it would be.

Linux only; what can't be read is left out, never guessed.
"""

from __future__ import annotations

import os
import platform
import resource
from pathlib import Path
from typing import Any

from tare.worker import cgroups

NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts", "time")
MARKER_FILES = ("/.dockerenv", "/run/.containerenv", "/.singularity.d")
_STATUS_KEYS = (
    "Seccomp", "Seccomp_filters", "CapEff", "CapBnd", "NoNewPrivs", "Speculation_Store_Bypass",
    "SpeculationIndirectBranch",
)  # fmt: skip
# Mounts by which environments can be told: engines bind files of their own here, from where they keep their containers.
_TELLING_MOUNTS = ("/", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv", "/dev/shm")
# An image of many layers has options of many kilobytes; what tells an engine stands at their beginning.
_LONGEST_OPTIONS = 500


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _namespaces() -> dict[str, str]:
    found = {}
    for name in NAMESPACES:
        try:
            found[name] = os.readlink("/proc/self/ns/" + name)
        except OSError:
            continue
    return found


def mounts(mountinfo: str) -> dict[str, dict[str, str]]:
    """The mounts of a `mountinfo` file by their places; where several lie on each other, the last one is in force.

    Each has `root` (which folder of its file system is shown), `type`, `source` and `options` (those of the file
    system, the first 500 characters).
    """
    found = {}
    for line in mountinfo.splitlines():
        fields, separator, rest = line.partition(" - ")
        place, system = fields.split(), rest.split()
        if separator and len(place) > 5 and len(system) > 1:
            found[_unescaped(place[4])] = {
                "root": _unescaped(place[3]),
                "type": system[0],
                "source": _unescaped(system[1]),
                "options": _unescaped(" ".join(system[2:]))[:_LONGEST_OPTIONS],
            }
    return found


def _unescaped(path: str) -> str:
    for written, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(written, character)
    return path


def telling_mounts(mountinfo: str) -> dict[str, dict[str, str]]:
    """Those mounts of a `mountinfo` file by which environments can be told."""
    found = mounts(mountinfo)
    return {place: found[place] for place in _TELLING_MOUNTS if place in found}


def mount_of(path: str) -> dict[str, str]:
    """The mount that a file or folder lies on, with its `place`; empty where that can't be read."""
    found, real = mounts(_text("/proc/self/mountinfo") or ""), Path(os.path.realpath(path))
    for place in map(str, (real, *real.parents)):
        if place in found:
            return {"place": place, **found[place]}
    return {}


def _root_mount(found: dict[str, dict[str, str]]) -> str | None:
    """What is shown at /: the folder, its file system's type and source."""
    root = found.get("/")
    return None if root is None else " ".join([root["root"], root["type"], root["source"]])


def resources() -> dict[str, Any]:
    """What this process may use. Two runs that differ here were not given the same machine."""
    return {
        "cpus": sorted(os.sched_getaffinity(0)),
        "cpu_quota": cgroups.cpu_quota(),
        "memory_limit_bytes": cgroups.memory_limit_bytes(),
        # an engine's daemon hands on its own, a shell the user's: `nice make run` must not pass for a slow bare
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "scheduling_policy": os.sched_getscheduler(0),
        "memory_total_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def run_time_ns() -> dict[int, int]:
    """CPU time that each thread of this process has had, by its id; empty where the kernel keeps no such account."""
    found = {}
    for task in os.listdir("/proc/self/task"):
        text = _text("/proc/self/task/" + task + "/schedstat")
        if text:
            found[int(task)] = int(text.split()[0])
    return found


def worked(before: dict[int, int], after: dict[int, int]) -> list[int]:
    """The threads that had at least a hundredth of the CPU time between two readings of `run_time_ns`."""
    had = {task: ns - before.get(task, 0) for task, ns in after.items()}
    return [task for task, ns in had.items() if ns > sum(had.values()) / 100]


def cpus_of(tasks: list[int]) -> list[int]:
    """The CPUs that any of these threads may use."""
    found: set[int] = set()
    for task in tasks:
        try:
            found |= os.sched_getaffinity(task)
        except OSError:
            continue  # the thread ended meanwhile
    return sorted(found)


def working_threads(before: dict[int, int]) -> dict[str, Any]:
    """How many threads there are, how many of them worked since a reading of `run_time_ns`, and on which CPUs."""
    after = run_time_ns()
    working = worked(before, after)
    return {"all": len(os.listdir("/proc/self/task")), "working": len(working), "cpus": cpus_of(working)}


def _mitigations() -> dict[str, str]:
    """What the kernel does against each known fault that the processor has."""
    folder = "/sys/devices/system/cpu/vulnerabilities/"
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    found = {name: _text(folder + name) or "" for name in names}
    return {name: text for name, text in found.items() if text != "Not affected"}


def _shm_bytes() -> int | None:
    try:
        stat = os.statvfs("/dev/shm")
    except OSError:
        return None
    return stat.f_blocks * stat.f_frsize


def collect(inherited: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything by which an environment can be told, as plain JSON values.

    Args:
        inherited: what `launch.py` saw of the variables that the engine passed.
    """
    status = {}
    for line in (_text("/proc/self/status") or "").splitlines():
        key, _, value = line.partition(":")
        if key in _STATUS_KEYS:
            status[key] = value.strip()
    telling = telling_mounts(_text("/proc/self/mountinfo") or "")
    return {
        "boot_id": _text("/proc/sys/kernel/random/boot_id"),
        "kernel": platform.release(),
        "host_name": platform.node(),
        "namespaces": _namespaces(),
        "cgroup": (_text("/proc/self/cgroup") or "").splitlines(),
        "root_mount": _root_mount(telling),
        "mounts": telling,
        "pid": os.getpid(),
        # the first process of this process's process namespace: an engine's own, where it has one
        "init": _text("/proc/1/comm"),
        "marker_files": [path for path in MARKER_FILES if os.path.exists(path)],
        "uid": os.getuid(),
        "gid": os.getgid(),
        "uid_map": (_text("/proc/self/uid_map") or "").split(),
        "status": status,
        "security_profile": (_text("/proc/self/attr/current") or "").strip("\0") or None,
        "mitigations": _mitigations(),
        "shm_bytes": _shm_bytes(),
        "open_files_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "processes_limit": resource.getrlimit(resource.RLIMIT_NPROC)[0],
        "transparent_hugepages": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "inherited": inherited or {},
    }
