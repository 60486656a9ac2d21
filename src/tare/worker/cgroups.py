"""Limits and counters of the control groups around a process, for cgroup v1, v2 and both at once.

Linux only; what can't be read is left out, never guessed. The controller reads its own in the same way, and those of
each worker as the host sees them: from inside, a container often sees nothing above its own group.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

PROC_SELF, ROOT = Path("/proc/self"), Path("/sys/fs/cgroup")
# group -> (periods, periods in which it was throttled, seconds that it was throttled, summed over CPUs)
Throttling = dict[str, tuple[int, int, float]]
# A limit above this is how cgroup v1 writes "none".
_NO_LIMIT_BYTES = 1 << 60


def folders(controller: str, proc: Path = PROC_SELF, root: Path = ROOT) -> list[Path]:
    """The folders of the groups that a controller may limit: the process's own first, then those above it.

    A container often sees its own group mounted at the root, while its path is still the host's: folders that are not
    there are passed over, and the root is always among those looked at.

    Args:
        controller: `cpu` or `memory`.
        proc: the process's folder in /proc.
        root: where the control groups are mounted.
    """
    found: list[Path] = []
    for line in _text(proc / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mounts = [root, root / "unified"]
        elif controller in controllers.split(","):
            # Where two controllers are mounted together each alone is a link to it, on most systems; the folder may
            # have them in another order than the kernel's list.
            mounts = [root / controllers, root / controller, root / ",".join(controllers.split(",")[::-1])]
        else:
            continue
        mount = next((m for m in mounts if (m / "cgroup.procs").exists() or (m / "cpu.stat").exists()), None)
        if mount is None:
            continue
        # a path outside of the cgroup namespace begins with /..
        own = mount.joinpath(*(part for part in path.split("/") if part not in ("", "..")))
        for folder in [own, *own.parents]:
            if folder not in found and folder.is_dir():
                found.append(folder)
            if folder == mount:
                break
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _keyed(path: Path) -> dict[str, str]:
    """A file of lines `key value`."""
    return {key: value for key, _, value in (line.partition(" ") for line in _text(path).splitlines())}


def throttling(proc: Path = PROC_SELF, root: Path = ROOT) -> Throttling:
    """What each group around the process says of its CPU quota since it was made; without those that have none."""
    found: Throttling = {}
    for folder in folders("cpu", proc, root):
        values = _keyed(folder / "cpu.stat")
        try:
            # v2 says throttled_usec, v1 throttled_time in ns
            throttled_s = (
                int(values["throttled_usec"]) / 1e6
                if "throttled_usec" in values
                else int(values["throttled_time"]) / 1e9
            )
            found[str(folder)] = (int(values["nr_periods"]), int(values["nr_throttled"]), throttled_s)
        except (KeyError, ValueError):
            continue
    return found


def _quotas(proc: Path, root: Path) -> Iterator[float]:
    for folder in folders("cpu", proc, root):
        # v2: `150000 100000` or `max 100000`; v1: -1 is no quota
        words = _text(folder / "cpu.max").split() or [
            _text(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        ]
        if len(words) == 2 and all(word.isdigit() and int(word) for word in words):
            yield int(words[0]) / int(words[1])


def cpu_quota(proc: Path = PROC_SELF, root: Path = ROOT) -> float | None:
    """The CPUs' worth of time that the groups allow (1.5 = one and a half CPUs); None where there is no quota."""
    return min(_quotas(proc, root), default=None)


def memory_limit_bytes(proc: Path = PROC_SELF, root: Path = ROOT) -> int | None:
    """The smallest memory limit of any group around the process; None where there is none."""
    words = [
        _text(folder / name).strip()
        for folder in folders("memory", proc, root)
        for name in ("memory.max", "memory.limit_in_bytes")
    ]
    return min((int(word) for word in words if word.isdigit() and int(word) < _NO_LIMIT_BYTES), default=None)
