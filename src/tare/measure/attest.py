"""Which environment is this? Found out from what worker and kernel show, never from what was asked for.

The rule, in this order:

1. Another boot id or kernel release than the controller's: another machine.
2. Namespaces, root and control groups all the controller's own: bare.
3. Else strong evidence of engines is collected (`strong`): files that only an engine binds from its own folders, the
   container's id in the names of control groups, helper processes between the worker and the controller. Container ids
   that the controller has itself are taken away, since it may be in a container. Exactly one engine left: it is that.
   None: a container of an unknown kind. Several: it can't be told, and that is an error.

Marker files and variables (`/.dockerenv`, `container=podman`) decide nothing: hosts have them, bubblewrap shows those
of the host, and anybody can set them. Nor does anything that Tare itself passed in: names, labels, variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

BARE = "bare"
OTHER_MACHINE = "another machine"
UNKNOWN = "unknown container"

_ID = r"[0-9a-f]{64}"
# Engine and pattern, with the id in its group, of the folders that engines bind their own files from. Podman's are
# named after its storage driver: overlay-containers, vfs-containers.
_MOUNTED = (
    ("docker", re.compile(rf"/containers/({_ID})/(?:hosts|hostname|resolv\.conf)$")),
    ("podman", re.compile(rf"/[a-z]+-containers/({_ID})/userdata/")),
)
# With cgroupfs docker/<id> and libpod_parent/libpod-<id>, with systemd docker-<id>.scope and libpod-<id>.scope,
# the same in both versions.
_GROUPED = (
    ("docker", re.compile(rf"/docker(?:/|-)({_ID})(?:\.scope)?(?:/|$)")),
    ("podman", re.compile(rf"/libpod-(?:conmon-)?({_ID})(?:\.scope)?(?:/|$)")),
)
# What helper processes are called with. Other engines have a containerd-shim too, in other namespaces of containerd.
_HELPERS = (
    ("docker", "containerd-shim", re.compile(r"-namespace moby\b")),
    ("podman", "conmon", re.compile(r"")),
    ("apptainer", "starter", re.compile(r"^(?:Apptainer|Singularity) runtime")),
    ("apptainer", "starter-suid", re.compile(r"^(?:Apptainer|Singularity) runtime")),
)
_SESSION = re.compile(r"(?:apptainer|singularity)/mnt/(?:session|final)")
# What of the controller's own evidence the verdict rests on.
_CONTEXT = ("boot_id", "kernel", "namespaces", "root_mount", "cgroup", "mounts", "init", "marker_files")
_WHOLE = {"boot_id": "boot", "kernel": "kernel"}
_SHORT_ID = 12


def context(outside: dict[str, Any]) -> dict[str, Any]:
    """What of the controller's evidence belongs into a record, so that the verdict can be checked by it alone."""
    return {key: outside[key] for key in _CONTEXT if key in outside}


def strong(inside: dict[str, Any], outside: dict[str, Any]) -> dict[str, list[str]]:
    """Engine -> what tells of it, a phrase each; without what the controller shows of itself.

    Args:
        inside: `tare.worker.evidence.collect()` of the worker, with `tare.platforms.hostview.host_view` as `host_view`.
        outside: the same of the controller.
    """
    own = {found for _, found, _ in _ids(outside, None)}
    phrases: dict[str, list[str]] = {}
    # whoever has the controller's own root is in no engine's container, whatever files were bound over those there
    root = outside.get("mounts", {}).get("/")
    for engine, found, phrase in (*_ids(inside, root), *_helpers(inside), *_roots(inside, outside)):
        if found not in own and phrase not in phrases.setdefault(engine, []):
            phrases[engine].append(phrase)
    return {engine: found for engine, found in phrases.items() if found}


def _views(evidence: dict[str, Any]) -> list[dict[str, Any]]:
    """What the process sees of itself, and what the host sees of it."""
    return [evidence, evidence.get("host_view") or {}]


def _ids(evidence: dict[str, Any], without_root: dict[str, Any] | None) -> Iterator[tuple[str, str, str]]:
    """Engine, container id and phrase, by control groups and by mounts, of the latter not those below this root."""
    for view in _views(evidence):
        mounts = view.get("mounts", {})
        for mount in mounts.values() if mounts.get("/") != without_root or without_root is None else ():
            for engine, pattern in _MOUNTED:
                if found := pattern.search(mount["root"]):
                    yield engine, found[1], f"it has the files of container {found[1][:_SHORT_ID]}"
        for line in view.get("cgroup", []):
            for engine, pattern in _GROUPED:
                if found := pattern.search(line):
                    yield engine, found[1], f"it is in the control group of container {found[1][:_SHORT_ID]}"


