"""A run is what its evidence says, not what its label says."""

import copy
import json
import re
from pathlib import Path

import pytest

from tare.measure.attest import OTHER_MACHINE, UNKNOWN, attested, context, contradiction, strong
from tare.plan.environment import ENGINES

CONTAINERS = [engine for engine in ENGINES if engine != "bare"]
# Recorded on one machine (Linux 6, cgroup v1, docker 20.10, podman 4.3, apptainer 1.4, bubblewrap 0.11, all as root).
RECORDED = json.loads((Path(__file__).parent / "evidence.json").read_text(encoding="utf-8"))
ID = "0123456789abcdef" * 4


@pytest.fixture
def outside():
    return copy.deepcopy(RECORDED["controller"])


def seen(engine, **changes):
    return {**copy.deepcopy(RECORDED[engine]), **changes}


def unhosted(engine, **changes):
    """As where the host's view can't be had: from another user's process, or through a socket of the host."""
    return seen(engine, host_view={}, **changes)


def grouped(engine, *lines):
    """Its control groups as the host sees them; the worker itself sees the root of its own, and no telling file."""
    inside = seen(engine, cgroup=["0::/"])
    root = {"/": inside["mounts"]["/"]}
    inside["mounts"] = root
    inside["host_view"] = {**inside["host_view"], "mounts": root, "cgroup": list(lines), "ancestors": []}
    return inside


# -- the engines as they are ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ENGINES)
@pytest.mark.parametrize("real", ENGINES)
def test_what_it_is_whatever_the_label_says(real, label, outside):
    inside = seen(real)
    assert attested(inside, outside) == real
    wrong = contradiction(label, inside, outside)
    assert bool(wrong) == (label != real)
    if wrong:
        assert wrong.startswith(f"the run labelled '{label}' was ")
        assert f" {real} (" in wrong
        assert "see what " in wrong
        assert "\n" not in wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_worker_sees_is_enough(engine, outside):
    assert attested(unhosted(engine), outside) == engine


@pytest.mark.parametrize("engine", ["docker", "podman", "apptainer", "bubblewrap"])
def test_the_programs_that_started_it_are_enough(engine, outside):
    inside = seen(engine, cgroup=["0::/"], mounts={}, init="python")
    inside["host_view"] = {"ancestors": inside["host_view"]["ancestors"]}
    assert attested(inside, outside) == engine


def test_the_verdict_can_be_told_from_the_record_alone(outside):
    kept = json.loads(json.dumps(context(outside)))
    assert kept.keys() < outside.keys()
    for engine in ENGINES:
        assert attested(seen(engine), kept) == engine


