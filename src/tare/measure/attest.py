"""Is the run what its label says? Judged by what the worker saw from inside, against what the controller sees."""

from __future__ import annotations

from typing import Any

# Namespaces that an engine gives to a container of its own, whatever its settings.
_OWN_NAMESPACES = {
    "bubblewrap": ("mnt", "pid"),
    "docker": ("mnt", "pid"),
    "podman": ("mnt", "pid"),
    "apptainer": ("mnt",),
}
_MARKER_FILES = {"docker": "/.dockerenv", "podman": "/run/.containerenv", "apptainer": "/.singularity.d"}


def contradiction(engine: str, inside: dict[str, Any], outside: dict[str, Any]) -> str:
    """Why the evidence does not fit the label, in one sentence; empty when it does.

    Args:
        engine: the engine that the run is labelled with.
        inside: `tare.worker.evidence.collect()` of the worker.
        outside: the same of the controller.
    """
    for key, meaning in (("boot_id", "boot"), ("kernel", "kernel")):
        if inside.get(key) != outside.get(key):
            return (
                f"the run labelled {engine!r} was on another machine than the controller: {meaning} "
                f"{inside.get(key)} there, {outside.get(key)} here"
            )
    mine, theirs = inside.get("namespaces", {}), outside.get("namespaces", {})
    differing = sorted(name for name in theirs if mine.get(name) != theirs[name])
    if engine == "bare":
        if differing:
            return (
                f"the run labelled 'bare' was in other namespaces than the controller: {', '.join(differing)}"
            )
        for key, meaning in (("root_mount", "root"), ("cgroup", "cgroup")):
            if inside.get(key) != outside.get(key):
                return f"the run labelled 'bare' had another {meaning} than the controller: {inside.get(key)}"
        return ""
    shared = [name for name in _OWN_NAMESPACES[engine] if name not in differing]
    if shared:
        return f"the run labelled {engine!r} was in the controller's own namespaces: {', '.join(shared)}"
    marker, seen = _MARKER_FILES.get(engine), inside.get("marker_files", [])
    if marker and marker not in seen:
        return f"the run labelled {engine!r} saw no {marker}, which {engine} puts into its containers"
    # A marker that the controller sees too says nothing: it may itself be in a container, or the host have such a file.
    for other, foreign in _MARKER_FILES.items():
        if other != engine and foreign in seen and foreign not in outside.get("marker_files", []):
            return f"the run labelled {engine!r} saw {foreign}, which {other} puts into its containers"
    return ""
