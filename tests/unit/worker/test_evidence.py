"""What a process sees of the place it runs in; cgroup files of both versions."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tare.worker import evidence


def test_the_evidence_is_plain_json_and_of_this_machine():
    found = evidence.collect({"names": ["PATH"], "markers": {}})
    assert json.loads(json.dumps(found)) == found
    assert found["kernel"] == platform.release()
    assert found["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    assert found["namespaces"]["mnt"] == str(Path("/proc/self/ns/mnt").readlink())
    assert (found["uid"], found["gid"]) == (os.getuid(), os.getgid())
    assert found["inherited"]["names"] == ["PATH"]
    assert {"Seccomp", "NoNewPrivs", "CapEff"} <= set(found["status"])


def test_a_child_on_the_metal_sees_what_its_parent_sees():
    script = "import json; from tare.worker import evidence; print(json.dumps(evidence.collect()))"
    variables = {**os.environ, "PYTHONPATH": str(Path(evidence.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, check=True)
    child, parent = json.loads(done.stdout), evidence.collect()
    for key in (
        "boot_id",
        "kernel",
        "namespaces",
        "root_mount",
        "cgroup",
        "marker_files",
        "uid_map",
        "status",
    ):
        assert child[key] == parent[key], key


@pytest.fixture
def files(monkeypatch):
    """The contents of files by path; all others are not there."""
    contents = {}
    monkeypatch.setattr(evidence, "_text", contents.get)
    return contents


MOUNTS = """\
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
22 21 0:19 / /proc rw - proc proc rw
40 21 0:50 / / rw,relatime shared:1 - overlay overlay rw,lowerdir=/a,upperdir=/b
41 40 0:51 /x /data rw - ext4 /dev/vdb rw
"""


def test_the_last_root_is_the_one_in_force(files):
    files["/proc/self/mountinfo"] = MOUNTS
    assert evidence.collect()["root_mount"] == "/ overlay overlay"


def test_mounts_by_their_places_with_odd_names():
    line = "41 40 0:51 /a\\040b /mnt/x\\134y\\011z rw shared:1 master:2 - fuse.s3 //host/a\\040b rw,a=b"
    assert evidence.mounts(line) == {
        "/mnt/x\\y\tz": {"root": "/a b", "type": "fuse.s3", "source": "//host/a b", "options": "rw,a=b"}
    }
    assert evidence.mounts("no mount\n\n1 2 3 - x") == {}
    assert len(evidence.mounts("1 0 0:1 / / rw - overlay overlay " + "x" * 9999)["/"]["options"]) == 500


def test_the_mount_that_a_file_lies_on(files, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("/data/deep/er")
    files["/proc/self/mountinfo"] = MOUNTS
    data = {"place": "/data", "root": "/x", "type": "ext4", "source": "/dev/vdb", "options": "rw"}
    assert (
        evidence.mount_of("/data/file.npz")
        == evidence.mount_of("/data")
        == evidence.mount_of(str(link))
        == data
    )
    assert evidence.mount_of("/database")["place"] == "/"
    files["/proc/self/mountinfo"] = ""
    assert evidence.mount_of("/data/file.npz") == {}


def test_only_those_mounts_are_kept_by_which_environments_can_be_told(files):
    files["/proc/self/mountinfo"] = MOUNTS + "42 40 0:51 /c/hosts /etc/hosts rw - ext4 /dev/vdb rw\n"
    assert list(evidence.collect()["mounts"]) == ["/", "/etc/hosts"]


def test_the_threads_that_work_and_their_cpus():
    found = evidence.working_threads(evidence.run_time_ns())
    assert found["all"] >= found["working"] >= 0
    assert set(found["cpus"]) <= set(range(os.cpu_count() or 1))


def test_what_can_not_be_read_is_left_out_not_guessed(files):
    found = evidence.collect()
    assert (found["boot_id"], found["root_mount"], found["cgroup"], found["status"]) == (None, None, [], {})


def test_cpus_of_a_thread_are_those_of_the_process():
    assert evidence.cpus_of([os.getpid()]) == evidence.resources()["cpus"] == sorted(os.sched_getaffinity(0))


def test_cpus_of_threads_that_are_gone_are_none():
    assert evidence.cpus_of([2**22 + 1]) == []


def test_threads_that_worked_are_told_from_those_that_waited():
    before = {1: 1000, 2: 500, 3: 7}
    after = {1: 901_000, 2: 500, 3: 8, 4: 99_000}
    assert evidence.worked(before, after) == [1, 4]
    assert evidence.worked({}, {}) == []


def test_the_time_of_this_thread_grows():
    before = evidence.run_time_ns()
    if not before:
        pytest.skip("this kernel keeps no account of threads (schedstat)")
    sum(range(2_000_000))
    assert os.getpid() in evidence.worked(before, evidence.run_time_ns())