@pytest.mark.parametrize(
    ("engine", "line"),
    [
        ("docker", f"0::/system.slice/docker-{ID}.scope"),
        ("docker", f"0::/docker/{ID}"),
        ("docker", f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{ID}.scope"),
        ("docker", f"4:memory:/system.slice/docker-{ID}.scope"),
        ("docker", f"4:memory:/docker/{ID}"),
        ("docker", f"0::/docker/{ID}/init"),
        ("podman", f"0::/machine.slice/libpod-{ID}.scope/container"),
        ("podman", f"0::/machine.slice/libpod-{ID}.scope"),
        (
            "podman",
            f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container",
        ),
        ("podman", f"0::/libpod_parent/libpod-{ID}"),
        ("podman", f"4:memory:/libpod_parent/libpod-{ID}"),
    ],
)
def test_control_groups_of_both_versions_and_both_drivers(engine, line, outside):
    assert attested(grouped(engine, line), outside) == engine


@pytest.mark.parametrize(
    "line",
    [
        f"0::/kubepods/burstable/pod1/{ID}",
        f"0::/default/{ID}",  # nerdctl
        f"0::/system.slice/crio-{ID}.scope",
        "0::/docker/abc",
        f"0::/docker.slice/nerdctl-{ID}.scope",
        f"0::/my-docker-{ID[:12]}",
        "0::/system.slice/docker.service",
    ],
)
def test_control_groups_of_others_prove_neither(line, outside):
    assert attested(grouped("docker", line), outside) == UNKNOWN


@pytest.mark.parametrize(
    ("engine", "folder"),
    [
        ("docker", f"/containers/{ID}/hosts"),  # a file system of its own at /var/lib/docker
        ("docker", f"/home/user/.local/share/docker/containers/{ID}/hosts"),
        ("podman", f"/containers/overlay-containers/{ID}/userdata/hosts"),  # of the tmpfs at /run/user/1000
        ("podman", f"/run/containers/storage/vfs-containers/{ID}/userdata/hosts"),
        (UNKNOWN, f"/var/lib/nerdctl/1935db59/containers/default/{ID}/hosts"),
        (UNKNOWN, "/var/lib/kubelet/pods/7a1f/etc-hosts"),
        (UNKNOWN, f"/containers/{ID[:12]}/hosts"),
    ],
)
def test_where_the_files_in_etc_come_from(engine, folder, outside):
    inside = unhosted("docker", cgroup=["0::/"])
    inside["mounts"] = {"/etc/hosts": {"root": folder, "type": "ext4", "source": "/dev/vda", "options": "rw"}}
    assert attested(inside, outside) == engine


def test_rootless_podman_of_cgroup_v1_has_no_control_group_of_its_own(outside):
    """As it was seen: the caller's groups, and the files in the caller's home."""
    inside = unhosted("podman", cgroup=outside["cgroup"], uid_map=["0", "65534", "1"])
    folder = f"/home/user/containers/vfs-containers/{ID}/userdata/hosts"
    inside["mounts"] = {"/etc/hosts": {"root": folder, "type": "ext4", "source": "/dev/vda", "options": "rw"}}
    assert attested(inside, outside) == "podman"


@pytest.mark.parametrize(
    "options",
    [
        "ro,lowerdir=/var/lib/apptainer/mnt/session/overlay-lowerdir:/var/lib/apptainer/mnt/session/rootfs",
        "ro,lowerdir=/usr/local/var/singularity/mnt/session/rootfs",
        "rw,lowerdir=/opt/apptainer/var/apptainer/mnt/session/rootfs",
    ],
)
def test_the_root_of_apptainer_and_singularity(options, outside):
    inside = unhosted("apptainer")
    inside["mounts"]["/"]["options"] = options
    assert attested(inside, outside) == "apptainer"


def test_a_shim_of_containerd_alone_is_not_docker(outside):
    inside = grouped("docker", "0::/")
    shim = {"name": "containerd-shim", "arguments": f"containerd-shim-runc-v2 -namespace default -id {ID}"}
    inside["host_view"]["ancestors"] = [shim]
    assert attested(inside, outside) == UNKNOWN
    shim["arguments"] = shim["arguments"].replace("default", "moby")
    assert attested(inside, outside) == "docker"


@pytest.mark.parametrize("arguments", ["./starter --train", ""])
def test_any_program_may_be_called_starter(arguments, outside):
    inside = grouped("apptainer", "0::/")
    inside["mounts"]["/"]["options"] = "rw"
    inside["host_view"]["ancestors"] = [{"name": "starter", "arguments": arguments}]
    assert attested(inside, outside) == UNKNOWN


# -- what is meant to deceive, and what deceives by chance ------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_marker_files_and_variables_decide_nothing(engine, outside):
    every = {
        "marker_files": ["/.dockerenv", "/run/.containerenv", "/.singularity.d"],
        "inherited": {"names": [], "markers": {"container": "podman", "APPTAINER_CONTAINER": "/x"}},
    }
    none = {"marker_files": [], "inherited": {"names": [], "markers": {}}}
    for inside in (every, none):
        for controller in (every, none):
            assert attested(seen(engine, **inside), {**outside, **controller}) == engine


def test_names_variables_and_labels_that_tare_passed_in_decide_nothing(outside):
    named = {"host_name": f"docker-{ID}", "inherited": {"names": ["DOCKER_HOST"], "markers": {}}}
    assert attested(seen("bubblewrap", **named), outside) == "bubblewrap"
    assert attested(seen("bare", **named), outside) == "bare"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("key", "word"), [("boot_id", "boot"), ("kernel", "kernel")])
def test_another_machine(engine, key, word, outside):
    for inside in (seen(engine, **{key: "another"}), seen(engine, **{key: None})):
        assert attested(inside, outside) == OTHER_MACHINE
        wrong = contradiction(engine, inside, outside)
        assert f"on another machine than the controller: {word} {inside[key]} there, " in wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_no_evidence_is_no_proof(engine, outside):
    assert contradiction(engine, {}, outside) != ""
    assert contradiction(engine, {"boot_id": outside["boot_id"], "kernel": outside["kernel"]}, outside) != ""
    assert contradiction(engine, {}, {}) != ""


def test_each_namespace_of_bare_must_be_the_controllers(outside):
    for name in outside["namespaces"]:
        inside = seen("bare")
        inside["namespaces"][name] = f"{name}:[1]"
        assert attested(inside, outside) == UNKNOWN
        assert f"not the controller's are: {name} namespace" in contradiction("bare", inside, outside)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [("root_mount", "/ overlay overlay", "root"), ("cgroup", ["0::/batch"], "control groups")],
)
def test_bare_with_another_root_or_control_group(key, value, said, outside):
    inside = seen("bare", **{key: value})
    assert attested(inside, outside) == UNKNOWN
    assert f"in a container of no known engine (not the controller's are: {said});" in contradiction(
        "bare", inside, outside
    )


