"""The engines by name. A new one is a module with a `Platform` and a line here."""

from __future__ import annotations

from importlib import import_module

from tare.platforms.base import Platform

ENGINES: dict[str, str] = {
    "bare": "tare.platforms.bare:Bare",
    "bubblewrap": "tare.platforms.bubblewrap:Bubblewrap",
    "docker": "tare.platforms.docker:Docker",
    "podman": "tare.platforms.podman:Podman",
    "apptainer": "tare.platforms.apptainer:Apptainer",
}


def create(engine: str) -> Platform:
    """The platform of an engine; its module is imported only now, since an SDK may take its time.

    Raises:
        KeyError: there is no such engine.
    """
    module_name, _, class_name = ENGINES[engine].partition(":")
    platform: Platform = getattr(import_module(module_name), class_name)()
    return platform
