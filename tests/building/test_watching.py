from collections.abc import Callable

import pytest

from orbit_pipelines.building.watching import pending_changes
from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.model import Store
from tests.worlds import World

ANN = Store("ann")


def close_session(world: World) -> None:
    world.sql("update orbitpilot.session set closed_at = now()")


def toggle_message(world: World) -> None:
    world.remember(ANN, "s1", first_message(world), remembered=False)


def first_message(world: World) -> str:
    return str(world.sql("select message_id from orbitpilot.message where role = 'user' order by position")[0][0])


QUIET: dict[str, Callable[[World], object]] = {
    "nothing": lambda _world: None,
    "a toggled message": toggle_message,
    "a toggled record": lambda world: world.exclude(ANN, "profile.facts", "f1", excluded=True),
    "a closed session": close_session,
    "an upsert that changes nothing": lambda world: world.record(ANN, "profile.facts", "f1", "Writes poems."),
}
LOUD: dict[str, Callable[[World], object]] = {
    "a new message": lambda world: world.say(ANN, "s1", "And with silver?"),
    "an edited message": lambda world: world.sql("update orbitpilot.message set content = content || '!'"),
    "a deleted message": lambda world: world.sql(
        "delete from orbitpilot.message where message_id = %s", first_message(world)
    ),
    "a deleted session": lambda world: world.sql("delete from orbitpilot.session"),
    "a new record": lambda world: world.record(ANN, "profile.facts", "f2", "Likes rain."),
    "a deleted record": lambda world: world.sql("delete from orbitpilot.record"),
    "a switch": lambda world: world.sql(
        "update orbitpilot.memory_source set in_rag = false where source_key = 'profile.facts'"
    ),
    "a plan's cap": lambda world: world.sql("update orbitpilot.plan set included_sources = 2"),
    "an assignment": lambda world: world.sql(
        "insert into orbitpilot.source_plan_assignment values ('default', 'profile.facts', false)"
    ),
    "another plan of an account": lambda world: world.sql(
        "with made as (insert into orbitpilot.plan (plan_key, title) values ('other', 'Other') returning plan_key)"
        " update orbitpilot.account set plan_key = 'other' where exists (select from made)"
    ),
    "a forgotten session": lambda world: world.sql(
        "insert into memory.tombstone (user_id, agent_id, session_id, reason)"
        " values ('ann', 'orbitpilot', 's1', 'asked for')"
    ),
    "a deleted account": lambda world: world.sql("delete from orbitpilot.account"),
}


@pytest.fixture
def built(world: World) -> World:
    """A world whose memory has followed it."""
    world.account("ann")
    world.say(ANN, "s1", "What rhymes with orange?", "> Nothing does.")
    world.record(ANN, "profile.facts", "f1", "Writes poems.")
    world.build()
    return world


@pytest.mark.parametrize("change", QUIET)
def test_what_waits_for_the_next_build_asks_for_none(built: World, change: str) -> None:
    QUIET[change](built)

    pending = pending_changes(built.connection)

    assert pending.is_empty
    assert pending.describe() == "nothing"


@pytest.mark.parametrize("change", LOUD)
def test_content_plans_and_switches_ask_for_a_build_until_it_ran(built: World, change: str) -> None:
    LOUD[change](built)

    assert not pending_changes(built.connection).is_empty
    built.build()
    assert pending_changes(built.connection).is_empty


def test_an_empty_database_asks_for_no_first_build(world: World) -> None:
    assert pending_changes(world.connection).is_empty


def test_a_database_with_content_asks_for_its_first_build(world: World) -> None:
    world.account("ann")
    world.record(ANN, "profile.facts", "f1", "Writes poems.")

    pending = pending_changes(world.connection)

    assert pending.is_everything
    assert pending.describe() == "no build has followed this database yet"


def test_another_recipe_asks_for_no_build(built: World) -> None:
    built.sql("insert into memory.recipe select 'other', model, dimensions, details from memory.recipe limit 1")
    built.sql("update memory.watermark set recipe = 'other'")

    assert pending_changes(built.connection).is_empty


def test_the_same_state_has_the_same_fingerprint_and_another_one_another(built: World) -> None:
    built.say(ANN, "s1", "And with silver?")

    first = pending_changes(built.connection).fingerprint
    toggle_message(built)
    toggled = pending_changes(built.connection).fingerprint
    built.say(ANN, "s1", "And with purple?")
    more = pending_changes(built.connection).fingerprint
    built.build()
    after = pending_changes(built.connection).fingerprint

    assert first == toggled
    assert len({first, more, after}) == 3


def test_a_build_of_one_person_leaves_the_others_pending(built: World) -> None:
    create_account(built.connection, "bob")
    for store in (ANN, Store("bob")):
        built.say(store, "s2", "Hello?")

    built.build("ann")

    pending = pending_changes(built.connection)
    assert not pending.is_empty
    built.build("bob")
    assert pending_changes(built.connection).is_empty
