"""What makes two runs incomparable, and what does not."""

from __future__ import annotations

import pytest

from tare.stats.comparable import _apart, comparable, differences, differing_traits, is_comparable
from tare.stats.pairs import Pair
from tare.stats.traits import TRAITS, traits_apart
from tests.unit.factory import RESOURCES, SOFTWARE, record

SPEC = {"data_sha256": "ab", "steps": {"warm_up": 3}}


def pair(**platform) -> Pair:
    platform["spec"] = SPEC | platform.get("spec", {})
    return Pair(record(spec=SPEC), record(environment="docker", **platform))


def test_equal_runs_can_be_compared():
    assert comparable([pair(), pair()]) == "yes"


def test_what_lies_in_the_nature_of_an_environment_does_not_count():
    other = pair(
        evidence={"root_mount": "overlay"},
        platform={"storage_driver": "overlay2"},
        variables={"HOME": "/run"},
        arguments=["docker", "run"],
        spec={"environment": {"engine": "docker", "shm_size": "1g"}},
    )
    assert comparable([other]) == "yes"


@pytest.mark.parametrize(
    ("platform", "said"),
    [
        (
            {"software": SOFTWARE | {"torch": "2.12.0"}},
            "software torch is 2.13.0+cpu in bare and 2.12.0 in docker",
        ),
        (
            {"software": {k: v for k, v in SOFTWARE.items() if k != "numpy"}},
            "software numpy is 2.3.1 in bare and none",
        ),
        ({"resources": RESOURCES | {"cpus": [0]}}, "resource cpus is [0, 1] in bare and [0] in docker"),
        (
            {"resources": RESOURCES | {"memory_limit_bytes": 1024}},
            "memory_limit_bytes is none in bare and 1024",
        ),
        (
            {"spec": {"quiet": ["gc_off"]}},
            "spec quiet is ['gc_off', 'huge_pages', 'one_heap'] in bare and ['gc_off'] in docker",
        ),
        ({"spec": {"data_sha256": "cd"}}, "spec data_sha256 is ab in bare and cd in docker"),
        ({"spec": {"steps": {"warm_up": 9}}}, "spec steps.warm_up is 3 in bare and 9 in docker"),
        ({"threads": 1}, "spec threads is 2 in bare and 1 in docker; threads is 2"),
    ],
)
def test_what_nobody_declared_is_named(platform, said):
    found = comparable([pair(), pair(**platform)])
    assert found.startswith("not comparable: ")
    assert said in found


def test_a_limit_that_was_declared_is_told_and_is_what_is_being_measured():
    limited = {"spec": {"environment": {"memory": "1g", "cpus": 1.5}}}
    resources = RESOURCES | {"memory_limit_bytes": 2**30, "cpu_quota": 1.5, "cpus": [0]}
    found = comparable([pair(**limited, resources=resources)])
    assert found == (
        "differs: CPUs 1 in docker and 2 in bare; CPU quota 1.5 CPUs in docker and none in bare; "
        "memory limit 1 GiB in docker and none in bare"
    )
    assert is_comparable(found)
    found = comparable(
        [pair(spec={"environment": {"memory": "1g"}}, resources=RESOURCES | {"cpu_quota": 1.0})]
    )
    assert found.startswith("not comparable: resource cpu_quota is none in bare and 1.0")


def changed(resources=(), **evidence):
    """Two pairs, the second of which has something else on both sides."""
    found = []
    for number, own in enumerate(resources or [RESOURCES] * 2):
        seen = {key: values[number] for key, values in evidence.items()}
        found.append(
            Pair(
                record(spec=SPEC, resources=own, evidence=seen),
                record(environment="docker", spec=SPEC, resources=own, evidence=seen),
            )
        )
    return comparable(found)


def test_values_are_compared_whole_however_long_they_are():
    cpus = ([*range(16)], [*range(12), 64, 65, 66, 67])
    said = changed([RESOURCES | {"cpus": one} for one in cpus])
    assert said.startswith(
        "not comparable: resource cpus changed between blocks of bare: …10, 11, 12, 13, 14, 15], "
        "…10, 11, 64, 65, 66, 67]; "
    )


def test_long_values_are_never_shown_alike():
    begin = "-O2 -fno-math-errno -march=x86-64-v3 -mtune=generic"
    found = [_apart([begin, begin + " -fopenmp"]), _apart([begin + "1", begin + "2", "other"])]
    assert all(len(set(texts)) == len(texts) for texts in found)
    assert found[1][2] == "other"
    assert _apart(["a", None]) == ["a", "none"]


