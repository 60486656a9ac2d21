"""What tests of looking at a study share."""

from __future__ import annotations

from tests.unit.studies import matrix

NO_DOCKER = ("docker does not answer", "Start it: sudo systemctl start docker.")
TWO_CELLS = matrix(framework=["torch", "tensorflow"])
OPTIONAL_DOCKER = {"name": "docker", "optional": True}
AGAIN = {"name": "bare-again", "engine": "bare", "fallback": True}


def environments(campaign) -> dict[str, str]:
    """Environment -> measure or unusable."""
    return dict(zip(campaign.plan["environment"], campaign.plan["status"], strict=True))


def repetitions(campaign) -> dict[int, tuple[str, ...]]:
    return {s.block.repetition: tuple(sorted(s.block.environments)) for s in campaign.states}


def files(folder) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
