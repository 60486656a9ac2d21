"""Fixtures of the tests of a block."""

from __future__ import annotations

import tempfile

import pytest

from tests.unit.simulated import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def own_temporary_folder(tmp_path, monkeypatch):
    """Run folders are made here, so that one left behind is seen."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