def test_other_mitigations_from_block_to_block_are_another_machine():
    said = changed(
        mitigations=[{"retbleed": "Mitigation: untrained return thunk"}, {"retbleed": "Vulnerable"}]
    )
    assert said.startswith("not comparable: mitigations changed between blocks of bare: ")
    assert changed(mitigations=[{"retbleed": "Vulnerable"}] * 2) == "yes"
    assert changed(mitigations=[{}, {"retbleed": "Vulnerable"}]) == "yes", "the first one does not tell"
    guests = [{"itlb_multihit": f"KVM: {text}"} for text in ("Mitigation: VMX disabled", "Vulnerable")]
    assert changed(mitigations=guests) == "yes", "a guest was started on the machine"


def test_the_total_of_memory_moves_a_little_with_each_start_of_the_kernel():
    sizes = [25 << 30, (25 << 30) + (3 << 20), 12 << 30]
    resources = [RESOURCES | {"memory_total_bytes": size} for size in sizes]
    assert changed(resources[:2]) == "yes"
    assert "memory_total_bytes changed" in changed(resources[1:])
    assert comparable([pair(resources=RESOURCES | {"memory_total_bytes": 5})]).startswith("not comparable")


def test_what_an_older_record_does_not_tell_of_its_engine_is_no_change():
    runs = [pair(platform={"version": "1"}), pair(platform={"version": "1", "storage_driver": "overlay2"})]
    assert comparable(runs) == "yes"


# -- what differs by nature, or by declaration -------------------------------------------------------------------------

HOST_NAMESPACES = {"net": "net:[1]", "mnt": "mnt:[1]"}
BARE = {
    "shm_bytes": 24 * 2**30,
    "status": {
        "Seccomp": "0", "CapEff": "0", "CapBnd": "1ffffffffff", "NoNewPrivs": "0",
        "Speculation_Store_Bypass": "vulnerable", "SpeculationIndirectBranch": "always enabled",
    },
    "security_profile": "unconfined",
    "namespaces": HOST_NAMESPACES,
    "controller": {"namespaces": HOST_NAMESPACES},
    "uid_map": ["0", "0", "4294967295"],
    "mounts": {"/": {"type": "ext4"}},
    "open_files_limit": 1024,
}  # fmt: skip
DOCKER = BARE | {
    "shm_bytes": 64 * 2**20,
    "status": BARE["status"]
    | {"Seccomp": "2", "CapBnd": "a80425fb", "Speculation_Store_Bypass": "thread force mitigated"},
    "security_profile": "docker-default (enforce)",
    "namespaces": {"net": "net:[2]", "mnt": "mnt:[2]"},
    "uid_map": ["0", "100000", "65536"],
    "mounts": {"/": {"type": "overlay"}},
    "open_files_limit": -1,
}


def evident(bare=None, docker=None):
    """A pair with what each of the two saw."""
    return Pair(
        record(spec=SPEC, evidence=BARE if bare is None else bare),
        record(environment="docker", spec=SPEC, evidence=DOCKER if docker is None else docker),
    )


def test_everything_that_differs_by_nature_is_told_with_its_units_in_a_fixed_order():
    found = comparable([evident(), evident()])
    assert found == (
        "differs: /dev/shm 64 MiB in docker and 24 GiB in bare; "
        "seccomp filter in docker and off in bare; "
        "speculation thread force mitigated (stores), always enabled (branches) in docker and "
        "vulnerable (stores), always enabled (branches) in bare; "
        "capabilities 0 of 14 possible in docker and 0 of 41 possible in bare; "
        "security profile docker-default (enforce) in docker and unconfined in bare; "
        "network of its own in docker and the host's in bare; "
        "user ids mapped in docker and the host's in bare; "
        "root file system overlay in docker and ext4 in bare; "
        "open files unlimited in docker and 1,024 in bare"
    )
    assert is_comparable(found)
    assert differing_traits(found) == [
        "/dev/shm", "seccomp", "speculation", "capabilities", "security profile", "network", "user ids",
        "root file system", "open files",
    ]  # fmt: skip
    assert traits_apart(evident().baseline, evident().platform) == found.removeprefix("differs: ").split("; ")


def test_categories_that_selinux_draws_for_each_container_are_no_difference():
    label = "system_u:system_r:container_t:s0:c{}"
    one, other = (evident(BARE | {"security_profile": label.format(n)}) for n in ("1,c2", "3,c4"))
    both = Pair(one.baseline, record(environment="docker", spec=SPEC, evidence=other.baseline.evidence))
    assert comparable([both]) == "yes"
    unconfined = BARE | {"security_profile": "unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023"}
    assert "security profile system_u:system_r:container_t:s0 in docker and" in comparable(
        [evident(unconfined, BARE | {"security_profile": label.format("1,c2")})]
    )


