"""Changes that reach memory by a side road: each is seen by the next incremental build, and by it alone brought in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.database.connection import beside, connect
from orbit_pipelines.model import CHAT_HISTORY, Store
from orbit_pipelines.sources.administration import assign_source, create_plan, set_cap, unassign_source
from tests.building.scratch_rebuild import rebuild_from_scratch, stored_chunks
from tests.worlds import Connection, World


@pytest.fixture
def household(world: World) -> World:
    """Two people on a plan of their own, each with a chat and a record of every other source; built."""
    create_plan(world.connection, "family", title="Family", included_sources=4)
    create_plan(world.connection, "tiny", title="Tiny", included_sources=1)
    for user in ("me", "you"):
        store = world.account(user, "family")
        world.say(store, f"{user}-s", "I like tea.", "> Noted.", "And jam.", "> Yes.")
        world.record(store, "profile.facts", "fact", f"{user} was born in May.")
        world.record(store, "blink.blinks", "blink", "A thought.")
    world.build()
    return world


@dataclass(frozen=True)
class SideRoad:
    """What somebody does, and the sources of memory that differ after it: source id → its owner, or None when gone."""

    do: Callable[[World], object]
    added: frozenset[tuple[str, str]] = frozenset()
    removed: frozenset[tuple[str, str]] = frozenset()
    updated: frozenset[tuple[str, str]] = frozenset()


ME = Store("me")
MINE = frozenset({("me", "me-s:0"), ("me", "me-s:1")})
CHATS = MINE | {("you", "you-s:0"), ("you", "you-s:1")}
FACTS = frozenset({("me", "fact"), ("you", "fact")})
MY_OWN = "(user_id, agent_id, session_id) = ('me', 'orbitpilot', 'me-s')"

SIDE_ROADS = {
    "an account moved to another plan": SideRoad(
        lambda world: world.sql("update orbitpilot.account set plan_key = 'tiny' where user_id = 'me'"),
        removed=MINE | {("me", "fact")},
    ),
    "an account lost its plan": SideRoad(
        lambda world: world.sql("update orbitpilot.account set plan_key = null where user_id = 'me'")
    ),
    "the registry's order": SideRoad(
        lambda world: (
            set_cap(world.connection, "family", 3),
            world.sql("update orbitpilot.memory_source set position = 0 where source_key = %s", CHAT_HISTORY),
        ),
        removed=FACTS,
    ),
    "what a source is by default": SideRoad(
        lambda world: world.sql(
            "update orbitpilot.memory_source set default_visible = false where source_key = 'profile.facts'"
        ),
        removed=FACTS,
    ),
    "a plan's cap": SideRoad(lambda world: set_cap(world.connection, "family", 3), removed=CHATS),
    "the kind of a session": SideRoad(
        lambda world: world.sql(f"update orbitpilot.session set session_kind = 'cron' where {MY_OWN}"),
        updated=MINE,
    ),
    "a record's new name": SideRoad(
        lambda world: world.sql(
            "update orbitpilot.record set source_id = 'new' where (user_id, source_id) = ('me', 'fact')"
        ),
        added=frozenset({("me", "new")}),
        removed=frozenset({("me", "fact")}),
    ),
    "a session moved to another person": SideRoad(
        lambda world: world.sql(f"update orbitpilot.session set user_id = 'you' where {MY_OWN}"),
        added=frozenset({("you", "me-s:0"), ("you", "me-s:1")}),
        removed=MINE,
    ),
    "a session moved to another agent": SideRoad(
        lambda world: world.sql(f"update orbitpilot.session set agent_id = 'other' where {MY_OWN}"),
        added=MINE,
        removed=MINE,
    ),
    "the author of a message": SideRoad(
        lambda world: world.sql(
            "update orbitpilot.message set author = 'somebody' where user_id = 'me' and pair_index = 0"
        ),
        updated=frozenset({("me", "me-s:0")}),
    ),
}


@pytest.mark.parametrize("name", SIDE_ROADS)
def test_the_next_build_alone_brings_it_in(household: World, name: str) -> None:
    road = SIDE_ROADS[name]
    road.do(household)
    household.build()
    assert stored_chunks(household).equals(rebuild_from_scratch(household))
    seen: dict[str, set[tuple[str, str]]] = {"added": set(), "removed": set(), "updated": set()}
    for action, user, source in household.sql(
        "select distinct action, user_id, source_id from memory.change"
        " where build_id = (select max(build_id) from memory.build)"
    ):
        seen[action].add((user, source))
    assert seen == {"added": road.added, "removed": road.removed, "updated": road.updated}
    assert household.build().records == 0, "once"


def test_a_deleted_assignment_gives_the_default_back(household: World) -> None:
    assign_source(household.connection, "family", "profile.facts", is_visible=False)
    household.build()
    assert household.changes() == [("fact", "removed", "source_not_assigned")]
    unassign_source(household.connection, "family", "profile.facts")
    household.build()
    assert household.changes() == [("fact", "added", "source_included")]
    assert stored_chunks(household).equals(rebuild_from_scratch(household))


@pytest.mark.parametrize("whom", [(), ("guest",), ("guest", "me")])
def test_another_default_plan_is_that_of_everybody_without_one(household: World, whom: tuple[str, ...]) -> None:
    household.say(household.account("guest"), "guest-s", "I like tea.", "> Noted.")
    household.build()
    household.build("guest")
    for plan, change in (("tiny", "removed"), ("default", "added")):
        household.sql("update orbitpilot.plan set is_default = false")
        household.sql("update orbitpilot.plan set is_default = true where plan_key = %s", plan)
        household.build(*whom)
        assert {(source_id, action) for source_id, action, _ in household.changes()} == {("guest-s:0", change)}
        assert stored_chunks(household).equals(rebuild_from_scratch(household))
        household.build(*whom)
        assert household.sql("select status from memory.build order by build_id desc limit 1") == [("unchanged",)]


@pytest.mark.parametrize(
    "change",
    [
        "insert into orbitpilot.session_participant values ('me', 'orbitpilot', 'me-s', 'aunt')",
        "update orbitpilot.session_participant set actor_id = 'uncle' where actor_id = 'friend'",
        "delete from orbitpilot.session_participant where actor_id = 'friend'",
    ],
)
def test_a_participant_who_comes_or_goes_has_the_session_looked_at_again(household: World, change: str) -> None:
    household.sql("insert into orbitpilot.session_participant values ('me', 'orbitpilot', 'me-s', 'friend')")
    household.build()
    household.sql(change)
    published = household.build()
    assert (published.records, published.unchanged) == (2, 2), "the session's pairs, and nothing else"
    assert stored_chunks(household).equals(rebuild_from_scratch(household))


@pytest.fixture
def other_database(household: World) -> Iterator[Connection]:
    """A transaction that wrote in another database of the same server, and stays open."""
    with connect(beside(household.url, "postgres")) as connection:
        connection.execute("select pg_current_xact_id()")
        yield connection
        connection.rollback()


@pytest.mark.usefixtures("other_database")
def test_a_transaction_left_open_in_another_database_has_nothing_read_again(household: World) -> None:
    for text in ("One.", "Two.", "Three."):
        household.say(ME, "me-s", text, "> Noted.")
        assert household.build().records == 1, "the newest pair alone, though nothing could be vacuumed since"
        household.build()
        assert household.sql("select status from memory.build order by build_id desc limit 1") == [("unchanged",)]
    assert stored_chunks(household).equals(rebuild_from_scratch(household))


def test_a_copy_of_the_database_is_taken_whole_and_stays_as_it_is(household: World) -> None:
    key = load_hash_key(household.settings)
    original = household.connection.info.dbname
    household.connection.close()
    copy = f"{original}_copy"
    with connect(beside(household.url, "postgres"), autocommit=True) as administrator:
        administrator.execute(f'create database "{copy}" template "{original}"'.encode())
    elsewhere = World(
        beside(household.url, copy), household.settings, connect(beside(household.url, copy), autocommit=True)
    )
    try:
        assert load_hash_key(elsewhere.settings) == key
        elsewhere.say(ME, "me-s", "Said in the copy.")
        published = elsewhere.build()
        assert (published.added, published.removed, published.unchanged) == (1, 0, 8)
        assert elsewhere.sql("select note from memory.build order by build_id desc limit 1") == [
            ("the watermark is of another database",)
        ]
    finally:
        elsewhere.close()
        with connect(beside(household.url, "postgres"), autocommit=True) as administrator:
            administrator.execute(f'drop database "{copy}"'.encode())
