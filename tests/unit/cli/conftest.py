"""A project in a folder of its own; see tests/unit/project.py."""

from __future__ import annotations

import pytest

from tests.unit import project as parts


@pytest.fixture
def project(tmp_path, monkeypatch) -> parts.Project:
    return parts.project(tmp_path, monkeypatch)
