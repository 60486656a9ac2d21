"""One module per environment: is it there, prepare (untimed), start a worker, describe, leave nothing behind."""

from tare.platforms.base import Availability, EngineError, Launch, Platform, WorkerHandle
from tare.platforms.registry import ENGINES, create

__all__ = ["ENGINES", "Availability", "EngineError", "Launch", "Platform", "WorkerHandle", "create"]
