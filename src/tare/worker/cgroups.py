"""Throttling by a CPU quota, read from the control groups around a process, for cgroup v1, v2 and both at once.

Linux only; what can't be read is left out, never guessed. The controller reads its own in the same way.
"""

from __future__ import annotations

from pathlib import Path

# group -> (periods, periods in which it was throttled, seconds that it was throttled, summed over CPUs)
Throttling = dict[str, tuple[int, int, float]]


def folders(proc: Path = Path("/proc/self"), root: Path = Path("/sys/fs/cgroup")) -> list[Path]:
    """The folders of the groups that may hold a CPU quota: the process's own first, then those above it.

    A container often sees its own group mounted at the root, while its path is still the host's: folders that are not
    there are passed over, and the root is always among those looked at.

    Args:
        proc: the process's folder in /proc.
        root: where the control groups are mounted.
    """
    try:
        lines = (proc / "cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mounts = [root, root / "unified"]
        elif "cpu" in controllers.split(","):
            # where two controllers are mounted together each alone is a link to it, on most systems
            mounts = [root / controllers, root / "cpu"]
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


def throttling(proc: Path = Path("/proc/self"), root: Path = Path("/sys/fs/cgroup")) -> Throttling:
    """What each group around the process says of its quota since it was made; without those that have none."""
    found: Throttling = {}
    for folder in folders(proc, root):
        try:
            text = (folder / "cpu.stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        values = {key: value for key, _, value in (line.partition(" ") for line in text.splitlines())}
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
