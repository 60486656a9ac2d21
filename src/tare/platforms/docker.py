"""Docker, through its SDK: an empty image with the host's userland mounted read-only."""

from __future__ import annotations

import math
import os
import socket
from contextlib import closing, suppress
from functools import cached_property
from typing import Any

from tare.platforms import hostsoftware
from tare.platforms.base import LABEL, PROBE_TIMEOUT_S, Availability, EngineError, Launch
from tare.platforms.lines import Lines

# How long the daemon may take to create, start or remove a container on a busy machine.
_CALL_TIMEOUT_S = 120
# The shortest wait for a container that the SDK takes; 0 is an error to it.
_SHORTEST_WAIT_S = 0.1
_ENDING_TIMEOUT_S = 10.0


def container_settings(launch: Launch, image: str, user: str) -> dict[str, Any]:
    """Keyword arguments of `containers.create`, as plain values (`mounts` as (path, read_only) pairs).

    Everything that is not named here is docker's default, and that is what is measured.
    """
    return {
        "image": image,
        "command": list(launch.program),
        "name": f"tare-{launch.token}",
        "labels": {LABEL: launch.token},
        "user": user,
        "working_dir": str(launch.run_dir),
        "stdin_open": True,
        "mounts": [*((str(path), True) for path in launch.read_only), (str(launch.run_dir), False)],
    }


def _sentence(error: BaseException) -> str:
    text = str(getattr(error, "explanation", None) or error).strip().splitlines()
    return text[0][:500] if text else type(error).__name__


def _faults() -> tuple[type[Exception], ...]:
    """What the SDK raises when the daemon refuses, is gone or does not answer."""
    import docker.errors
    import requests

    return (docker.errors.DockerException, requests.exceptions.RequestException, OSError)


class Docker:
    """The local docker daemon."""

    engine = "docker"

    def __init__(self) -> None:
        # The SDK takes half a second to import; only who asks for docker pays.
        import docker

        self._sdk = docker
        self._errors = _faults()

    def _client(self, timeout_s: float) -> Any:
        return self._sdk.from_env(timeout=math.ceil(timeout_s))

    @cached_property
    def _docker(self) -> Any:
        try:
            return self._client(_CALL_TIMEOUT_S)
        except self._errors as error:
            raise EngineError(f"docker does not answer: {_sentence(error)}") from error

    def probe(self) -> Availability:
        """Ask the daemon for its version, over a local socket only."""
        host = os.environ.get("DOCKER_HOST", "")
        if host and not host.startswith("unix://"):
            return Availability(
                False,
                f"DOCKER_HOST is no socket of this machine ({host}), and a comparison needs both sides on this one",
                "Unset DOCKER_HOST, write it as unix:// and a path, or run Tare on that machine.",
            )
        try:
            with closing(self._client(PROBE_TIMEOUT_S)) as client:
                version = client.version()
        except self._errors as error:
            refused = "Permission" in str(error)
            return Availability(
                False,
                "the docker socket may not be opened by this user" if refused else "no docker daemon answers",
                "Join the group docker (sudo usermod -aG docker $USER), then log in again."
                if refused
                else "Install docker (sudo apt install docker.io) and start its daemon.",
            )
        return Availability(usable=True, version=str(version.get("Version", "")))

    @property
    def _image(self) -> str:
        return f"{hostsoftware.IMAGE_NAME}:{hostsoftware.image_tag()}"

    def prepare(self) -> None:
        """Import the empty image, once a machine."""
        try:
            if not self._docker.api.images(name=self._image):
                self._docker.api.import_image_from_data(
                    hostsoftware.empty_image(),
                    repository=hostsoftware.IMAGE_NAME,
                    tag=hostsoftware.image_tag(),
                )
        except self._errors as error:
            raise EngineError(f"docker can't import the empty image: {_sentence(error)}") from error

    @cached_property
    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = self._docker.info()
        return info

    @property
    def _user(self) -> str:
        # Rootless docker maps the caller to root inside; elsewhere the ids inside are those of the host.
        rootless = any("rootless" in option for option in self._info.get("SecurityOptions") or [])
        return "0:0" if rootless else f"{os.getuid()}:{os.getgid()}"

    def start(self, launch: Launch) -> ContainerHandle:
        """Create a container, attach to it, start it."""
        try:
            return ContainerHandle(self._docker, launch, container_settings(launch, self._image, self._user))
        except self._errors as error:
            raise EngineError(f"docker says: {_sentence(error)}") from error

    def describe(self) -> dict[str, Any]:
        """The daemon's version and the settings that bear on speed."""
        try:
            info = self._info
        except self._errors as error:
            raise EngineError(f"docker says: {_sentence(error)}") from error
        return {
            "engine": "docker",
            "version": info.get("ServerVersion"),
            "runtime": info.get("DefaultRuntime"),
            "storage_driver": info.get("Driver"),
            "cgroup_version": info.get("CgroupVersion"),
            "cgroup_driver": info.get("CgroupDriver"),
            "security_options": info.get("SecurityOptions"),
            "network": "bridge (docker's default)",
            "image": self._image,
        }

    def sweep(self, campaign: str) -> list[str]:
        """Remove leftover containers of the campaign."""
        removed = []
        try:
            # others' containers may vanish while the list is made
            listed = self._docker.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
        except self._errors as error:
            raise EngineError(f"docker says: {_sentence(error)}") from error
        for container in listed:
            if container.labels.get(LABEL, "").startswith(f"{campaign}-"):
                _remove(container)
                removed.append(f"docker container {container.name}")
        return removed


