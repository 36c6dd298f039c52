"""Which names belong together, and when a build has to come first: with no database."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.forgetting.other_names import Change, NameShared, all_names

A, B, C, D = (("me", "agent", name) for name in "abcd")


def test_names_are_followed_both_ways_over_any_number_of_others() -> None:
    changes = [Change(C, A), Change(C, B), Change(D, ("me", "agent", "e"))]
    assert all_names([A], changes) == all_names([B], changes) == all_names([C], changes) == {A, B, C}
    assert all_names([D], [Change(D, D)]) == {D}


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_name_that_another_has_now_is_shared_until_a_build(is_followed: bool) -> None:
    changes = [Change(B, A, is_taken=True, is_followed=is_followed)]
    assert all_names([A, B], changes) == {A, B}
    for name in (A, B):
        if is_followed:
            assert all_names([name], changes) == {name}
        else:
            with pytest.raises(NameShared):
                all_names([name], changes)


def test_a_name_that_two_had_leads_to_neither() -> None:
    changes = [Change(B, A, is_followed=True), Change(C, A, is_followed=True)]
    assert all_names([A], changes) == {A}
    assert all_names([B], changes) == {A, B}
    with pytest.raises(NameShared):
        all_names([B], [changes[0], Change(C, A)])


def test_what_was_deleted_since_leads_to_nothing() -> None:
    assert all_names([A], [Change(B, A, is_gone=True)]) == {A}
    assert all_names([B], [Change(B, A, is_gone=True)]) == {A, B}
    assert all_names([A], [Change(B, A, is_reused=True, is_followed=True)]) == {A}
    with pytest.raises(NameShared):
        all_names([A], [Change(B, A, is_reused=True)])


def test_another_person_is_only_reached_while_memory_has_it_here() -> None:
    assert all_names([A], [Change(B, A, is_of_other=True)]) == {A, B}
    assert all_names([A], [Change(B, A, is_of_other=True, is_followed=True)]) == {A}


@given(st.lists(st.tuples(*[st.integers(0, 5)] * 2), max_size=12), st.integers(0, 5))
def test_without_a_build_either_all_that_memory_has_under_the_names_is_selected_or_nothing_happens(
    renames: list[tuple[int, int]], asked: int
) -> None:
    """Six things are renamed at random, onto free names; memory has each under its first name."""
    now = {thing: (str(thing),) for thing in range(6)}
    had: dict[int, list[tuple[str, ...]]] = {thing: [] for thing in range(6)}
    for thing, number in renames:
        name = (str(number + 3),)
        if name not in now.values():
            had[thing].append(now[thing])
            now[thing] = name
    changes = [
        Change(now[thing], former, is_taken=former in now.values())
        for thing, formers in had.items()
        for former in dict.fromkeys(formers)
        if former != now[thing]
    ]
    try:
        names = all_names([(str(asked),)], changes)
    except NameShared:
        return
    # Whatever is taken from memory is kept out under its present name, and the other way round.
    for thing in range(6):
        assert ((str(thing),) in names) == (now[thing] in names)
