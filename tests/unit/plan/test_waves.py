"""How a plan grows and shrinks with its study: nothing measured is lost or mixed with what was measured apart."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tare.plan.table import Refusal, State, Wave, blocks, build, first_state, next_state, state_of, unpaired
from tests.unit.studies import study

NO = Refusal("it does not answer", "Start it.")


def waves(*pairs) -> tuple[Wave, ...]:
    """Wave("bare docker", 1, 2) in short: ("bare docker", 1, 2)."""
    return tuple(Wave(tuple(names.split()), tuple(repetitions)) for names, *repetitions in pairs)


def measured(one, state) -> dict[int, tuple[str, ...]]:
    """Repetition -> its environments."""
    return {block.repetition: tuple(sorted(block.environments)) for block in blocks(build(one, state, {}))}


def test_a_study_begins_with_one_wave():
    one = study(environments=["bare", "docker", "podman"], repetitions=3)
    assert first_state(one, {"podman": NO}) == State(waves(("bare docker", 1, 2, 3)), {"podman": NO})
    assert first_state(one, {"bare": NO, "docker": NO, "podman": NO}).waves == ()


def test_an_environment_added_later_gets_new_repetitions_with_its_baseline():
    begun = first_state(study(repetitions=3), {})
    one = study(environments=["bare", "docker", "podman"], repetitions=3)
    state = next_state(one, begun, ["podman"], {})
    assert state == State(waves(("bare docker", 1, 2, 3), ("bare podman", 4, 5, 6)))
    assert measured(one, state)[3] == ("bare", "docker")
    assert measured(one, state)[4] == ("bare", "podman")


def test_environments_added_together_share_their_repetitions():
    begun = first_state(study(repetitions=2), {})
    one = study(
        environments=["bare", "docker", "podman", {"name": "bubblewrap", "baseline": "docker"}], repetitions=2
    )
    assert next_state(one, begun, ["podman", "bubblewrap"], {}).waves == waves(
        ("bare docker", 1, 2), ("bare docker podman bubblewrap", 3, 4)
    )


def test_an_added_environment_brings_a_baseline_that_was_not_measured_and_what_that_is_compared_with():
    one = study(
        environments=["bare", "docker", "podman", {"name": "bubblewrap", "baseline": "podman"}], repetitions=2
    )
    begun = first_state(one, {"podman": NO, "bubblewrap": NO})
    assert next_state(one, begun, ["bubblewrap"], {}) == State(
        waves(("bare docker", 1, 2), ("bare podman bubblewrap", 3, 4)), {}
    )


def test_an_environment_that_could_not_be_used_is_added():
    one = study(environments=["bare", "docker", "podman"], repetitions=2)
    begun = first_state(one, {"docker": NO, "podman": NO})
    assert next_state(one, begun, ["docker"], {}) == State(
        waves(("bare", 1, 2), ("bare docker", 3, 4)), {"podman": NO}
    )


def test_a_new_environment_that_cannot_be_used_is_remembered():
    one = study(environments=["bare", "docker", "podman"], repetitions=2)
    state = next_state(one, first_state(study(repetitions=2), {}), [], {"podman": NO})
    assert state == State(waves(("bare docker", 1, 2)), {"podman": NO})
    assert state_of(build(one, state, {})) == state


def test_raised_repetitions_come_after_all_others():
    two = State(waves(("bare docker", 1, 2), ("bare podman", 3, 4)))
    one = study(environments=["bare", "docker", "podman"], repetitions=4)
    state = next_state(one, two, [], {})
    assert state.waves == waves(("bare docker", 1, 2, 5, 6), ("bare podman", 3, 4, 7, 8))
    # and are measured in the order of their numbers
    assert [block.repetition for block in blocks(build(one, state, {}))] == list(range(1, 9))


def test_lowered_repetitions_leave_the_first():
    two = State(waves(("bare docker", 1, 2, 3), ("bare podman", 4, 5, 6)))
    one = study(environments=["bare", "docker", "podman"], repetitions=2)
    assert next_state(one, two, [], {}).waves == waves(("bare docker", 1, 2), ("bare podman", 4, 5))


def test_raising_again_finds_the_old_repetitions():
    begun = first_state(study(repetitions=6), {})
    lowered = next_state(study(repetitions=2), begun, [], {})
    assert next_state(study(repetitions=6), lowered, [], {}) == begun


def test_a_removed_environment_leaves_the_others_their_repetitions():
    begun = first_state(study(environments=["bare", "docker", "podman"], repetitions=2), {})
    state = next_state(study(environments=["bare", "podman"], repetitions=2), begun, [], {})
    assert state.waves == waves(("bare podman", 1, 2))


def test_a_wave_that_compares_nothing_any_more_goes():
    two = State(waves(("bare docker", 1, 2), ("bare podman", 3, 4)))
    assert next_state(study(environments=["bare", "docker"], repetitions=2), two, [], {}).waves == waves(
        ("bare docker", 1, 2)
    )
    assert next_state(study(environments=["bare", "podman"], repetitions=2), two, [], {}).waves == waves(
        ("bare podman", 3, 4)
    )


def test_the_last_wave_of_an_environment_stays():
    two = State(waves(("bare docker", 1, 2), ("bare podman", 3, 4)))
    assert next_state(study(environments=["bare"], repetitions=2), two, [], {}).waves == waves(("bare", 1, 2))


def test_an_environment_taken_out_and_put_back_finds_its_repetitions():
    full = study(environments=["bare", "docker", "podman"], repetitions=2)
    two = State(waves(("bare docker", 1, 2), ("bare podman", 3, 4)))
    without = next_state(study(environments=["bare", "docker"], repetitions=2), two, [], {})
    assert next_state(full, without, ["podman"], {}) == two


def test_a_removed_environment_is_not_remembered_as_refused():
    begun = first_state(study(), {"docker": NO})
    assert next_state(study(environments=["bare"]), begun, [], {}).refused == {}


def test_an_environment_with_another_baseline_is_measured_beside_it():
    begun = first_state(study(environments=["bare", "docker", "podman"], repetitions=2), {})
    assert unpaired(study(environments=["bare", "docker", "podman"]), begun) == []
    # both are in one wave: nothing needs measuring
    ladder = study(environments=["bare", "docker", {"name": "podman", "baseline": "docker"}], repetitions=2)
    assert unpaired(ladder, begun) == []
    later = State(waves(("bare docker", 1, 2), ("bare podman", 3, 4)))
    assert unpaired(ladder, later) == ["podman"]
    # what was measured of it stays, too
    assert next_state(ladder, later, ["podman"], {}).waves == waves(
        ("bare docker", 1, 2), ("bare podman", 3, 4), ("docker podman", 5, 6)
    )


POOL = ["docker", "podman", "bubblewrap", "apptainer"]


@st.composite
def changes(draw):
    """A study as it is edited: environments, their baselines, repetitions."""
    names = draw(st.lists(st.sampled_from(POOL), unique=True))
    entries: list[object] = ["bare"]
    for number, name in enumerate(names):
        entries.append({"name": name, "baseline": draw(st.sampled_from(["bare", *names[:number]]))})
    return study(environments=entries, repetitions=draw(st.integers(1, 4)))


@settings(max_examples=100, deadline=None)
@given(st.lists(changes(), min_size=1, max_size=6), st.sets(st.sampled_from(POOL)))
def test_whatever_is_edited_every_comparison_has_its_repetitions_and_none_is_used_twice(edits, down):
    def refused(one):
        found = {}
        for entry in one.environments:
            chain = [entry]
            while not chain[-1].is_baseline:
                chain.append(one.environment(chain[-1].baseline))
            if down & {e.name for e in chain}:
                found[entry.name] = NO
        return found

    state = None
    for one in edits:
        if state is None:
            state = first_state(one, refused(one))
        else:
            known = state.environments | set(state.refused)
            coming = [
                e.name for e in one.environments if e.name not in known or e.name in unpaired(one, state)
            ]
            no = {name: why for name, why in refused(one).items() if name in coming}
            state = next_state(one, state, [name for name in coming if name not in no], no)
        plan = build(one, state, {})
        # it comes back, and planning again changes nothing
        assert next_state(one, state_of(plan), [], {}) == state
        # every environment is there, measured or with its reason, and never both
        in_waves, why_not = state.environments, set(state.refused)
        assert in_waves | why_not == {e.name for e in one.environments}
        assert not in_waves & why_not
        repetitions = [r for wave in state.waves for r in wave.repetitions]
        assert len(set(repetitions)) == len(repetitions)
        assert all(len(wave.repetitions) == one.repetitions for wave in state.waves)
        # an environment stays without its baseline only where that one, or one that it rests on, can't be used
        alone = {one.environment(name).baseline for name in unpaired(one, state)}
        assert alone <= why_not | set(refused(one))