def _remove(container: Any) -> None:
    """Remove a container whether it runs or not; one that is gone, or being removed, is fine.

    Raises:
        EngineError: the daemon refused, or is gone itself.
    """
    import docker.errors

    try:
        container.remove(force=True, v=True)
    except docker.errors.NotFound:
        pass
    except _faults() as error:
        if "already in progress" not in str(error):
            raise EngineError(f"docker can't remove {container.name}: {_sentence(error)}") from error


class ContainerHandle:
    """A worker in a container, reached over the attached stream."""

    def __init__(self, client: Any, launch: Launch, settings: dict[str, Any]) -> None:
        from docker.types import Mount
        from docker.utils.socket import frames_iter

        self.arguments = ["containers.create", *(f"{key}={value}" for key, value in settings.items())]
        mounts = [Mount(path, path, type="bind", read_only=ro) for path, ro in settings["mounts"]]
        self._status: int | None = None
        self._log = launch.open_log()
        try:
            self._container = client.containers.create(**{**settings, "mounts": mounts})
            try:
                # attached before it starts, so that no line is lost; stdin closes when this stream does
                self._stream = client.api.attach_socket(
                    self._container.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                )
                self._socket = getattr(self._stream, "_sock", self._stream)
                self._socket.settimeout(None)
                self._frames = frames_iter(self._stream, tty=False)
                self._container.start()
            except BaseException:
                with suppress(EngineError):  # the sweep before the next block tries again
                    _remove(self._container)
                raise
        except BaseException:
            self._log.close()
            raise
        self.lines = Lines(self._read, self._socket.sendall, self._end_input, self._end_output)

    def _read(self) -> bytes:
        # frames of standard output go to the channel, those of standard error to the log
        for kind, data in self._frames:
            if kind == 1 and data:
                return bytes(data)
            with suppress(OSError):  # a full disk loses the log, not the run
                self._log.write(data)
        return b""

    def _end_input(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def _end_output(self) -> None:
        self._stream.close()
        self._socket.close()
        self._log.close()

    def kill(self) -> None:
        """Kill the container's processes.

        Raises:
            EngineError: the daemon does not answer.
        """
        import docker.errors

        try:
            self._container.kill()
        except docker.errors.APIError:
            pass  # not running any more
        except _faults() as error:
            raise EngineError(f"docker can't kill {self._container.name}: {_sentence(error)}") from error

    def wait(self, timeout_s: float) -> int | None:
        """The container's exit status."""
        if self._status is None:
            with suppress(*_faults()):
                waited = self._container.wait(timeout=max(timeout_s, _SHORTEST_WAIT_S))
                self._status = int(waited["StatusCode"])
        return self._status

    def close(self) -> None:
        """Remove the container and close the stream."""
        try:
            _remove(self._container)
        finally:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # ends the reading, also when the daemon is gone
            self.lines.wait_closed(_ENDING_TIMEOUT_S)
