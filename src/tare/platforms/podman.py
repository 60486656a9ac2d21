"""Podman, through its command line: an empty image with the host's userland mounted read-only."""

from __future__ import annotations

import json
import os
import shutil
import time
from typing import Any

from tare.platforms import hostsoftware
from tare.platforms.base import LABEL, Availability, EngineError, Launch
from tare.platforms.process import ProcessHandle, ask

_CALL_TIMEOUT_S = 120.0
_REMOVALS, _RETRY_S = 3, 0.5


def arguments(launch: Launch, image: str, *, rootless: bool) -> list[str]:
    """The argument vector of `podman run`. Everything that is not named is podman's default: that is measured."""
    mounts = [f"--volume={path}:{path}:ro" for path in launch.read_only]
    return [
        "podman",
        "run",
        "--interactive",
        "--rm",
        f"--name=tare-{launch.token}",
        f"--label={LABEL}={launch.token}",
        *(["--userns=keep-id"] if rootless else []),
        f"--workdir={launch.run_dir}",
        *mounts,
        f"--volume={launch.run_dir}:{launch.run_dir}:rw",
        image,
        *launch.program,
    ]


class Podman:
    """Podman of the calling user, rootless or as root."""

    engine = "podman"

    @property
    def _image(self) -> str:
        return f"localhost/{hostsoftware.IMAGE_NAME}:{hostsoftware.image_tag()}"

    def probe(self) -> Availability:
        """Ask podman for its version; a docker that calls itself podman is noticed."""
        if shutil.which("podman") is None:
            return Availability(False, "podman is not installed", "Install it: sudo apt install podman.")
        try:
            text = ask(["podman", "version", "--format", "json"])
            version = str(json.loads(text)["Client"]["Version"])
            ask(["podman", "info", "--format", "{{.Host.OCIRuntime.Name}}"])
        except EngineError as error:
            return Availability(False, str(error), "See what `podman info` says, and mend that.")
        except (ValueError, KeyError, TypeError):
            return Availability(
                False,
                "the program `podman` does not answer as podman does",
                "Take what stands in for podman off the PATH.",
            )
        return Availability(usable=True, version=version)

    def prepare(self) -> None:
        """Import the empty image, once a user."""
        try:
            ask(["podman", "image", "exists", self._image], _CALL_TIMEOUT_S)
        except EngineError:
            ask(["podman", "import", "-", self._image], _CALL_TIMEOUT_S, stdin=hostsoftware.empty_image())

    def start(self, launch: Launch) -> ProcessHandle:
        """Start the worker in a container."""
        launch.check_paths("podman", ":")
        argv = arguments(launch, self._image, rootless=os.getuid() != 0)
        return ProcessHandle(argv, launch, dict(os.environ), remove=lambda: _remove(f"tare-{launch.token}"))

    def describe(self) -> dict[str, Any]:
        """Podman's version and the settings that bear on speed."""
        info = json.loads(ask(["podman", "info", "--format", "json"], _CALL_TIMEOUT_S))
        host, store = info.get("host", {}), info.get("store", {})
        return {
            "engine": "podman",
            "version": info.get("version", {}).get("Version"),
            "runtime": host.get("ociRuntime", {}).get("name"),
            "runtime_version": str(host.get("ociRuntime", {}).get("version", "")).splitlines()[:1],
            "storage_driver": store.get("graphDriverName"),
            "cgroup_version": host.get("cgroupVersion"),
            "cgroup_manager": host.get("cgroupManager"),
            "rootless": host.get("security", {}).get("rootless"),
            "seccomp": host.get("security", {}).get("seccompEnabled"),
            "network": "podman's default",
            "image": self._image,
        }

    def sweep(self, campaign: str) -> list[str]:
        """Remove leftover containers of the campaign."""
        if shutil.which("podman") is None:
            return []
        listed = json.loads(
            ask(["podman", "ps", "--all", f"--filter=label={LABEL}", "--format", "json"], _CALL_TIMEOUT_S)
            or "[]"
        )
        removed = []
        for container in listed or []:
            if (container.get("Labels") or {}).get(LABEL, "").startswith(f"{campaign}-"):
                _remove(container["Id"])
                removed.append(f"podman container {(container.get('Names') or [container['Id'][:12]])[0]}")
        return removed


def _remove(name: str) -> None:
    """Remove a container whether it runs or not; none of that name is fine.

    Raises:
        EngineError: it is still there.
    """
    for attempt in range(_REMOVALS):
        try:
            ask(["podman", "rm", "--force", "--ignore", "--time=0", "--volumes", name], _CALL_TIMEOUT_S)
            return
        except EngineError as error:
            if "no such container" in str(error):
                return
            # podman's own clean-up after --rm may be at it at the same moment
            if attempt == _REMOVALS - 1:
                raise
            time.sleep(_RETRY_S)
