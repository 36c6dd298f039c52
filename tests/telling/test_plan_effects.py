"""Sources by plan: what a proposal does to people, and who may see and save it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.errors import InsufficientPrivilege

from orbit_pipelines.errors import UnknownPlan
from orbit_pipelines.model import CHAT_HISTORY, Reason
from orbit_pipelines.sources.administration import create_plan
from orbit_pipelines.sources.availability import RegisteredSource
from orbit_pipelines.sources.resolution import resolve_plans
from orbit_pipelines.telling.plan_effects import (
    Change,
    CrowdedOut,
    Effect,
    PeopleCount,
    PlanRow,
    SourcesByPlan,
    count_people,
    crowded_out,
    difference,
    effects_of,
    people_without_build,
    read_sources_by_plan,
    save_change,
)
from tests.telling.conftest import Acting
from tests.worlds import World

BLINKS, DOCUMENTS, FACTS = "blink.blinks", "files.documents", "profile.facts"
KEYS = (BLINKS, DOCUMENTS, FACTS, CHAT_HISTORY)
SAVED = SourcesByPlan(
    sources=tuple(RegisteredSource(key, key, place, True, True) for place, key in enumerate(KEYS)),
    plans=(PlanRow("default", "Default", 4, is_default=True), PlanRow("essential", "Essential", 3, is_default=False)),
)
EVERYBODY_BUILT = tuple(
    PeopleCount(plan, key, "included" if (plan, key) != ("essential", CHAT_HISTORY) else "not_included", people)
    for plan, people in (("default", 5), ("essential", 7))
    for key in KEYS
)


def effects(change: Change, people: tuple[PeopleCount, ...] = EVERYBODY_BUILT) -> list[Effect]:
    return list(effects_of(SAVED.changed(change), people))


def test_nothing_proposed_does_nothing() -> None:
    assert effects(Change()) == []


def test_a_switch_takes_a_source_from_everybody_and_makes_room_under_a_cap() -> None:
    assert effects(Change(switches={BLINKS: False})) == [
        Effect("default", BLINKS, 5, 0, Reason.SOURCE_SWITCHED_OFF),
        Effect("essential", BLINKS, 7, 0, Reason.SOURCE_SWITCHED_OFF),
        Effect("essential", CHAT_HISTORY, 0, 7, None),
    ]


def test_a_cap_crowds_out_the_last_sources_and_gives_them_back() -> None:
    assert effects(Change(caps={"default": 2, "essential": 4})) == [
        Effect("default", FACTS, 5, 0, Reason.SOURCE_OVER_CAP),
        Effect("default", CHAT_HISTORY, 5, 0, Reason.SOURCE_OVER_CAP),
        Effect("essential", CHAT_HISTORY, 0, 7, None),
    ]


def test_an_assignment_is_one_plans_and_none_lets_the_default_decide() -> None:
    taken = SAVED.changed(Change(assignments={("default", BLINKS): False}))

    assert list(effects_of(taken, EVERYBODY_BUILT)) == [Effect("default", BLINKS, 5, 0, Reason.SOURCE_NOT_ASSIGNED)]
    assert taken.changed(Change(assignments={("default", BLINKS): None})) == SAVED


def test_what_was_saved_and_never_built_has_taken_nothing_from_anybody() -> None:
    switched_off = SAVED.changed(Change(switches={BLINKS: False}))
    back_on = switched_off.changed(Change(switches={BLINKS: True}))

    assert list(effects_of(back_on, EVERYBODY_BUILT)) == []


@pytest.mark.parametrize("change", [Change(), Change(switches={FACTS: False}), Change(caps={"default": 1})])
def test_people_whom_no_build_has_covered_are_told_apart_and_never_counted(change: Change) -> None:
    newcomers = tuple(PeopleCount("default", key, None, 2) for key in KEYS)

    assert effects(change, newcomers) == []
    assert effects(change, EVERYBODY_BUILT + newcomers) == effects(change)
    assert people_without_build(EVERYBODY_BUILT + newcomers) == {"default": 2, "essential": 0}


def test_a_source_that_came_since_the_last_build_is_gained_by_those_it_covered() -> None:
    people = tuple(
        PeopleCount("default", key, status, count)
        for key in KEYS
        for status, count in (([(None, 7)]) if key == FACTS else [("included", 5), (None, 2)])
    )

    assert effects(Change(), people) == [Effect("default", FACTS, 0, 5, None)]


def test_a_cap_that_leaves_out_an_assigned_source_is_told() -> None:
    assert crowded_out(SAVED) == (CrowdedOut("essential", CHAT_HISTORY, 3),)
    assert crowded_out(SAVED.changed(Change(caps={"essential": 4}))) == ()
    not_assigned = Change(assignments={("essential", CHAT_HISTORY): False})
    assert crowded_out(SAVED.changed(not_assigned)) == ()


changes = st.builds(
    Change,
    switches=st.dictionaries(st.sampled_from(KEYS), st.booleans()),
    assignments=st.dictionaries(
        st.tuples(st.sampled_from(("default", "essential")), st.sampled_from(KEYS)), st.none() | st.booleans()
    ),
    caps=st.dictionaries(st.sampled_from(("default", "essential")), st.integers(0, 5)),
)


@given(changes, changes)
def test_the_difference_makes_the_one_into_the_other(first: Change, second: Change) -> None:
    saved, proposed = SAVED.changed(first), SAVED.changed(second)

    assert saved.changed(difference(saved, proposed)) == proposed
    assert difference(saved, saved) == Change()


@given(changes)
def test_nobody_loses_and_gains_the_same_source_and_each_person_counts_once(change: Change) -> None:
    for effect in effects(change):
        assert (effect.losing > 0) != (effect.gaining > 0)
        assert effect.losing + effect.gaining == {"default": 5, "essential": 7}[effect.plan_key]
        assert (effect.reason is None) == (effect.gaining > 0)


def test_an_administrator_previews_saves_and_the_next_build_does_what_was_said(world: World, acting: Acting) -> None:
    create_plan(world.connection, "essential")
    world.sql("update orbitpilot.account set is_admin = true where user_id = %s", world.account("root").user_id)
    for user in ("ann", "bob"):
        store = world.account(user, plan="essential")
        world.say(store, "s1", "Plums?", "> Ripe.")
    world.build()
    world.account("newcomer", plan="essential")
    change = Change(caps={"essential": 4}, switches={DOCUMENTS: False}, assignments={("essential", FACTS): False})

    with acting("root") as app:
        saved = read_sources_by_plan(app)
        previewed = effects_of(saved.changed(change), count_people(app))
    before = statuses(world)
    with acting("root") as app:
        assert save_change(app, change)
        assert not save_change(app, change)
        assert effects_of(read_sources_by_plan(app), count_people(app)) == previewed
    world.build()

    assert previewed == (
        Effect("default", DOCUMENTS, 1, 0, Reason.SOURCE_SWITCHED_OFF),
        Effect("essential", DOCUMENTS, 2, 0, Reason.SOURCE_SWITCHED_OFF),
        Effect("essential", FACTS, 2, 0, Reason.SOURCE_NOT_ASSIGNED),
        Effect("essential", CHAT_HISTORY, 0, 2, None),
    )
    after = statuses(world)
    moved = sorted(
        (user, key) for user, key in after if (user, key) in before and after[user, key] != before[user, key]
    )
    assert moved == [
        *[(user, key) for user in ("ann", "bob") for key in (DOCUMENTS, CHAT_HISTORY, FACTS)],
        ("root", DOCUMENTS),
    ]


def statuses(world: World) -> dict[tuple[str, str], str]:
    """Return what the builds found last."""
    rows = world.sql("select user_id, source_key, status from memory.source_status where until_build_id is null")
    return {(user, source): status for user, source, status in rows}


def test_nobody_else_counts_people_or_changes_a_plan(world: World, acting: Acting) -> None:
    world.account("ann")

    with pytest.raises(InsufficientPrivilege), acting("ann") as app:
        count_people(app)
    with acting("ann") as app:
        assert not save_change(app, Change(caps={"default": 1}, switches={BLINKS: False}))
    with pytest.raises(InsufficientPrivilege), acting("ann") as app:
        save_change(app, Change(assignments={("default", BLINKS): False}))
    with acting("ann") as app:
        assert not save_change(app, Change(assignments={("default", BLINKS): None}))
        assert read_sources_by_plan(app) == read_sources_by_plan(world.connection)
    assert crowded_out(read_sources_by_plan(world.connection)) == ()


def test_the_matrix_resolves_as_builds_do(world: World) -> None:
    create_plan(world.connection, "essential")
    assert read_sources_by_plan(world.connection).statuses() == resolve_plans(world.connection)


def test_an_unknown_plan_is_told(world: World) -> None:
    with pytest.raises(UnknownPlan):
        save_change(world.connection, Change(caps={"gold": 1}))
