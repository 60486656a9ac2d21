"""What tools/engines does about a machine that was switched off; needs no engine and touches none."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "engines"


@pytest.fixture
def forget(tmp_path):
    """Calls the script's `forget_docker` with this process in containerd's pid file; says whether the file stays."""
    file = tmp_path / "docker" / "containerd" / "containerd.pid"
    file.parent.mkdir(parents=True)

    def call(pid):
        file.write_text(str(pid))
        command = f"source {SCRIPT}; run={tmp_path}; forget_docker"
        subprocess.run(["bash", "-c", command], check=True, timeout=60)
        return file.exists()

    return call


def test_a_pid_file_with_another_process_s_number_goes_and_the_process_stays(forget):
    with subprocess.Popen(["sleep", "60"]) as other:
        assert not forget(other.pid)
        assert other.poll() is None
        other.kill()


def test_a_containerd_that_outlived_its_dockerd_is_ended(forget, tmp_path):
    program = shutil.copy(shutil.which("bash"), tmp_path / "containerd")
    with subprocess.Popen(
        [program, "-c", "sleep 60; true", "/var/run/docker/containerd/containerd.toml"]
    ) as orphan:
        assert not forget(orphan.pid)
        assert orphan.wait(10) != 0


def test_a_pid_file_of_a_process_that_is_gone_goes(forget):
    with subprocess.Popen(["true"]) as gone:
        pass
    assert not forget(gone.pid)
