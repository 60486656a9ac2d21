"""What all unit tests share."""

import pytest


@pytest.fixture(autouse=True)
def _own_host_lock(tmp_path_factory, monkeypatch):
    """No test waits for, or sweeps, what somebody measures on this machine."""
    monkeypatch.setenv("TARE_HOST_LOCK", str(tmp_path_factory.mktemp("lock") / "host.lock"))
