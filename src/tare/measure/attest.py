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
# Engines that leave no mark, but keep the root of whoever calls them.
_HOSTS_ROOT = ("bubblewrap",)
# What engines leave in their containers. apptainer's folder comes with an image of its own only, its variables always.
_MARKER_FILES = {"/.dockerenv": "docker", "/run/.containerenv": "podman", "/.singularity.d": "apptainer"}
_MARKER_VARIABLES = {"APPTAINER_CONTAINER": "apptainer", "SINGULARITY_CONTAINER": "apptainer"}


def marks(evidence: dict[str, Any]) -> set[str]:
    """The engines whose marks are in the evidence. A mark alone proves nothing: hosts have them too."""
    files = (_MARKER_FILES.get(path) for path in evidence.get("marker_files", []))
    names = (_MARKER_VARIABLES.get(name) for name in evidence.get("inherited", {}).get("markers", {}))
    return {engine for engine in (*files, *names) if engine is not None}


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
    if engine in _HOSTS_ROOT and inside.get("root_mount") != outside.get("root_mount"):
        return f"the run labelled {engine!r} had another root than the controller: {inside.get('root_mount')}"
    seen = marks(inside)
    if engine in _MARKER_FILES.values() and engine not in seen:
        return f"the run labelled {engine!r} saw none of the marks that {engine} leaves in its containers"
    # A mark that the controller sees too says nothing: it may itself be in a container, or the host have such a file.
    foreign = sorted(seen - {engine} - marks(outside))
    if foreign:
        return f"the run labelled {engine!r} saw the marks that {foreign[0]} leaves in its containers"
    return ""