def test_bubblewrap_with_another_root_than_the_hosts_is_not_the_bubblewrap_that_was_asked_for(outside):
    assert attested(seen("bubblewrap", root_mount="/ overlay overlay"), outside) == UNKNOWN


def test_a_first_process_called_bwrap_that_is_the_controllers_own_is_no_bubblewrap(outside):
    """Everything runs in somebody's bubblewrap: the controller, and an apptainer that it starts."""
    outside["init"] = "bwrap"
    inside = seen("apptainer", init="bwrap")
    assert attested(inside, outside) == "apptainer"
    assert attested(seen("bare", init="bwrap"), outside) == "bare"
    unhosted_inside = unhosted("bubblewrap", namespaces={**outside["namespaces"], "mnt": "mnt:[1]"})
    assert attested(unhosted_inside, outside) == UNKNOWN


@pytest.mark.parametrize(("engine", "other"), [("docker", "podman"), ("podman", "docker")])
def test_traces_of_two_engines_are_an_error_that_names_both(engine, other, outside):
    inside = seen(engine)
    inside["mounts"] = {**inside["mounts"], "/etc/hosts": RECORDED[other]["mounts"]["/etc/hosts"]}
    assert attested(inside, outside) == "docker and podman"
    for label in ENGINES:
        wrong = contradiction(label, inside, outside)
        assert re.search(r"several engines left their traces on: docker \(.*\); podman \(", wrong)


def test_a_bubblewrap_that_shows_a_file_from_a_folder_named_as_dockers(outside):
    inside = seen("bubblewrap")
    inside["mounts"]["/etc/hosts"] = {
        "root": f"/tmp/containers/{ID}/hosts", "type": "ext4", "source": "/dev/vda", "options": "rw",
    }  # fmt: skip
    assert attested(inside, outside) == "bubblewrap"
    assert "in bubblewrap (" in contradiction("docker", inside, outside)


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_file_of_an_engine_bound_over_one_of_the_host_makes_no_container(engine, outside):
    """As `unshare --mount` and `mount --bind` do, below the host's own root."""
    inside = seen("bare", namespaces={**outside["namespaces"], "mnt": "mnt:[1]"})
    for view in (inside, inside["host_view"]):
        view["mounts"] = {**outside["mounts"], "/etc/hosts": RECORDED[engine]["mounts"]["/etc/hosts"]}
    assert attested(inside, outside) == UNKNOWN


# -- a controller that is in a container itself -----------------------------------------------------------------------


@pytest.fixture(params=["docker", "podman"])
def container(request):
    """The controller's own evidence, in a container of an engine."""
    return seen(request.param)


def test_bare_in_a_container_is_bare(container):
    inside = copy.deepcopy(container)
    inside["host_view"]["ancestors"] = []
    assert attested(inside, container) == "bare"
    assert strong(inside, container) == {}


def test_another_engine_in_the_controllers_container_is_that_engine(container):
    container["host_view"] = {}
    inside = copy.deepcopy(container)
    inside |= {"init": "bwrap", "namespaces": {**container["namespaces"], "pid": "pid:[1]", "mnt": "mnt:[1]"}}
    assert attested(inside, container) == "bubblewrap"
    inside = copy.deepcopy(container)
    inside |= {"root_mount": "/ overlay session", "namespaces": {**container["namespaces"], "mnt": "mnt:[1]"}}
    inside["mounts"]["/"] = RECORDED["apptainer"]["mounts"]["/"]
    assert attested(inside, container) == "apptainer"


def test_a_container_of_the_same_engine_beside_the_controllers_own(container):
    container["host_view"] = {}
    text = json.dumps(container)
    own = re.search(r"/([0-9a-f]{64})/(?:userdata/)?hosts", text)[1]
    inside = json.loads(text.replace(own, ID))
    inside["namespaces"] |= {"mnt": "mnt:[1]", "pid": "pid:[1]"}
    assert attested(inside, container) == ("podman" if "libpod" in text else "docker")


def test_apptainer_in_apptainer_is_told_by_what_started_it():
    container = unhosted("apptainer")
    inside = seen("apptainer")
    inside["namespaces"] = {**inside["namespaces"], "mnt": "mnt:[1]"}
    assert attested(inside, container) == "apptainer"
    assert attested({**inside, "host_view": {}}, container) == UNKNOWN
    assert attested(unhosted("apptainer"), container) == "bare"
