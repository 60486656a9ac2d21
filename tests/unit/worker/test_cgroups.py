"""Throttling, in trees of control groups as v1, v2 and both at once make them, on a host and in a container."""

import pytest

from tare.worker import cgroups

V2 = "nr_periods 40\nnr_throttled 30\nthrottled_usec 1500000\n"
V2_WITHOUT_QUOTA = "usage_usec 5\nuser_usec 3\nsystem_usec 2\n"
V1 = "nr_periods 40\nnr_throttled 30\nthrottled_time 1500000000\n"


@pytest.fixture
def tree(tmp_path):
    """Makes /proc/self and /sys/fs/cgroup; each group has its `cpu.stat`."""

    def make(lines, **groups):
        proc, root = tmp_path / "proc", tmp_path / "cgroup"
        proc.mkdir()
        (proc / "cgroup").write_text("".join(f"{line}\n" for line in lines))
        root.mkdir()
        for path, stat in groups.items():
            folder = root / path.replace("__", "/")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "cgroup.procs").write_text("")
            (folder / "cpu.stat").write_text(stat)
        found = cgroups.throttling(proc, root)
        return {path.removeprefix(str(root)): values for path, values in found.items()}

    return make


EXPECTED = (40, 30, 1.5)


def test_v2_own_group_and_those_above(tree):
    groups = {".": V2_WITHOUT_QUOTA, "user.slice": V2, "user.slice__shell.scope": V2}
    found = tree(["0::/user.slice/shell.scope"], **groups)
    assert found == {
        "/user.slice": EXPECTED,
        "/user.slice/shell.scope": EXPECTED,
    }


def test_v1_reads_the_cpu_controller_only(tree):
    found = tree(["4:memory:/m", "1:cpu:/a"], cpu__a=V1, cpu=V1.replace("30", "0"), memory__m=V1)
    assert found == {"/cpu/a": EXPECTED, "/cpu": (40, 0, 1.5)}


@pytest.mark.parametrize("mount", ["cpu,cpuacct", "cpu"])
def test_v1_with_two_controllers_mounted_together(tree, mount):
    found = tree(["2:cpu,cpuacct:/a"], **{mount: V1, f"{mount}__a": V1})
    assert found == {f"/{mount}/a": EXPECTED, f"/{mount}": EXPECTED}


def test_both_at_once(tree):
    found = tree(["9:name=systemd:/", "1:cpu:/a", "0::/"], cpu=V1, cpu__a=V1, unified=V2_WITHOUT_QUOTA)
    assert found == {"/cpu/a": EXPECTED, "/cpu": EXPECTED}


@pytest.mark.parametrize("path", ["/docker/0123", "/", "/../.."])
def test_a_container_whose_own_group_is_mounted_at_the_root(tree, path):
    assert tree([f"1:cpu:{path}"], cpu=V1) == {"/cpu": EXPECTED}


@pytest.mark.parametrize("text", ["", "nr_periods x\nnr_throttled 1\nthrottled_usec 1\n", "nr_periods 1\n"])
def test_what_makes_no_sense_is_left_out(tree, text):
    assert tree(["0::/"], **{".": text}) == {}


def test_no_proc_at_all(tmp_path):
    assert cgroups.throttling(tmp_path, tmp_path) == {}


def test_the_real_ones():
    for periods, throttled, throttled_s in cgroups.throttling().values():
        assert periods >= throttled >= 0
        assert throttled_s >= 0
