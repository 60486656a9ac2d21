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


@pytest.fixture
def limits(tmp_path):
    """Of a tree of files: what it says of memory and CPUs."""

    def read(line, files):
        proc, root = tmp_path / "proc", tmp_path / "cgroup"
        proc.mkdir()
        (proc / "cgroup").write_text(line)
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content)
            for folder in (root / path).parents:
                # where both versions are, the root is no group itself
                if folder.is_relative_to(root) and (folder != root or "unified" not in path):
                    (folder / "cgroup.procs").write_text("")
        return cgroups.memory_limit_bytes(proc, root), cgroups.cpu_quota(proc, root)

    return read


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


@pytest.mark.parametrize("mount", ["cpu,cpuacct", "cpu", "cpuacct,cpu"])
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


IN_V2 = "0::/a/b"
IN_V1 = "5:memory:/docker/c\n3:cpu,cpuacct:/docker/c\n1:name=systemd:/x\n0::/"


@pytest.mark.parametrize(
    ("line", "files", "limit"),
    [
        (IN_V2, {"a/b/memory.max": "max"}, None),
        (IN_V2, {"a/b/memory.max": "2147483648\n"}, 2 << 30),
        (IN_V2, {"a/b/memory.max": "max", "a/memory.max": "1073741824"}, 1 << 30),
        (IN_V2, {"a/b/memory.max": "2147483648", "a/memory.max": "1000"}, 1000),
        (IN_V1, {"memory/docker/c/memory.limit_in_bytes": "9223372036854771712"}, None),
        (IN_V1, {"memory/docker/c/memory.limit_in_bytes": "1000"}, 1000),
        # an engine's own group, which its containers don't see
        (
            IN_V1,
            {"memory/docker/memory.limit_in_bytes": "7", "memory/docker/c/memory.limit_in_bytes": "9"},
            7,
        ),
        # inside a container of version 1 the path of /proc/self/cgroup is not there, its own limits are at the top
        (IN_V1, {"memory/memory.limit_in_bytes": "1000"}, 1000),
    ],
)
def test_memory_limits(limits, line, files, limit):
    assert limits(line, files) == (limit, None)


@pytest.mark.parametrize(
    ("line", "files", "quota"),
    [
        (IN_V2, {"a/b/cpu.max": "max 100000"}, None),
        (IN_V2, {"a/b/cpu.max": "150000 100000"}, 1.5),
        (IN_V2, {"a/b/cpu.max": "150000 100000", "a/cpu.max": "50000 100000"}, 0.5),
        (IN_V2, {"a/b/cpu.max": "150000"}, None),
        (IN_V2, {"a/b/cpu.max": "1 0"}, None),
        (
            IN_V1,
            {
                "cpu,cpuacct/docker/c/cpu.cfs_quota_us": "-1",
                "cpu,cpuacct/docker/c/cpu.cfs_period_us": "100000",
            },
            None,
        ),
        (
            IN_V1,
            {
                "cpu,cpuacct/docker/c/cpu.cfs_quota_us": "-1",
                "cpu,cpuacct/docker/c/cpu.cfs_period_us": "100000",
                "cpu,cpuacct/docker/cpu.cfs_quota_us": "200000",
                "cpu,cpuacct/docker/cpu.cfs_period_us": "100000",
            },
            2.0,
        ),
        # the hierarchy of version 2 beside those of version 1
        ("1:name=systemd:/x\n0::/a", {"unified/a/cpu.max": "50000 100000"}, 0.5),
    ],
)
def test_cpu_quotas(limits, line, files, quota):
    assert limits(line, files) == (None, quota)


@pytest.mark.parametrize("line", ["0::/../../x", "", "0::", "1:name=systemd:/"])
def test_odd_lists_of_groups_are_no_error(limits, line):
    assert limits(line, {"memory.max": "max"}) == (None, None)
