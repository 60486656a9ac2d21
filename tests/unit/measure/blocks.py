"""What tests of a block share."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tare.platforms import EngineError
from tare.records import store
from tests.unit.simulated import SimulatedWorker, seen_inside


def records_of(asked):
    """What is on disk at the runs' places: environment -> record."""
    found = {path.stem: store.read(path) for path in store.scan(asked.study_dir)}
    return dict(sorted(found.items()))


def aside(asked, kind):
    """Records that were put aside: environment -> records, in the order of time."""
    found = {}
    for path in sorted((asked.study_dir / kind).rglob("*.json")):
        found.setdefault(path.name.partition(".")[0], []).append(store.read(path))
    return found


def nothing_left(engines):
    """No worker runs, every handle was closed, no run folder is there."""
    for platform in engines.values():
        assert [worker for worker in platform.workers if worker.running or not worker.closed] == []
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
    return True


def no_half_file(asked):
    return not [path for path in asked.study_dir.rglob("*") if ".tmp" in path.name]


def raise_(error):
    raise error


def seen_on_the_host():
    return seen_inside("bare")


def refusing_for(engine, name):
    usual = getattr(SimulatedWorker, name)

    def method(worker):
        if worker.engine == engine:
            worker.closed += name == "close"
            raise EngineError("the daemon is gone")
        usual(worker)

    return method