@pytest.mark.parametrize("name", [trait.name for trait in TRAITS])
def test_each_trait_by_itself_is_told_and_nothing_else(name):
    """Each is looked at: where all but one are equal, that one is named."""
    privileged = BARE | {"status": BARE["status"] | {"NoNewPrivs": "1"}}
    keys = {
        "/dev/shm": ["shm_bytes"], "security profile": ["security_profile"], "network": ["namespaces"],
        "user ids": ["uid_map"], "root file system": ["mounts"], "open files": ["open_files_limit"],
    }  # fmt: skip
    status = {"seccomp": "Seccomp", "speculation": "Speculation_Store_Bypass", "capabilities": "CapBnd"}
    if name in keys:
        other = BARE | {key: DOCKER[key] for key in keys[name]}
    elif name in status:
        other = BARE | {"status": BARE["status"] | {status[name]: DOCKER["status"][status[name]]}}
    elif name == "injected waiting":
        longer = record(environment="docker", spec={"environment": {"engine": "docker", "injected": 3.0}})
        assert (
            comparable([Pair(record(), longer)]) == "differs: injected waiting 3 % in docker and none in bare"
        )
        return
    else:
        other = privileged
    assert differing_traits(comparable([evident(docker=other)])) == [name]


def test_equal_numbers_of_other_capabilities_are_told_apart():
    some, others = (BARE | {"status": BARE["status"] | {"CapEff": bits}} for bits in ("1", "2"))
    found = comparable([evident(some, others)])
    assert found == "differs: capabilities 2 1ffffffffff in docker and 1 1ffffffffff in bare"


def test_what_an_older_record_does_not_tell_makes_no_difference():
    assert comparable([evident(bare={}), evident(docker={})]) == "yes"
    older = {"root_mount": "/ ext4 /dev/vda", "shm_bytes": 24 * 2**30}
    assert comparable([evident(older, {"root_mount": "/ overlay overlay", "shm_bytes": 24 * 2**30})]) == (
        "differs: root file system overlay in docker and ext4 in bare"
    )


def test_what_nobody_declared_weighs_more_than_what_differs_by_nature():
    other = evident()
    other = Pair(
        other.baseline, other.platform.model_copy(update={"software": SOFTWARE | {"torch": "2.12.0"}})
    )
    found = comparable([evident(), other])
    assert found.startswith("not comparable: software torch is 2.13.0+cpu in bare and 2.12.0 in docker; ")
    assert not is_comparable(found)
    assert differing_traits(found) == []


def test_seccomp_that_changes_between_blocks_makes_one_environment_two():
    off = DOCKER | {"status": DOCKER["status"] | {"Seccomp": "0"}}
    found = comparable([evident(), evident(docker=off)])
    assert found == "not comparable: seccomp changed between blocks of docker: 2, 0"


@pytest.mark.parametrize(
    ("text", "may"), [("yes", True), ("differs: x", True), ("not comparable: x", False), ("", False)]
)
def test_which_values_let_an_estimate_be_made(text, may):
    assert is_comparable(text) is may


# -- libraries and keys of newer records -------------------------------------------------------------------------------

LIBRARIES = {"libc.so.6": "aa", "libtorch_cpu.so": "bb", "libgomp.so.1": "cc"}


def loaded(bare, docker):
    return Pair(record(spec=SPEC, libraries=bare), record(environment="docker", spec=SPEC, libraries=docker))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (LIBRARIES | {"libc.so.6": "ff"}, "libc.so.6"),
        ({"libc.so.6": "aa", "libtorch_cpu.so": "bb"}, "libgomp.so.1"),
        (dict.fromkeys(LIBRARIES, "ff"), "libc.so.6, libgomp.so.1 and 1 more"),
        ({}, "libc.so.6, libgomp.so.1 and 1 more"),
    ],
)
def test_another_build_of_a_library_is_named(other, said):
    assert comparable([loaded(LIBRARIES, LIBRARIES)]) == "yes"
    assert comparable([loaded(LIBRARIES, other)]) == (
        f"not comparable: libraries of bare and docker are not the same: {said}"
    )


def test_libraries_that_change_between_blocks_are_named():
    newer = LIBRARIES | {"libtorch_cpu.so": "ff"}
    found = comparable([loaded(LIBRARIES, LIBRARIES), loaded(newer, newer)])
    assert found == (
        "not comparable: libraries changed between blocks of bare: libtorch_cpu.so; "
        "libraries changed between blocks of docker: libtorch_cpu.so"
    )


def test_records_from_before_libraries_and_other_keys_were_recorded_are_no_change():
    new = {
        "software": SOFTWARE | {"numpy_blas": "openblas"},
        "resources": RESOURCES | {"cpus_after_import": [0]},
    }
    newer = Pair(
        record(spec=SPEC, libraries=LIBRARIES, **new),
        record(environment="docker", spec=SPEC, libraries=LIBRARIES, **new),
    )
    assert comparable([pair(), newer, pair()]) == "yes"


def test_a_difference_in_every_block_is_said_once_and_long_lists_are_cut():
    platform = {"software": SOFTWARE | dict.fromkeys(SOFTWARE, "other")}
    assert len(differences(pair(**platform))) == 4
    found = comparable([pair(**platform)] * 5)
    assert found.count(" in docker") == 3
    assert found.endswith("; and 1 more")