def _helpers(inside: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for ancestor in (inside.get("host_view") or {}).get("ancestors", []):
        for engine, name, arguments in _HELPERS:
            if ancestor["name"] == name and arguments.search(ancestor.get("arguments", "")):
                yield engine, "", f"{name} started it"


def _roots(inside: dict[str, Any], outside: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Apptainer by the folder that it makes roots in, bubblewrap by the host's root under its own process 1."""
    for view in _views(inside):
        root = view.get("mounts", {}).get("/", {})
        if _SESSION.search(f"{root.get('root')} {root.get('options')}") and root != outside.get(
            "mounts", {}
        ).get("/"):
            yield "apptainer", "", "its root is an apptainer session's"
    if not inside.get("root_mount") or inside["root_mount"] != outside.get("root_mount"):
        return
    if inside.get("init") == "bwrap" and "pid" in differing(inside, outside):
        yield "bubblewrap", "", "its first process is bwrap, its root the host's"
    if any(found["name"] == "bwrap" for found in (inside.get("host_view") or {}).get("ancestors", [])):
        yield "bubblewrap", "", "bwrap started it"


def differing(inside: dict[str, Any], outside: dict[str, Any]) -> list[str]:
    """The namespaces that are not the controller's, by name; all where the worker told of none."""
    theirs = inside.get("namespaces", {})
    return sorted(name for name, own in outside.get("namespaces", {}).items() if theirs.get(name) != own)


def _apart(inside: dict[str, Any], outside: dict[str, Any]) -> list[str]:
    """In what the worker's place is not the controller's; empty for bare."""
    found = [f"{name} namespace" for name in differing(inside, outside)]
    if not outside.get("namespaces"):
        found.append("namespaces, which can't be read")
    return found + [
        meaning
        for key, meaning in (("root_mount", "root"), ("cgroup", "control groups"))
        if not inside.get(key) or inside[key] != outside.get(key)
    ]


def attested(inside: dict[str, Any], outside: dict[str, Any]) -> str:
    """The environment by the evidence: an engine's name, `bare`, or one of those that no run may be in.

    Args:
        inside: evidence of the worker, with `host_view`.
        outside: evidence of the controller.

    Returns:
        `bare`, an engine, `unknown container`, `another machine`, or several engines joined by `and`.
    """
    if any(not inside.get(key) or inside[key] != outside.get(key) for key in _WHOLE):
        return OTHER_MACHINE
    if not _apart(inside, outside):
        return BARE
    return " and ".join(sorted(strong(inside, outside))) or UNKNOWN


def contradiction(engine: str, inside: dict[str, Any], outside: dict[str, Any]) -> str:
    """Why the evidence does not fit the label, in one sentence; empty when it does.

    Args:
        engine: the engine that the run is labelled with.
        inside: evidence of the worker, with `host_view`.
        outside: evidence of the controller.
    """
    found = attested(inside, outside)
    if found == engine:
        return ""
    label = f"the run labelled {engine!r} was"
    if found == OTHER_MACHINE:
        key = next(key for key in _WHOLE if not inside.get(key) or inside[key] != outside.get(key))
        return (
            f"{label} on another machine than the controller: {_WHOLE[key]} {inside.get(key)} there, "
            f"{outside.get(key)} here; Tare compares environments of one machine only"
        )
    remedy = (
        "see what Tare's program is wrapped in here"
        if engine == BARE
        else f"see what stands in for {engine} here"
    )
    if found == BARE:
        return f"{label} bare (namespaces, root and control groups are the controller's own); {remedy}"
    if found == UNKNOWN:
        apart = ", ".join(_apart(inside, outside))
        return f"{label} in a container of no known engine (not the controller's are: {apart}); {remedy}"
    evidence = strong(inside, outside)
    if len(evidence) > 1:
        several = "; ".join(f"{name} ({', '.join(phrases)})" for name, phrases in sorted(evidence.items()))
        return f"{label} in what several engines left their traces on: {several}; {remedy}"
    return f"{label} in {found} ({', '.join(evidence[found])}); {remedy}"
