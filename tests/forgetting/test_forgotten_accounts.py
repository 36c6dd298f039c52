"""`--account`: everything of a person goes, the originals stay, and the tombstones no longer need the name."""

from typing import Any

import polars as pl
import pytest

from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.checking.forgotten import no_artifact_of_a_forgotten_session
from orbit_pipelines.errors import UsageError
from orbit_pipelines.forgetting.selection import Selectors
from orbit_pipelines.history.accounts import create_account, delete_account
from orbit_pipelines.history.forgotten_accounts import hash_users
from orbit_pipelines.history.importing import ImportResult, import_sessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession
from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.lineage.replay import replay_differences
from orbit_pipelines.lineage.views import forgets_file
from orbit_pipelines.model import Store
from orbit_pipelines.sources.records import put_record
from tests.forgetting.forgetful import counts, forget_in, talk
from tests.worlds import World

WHO = "melusine-7"
"""A name that is part of no word."""
ME, YOU = Store(WHO), Store("you")


ORIGINALS = ("account", "session", "session_participant", "message", "record")


def naming(world: World, who: str = WHO) -> dict[str, int]:
    """Return how many rows of each table but the originals name the person, in whatever column."""
    tables = world.sql(
        "select relnamespace::regnamespace::text, relname from pg_class"
        " where relnamespace::regnamespace::text in ('memory', 'orbitpilot') and relkind = 'r' order by 1, 2"
    )
    found = {
        table: world.sql(f"select count(*) from {schema}.{table} as t where t::text like %s", f"%{who}%")[0][0]
        for schema, table in tables
        if schema == "memory" or table not in ORIGINALS
    }
    return {table: rows for table, rows in found.items() if rows}


def forgets_in_mirror(world: World) -> set[str]:
    """Return whom the mirror's list of forgotten sessions names."""
    return set(pl.read_parquet(forgets_file(world.settings.lineage))["user_id"])


@pytest.fixture
def two_people(world: World) -> World:
    """Two people with all kinds of rows, one of them with two agents, built together and alone, and mirrored."""
    for store in (ME, Store(WHO, "other"), YOU):
        talk(world, store=store)
        world.record(store, "profile.facts", "fact", f"A fact of {store.user_id}.")
    ids = world.say(ME, "s1", "Not this.", "> Fine.")
    world.remember(ME, "s1", ids[0], remembered=False)
    world.build(WHO)
    world.build()
    mirror_lineage(world.connection, world.settings.lineage)
    return world


def test_an_account_leaves_every_kind_and_its_originals_stay(two_people: World) -> None:
    world = two_people
    originals = world.sql("select * from orbitpilot.message order by 1, 2, 3, 4")
    others = world.sql("select * from memory.chunk where user_id = 'you' order by 1, 2, 3, 4, 5")
    preview = forget_in(world, WHO, account=True, dry_run=True)
    report = forget_in(world, WHO, account=True)
    assert preview.digest == report.digest
    assert set(counts(report)) == {
        "chunks", "embedding_cache", "pair_ledger", "lineage", "skips", "names_in_builds", "lineage_mirror",
    }  # fmt: skip
    assert world.sql("select * from orbitpilot.message order by 1, 2, 3, 4") == originals
    assert world.sql("select * from memory.chunk where user_id = 'you' order by 1, 2, 3, 4, 5") == others
    assert counts(forget_in(world, WHO, account=True)) == {}
    # While the account is there: what keeps its sessions and records out, and what its plan says.
    assert set(naming(world)) == {"tombstone", "forgotten_record", "store", "source_status"}
    assert forgets_in_mirror(world) == {WHO}


def test_nothing_of_a_forgotten_account_returns_by_builds(two_people: World) -> None:
    world = two_people
    forget_in(world, WHO, account=True)
    for full in (False, True):
        world.build(full=full)
        assert world.sql("select distinct user_id from memory.chunk") == [("you",)]
        assert replay_differences(world.connection).is_sound
    assert set(counts(forget_in(world, WHO, account=True))) <= {"names_in_builds"}


def test_the_tombstones_of_an_account_that_went_stay_under_a_hash_alone(two_people: World) -> None:
    world = two_people
    forget_in(world, WHO, account=True)
    delete_account(world.connection, WHO)
    world.build()
    assert world.sql("select count(*) from memory.tombstone") == [(0,)]
    [user_hash] = hash_users([WHO], load_hash_key(world.settings))
    assert world.sql("select distinct user_hash, count(*) from memory.account_tombstone group by 1") == [(user_hash, 6)]
    report = forget_in(world, WHO, account=True)
    assert set(counts(report)) <= {"skips", "names_in_builds", "chunks", "lineage"}
    assert naming(world) == {}
    assert forgets_in_mirror(world) == set()


@pytest.mark.parametrize("is_built", [False, True])
def test_an_account_that_went_before_its_forget_is_named_nowhere_afterwards(two_people: World, is_built: bool) -> None:
    world = two_people
    delete_account(world.connection, WHO)
    if is_built:
        world.build()
    preview = forget_in(world, WHO, account=True, dry_run=True)
    report = forget_in(world, WHO, account=True)
    assert (preview.digest, report.is_verified) == (report.digest, True)
    assert naming(world) == {}
    assert forgets_in_mirror(world) == set()
    assert world.sql("select count(*) from memory.account_tombstone") == [(6,)]
    again = forget_in(world, WHO, account=True)
    assert (again.selection.is_empty, counts(again), naming(world)) == (True, {}, {})
    world.build(full=True)
    assert naming(world) == {}


def test_former_names_of_a_forgotten_account_are_forgotten(two_people: World) -> None:
    world = two_people
    world.sql("update orbitpilot.session set session_id = 'new' where user_id = %s and session_id = 's2'", WHO)
    world.sql(
        "update orbitpilot.session set user_id = 'you', session_id = 'given' where user_id = %s and session_id = 's3'"
        " and agent_id = 'other'",
        WHO,
    )
    world.sql("update orbitpilot.account set user_id = 'somebody' where user_id = %s", WHO)
    world.build()
    preview = forget_in(world, "somebody", account=True, dry_run=True)
    report = forget_in(world, "somebody", account=True)
    assert preview.digest == report.digest
    assert counts(report)["former_names"] > 0
    assert naming(world) == {}
    world.build()
    assert "given:0" in world.contents()


def test_the_store_of_an_account_that_went_is_kept_for_a_build_at_work(two_people: World) -> None:
    world = two_people
    world.say(ME, "s1", "And this.", "> Yes.")
    run = world.run()
    run.embedding()
    delete_account(world.connection, WHO)
    forget_in(world, WHO, account=True)
    assert set(naming(world)) == {"store"}
    run.diff_apply()
    assert world.sql("select distinct user_id from memory.chunk") == [("you",)]
    forget_in(world, WHO, account=True)
    assert naming(world) == {}


def test_an_account_that_comes_back_is_still_forgotten(two_people: World) -> None:
    world = two_people
    forget_in(world, WHO, account=True)
    delete_account(world.connection, WHO)
    world.build()
    create_account(world.connection, WHO)
    world.say(ME, "s1", "I like tea in s1.", "> Noted.")
    world.say(ME, "s9", "Something new.", "> Oh.")
    world.build()
    assert world.sql("select source_id from memory.chunk where user_id = 'melusine-7'") == [("s9:0",)]
    assert world.sql(
        "select source_id, reason from memory.skipped where user_id = 'melusine-7' and until_build_id is null"
    ) == [("s1:0", "session_forgotten")]


def test_the_records_of_an_account_that_comes_back_are_still_forgotten(two_people: World) -> None:
    world = two_people
    put_record(world.connection, ME, "blink.blinks", "caught", "Tea again.", origin_session_id="s1")
    world.build()
    forget_in(world, WHO, account=True)
    delete_account(world.connection, WHO)
    world.build()
    create_account(world.connection, WHO)
    # All of it before any build has looked who came back.
    world.record(ME, "profile.facts", "fact", "Said again.")
    world.record(ME, "profile.facts", "other", "Never said before.")
    put_record(world.connection, ME, "blink.blinks", "caught", "Tea again.")
    put_record(world.connection, ME, "blink.blinks", "late", "Caught late.", origin_session_id="s2")
    for full in (False, True):
        world.build(full=full)
        assert world.sql("select source_id from memory.chunk where user_id = %s", WHO) == [("other",)]
    assert no_artifact_of_a_forgotten_session(world.connection, world.settings).passed
    # From here on it is the owner's decision, as ever.
    world.exclude(ME, "profile.facts", "fact", excluded=False)
    world.build()
    world.build()
    assert ("fact",) in world.sql("select source_id from memory.chunk where user_id = %s", WHO)


def test_an_import_into_an_account_that_came_back_gives_forgotten_sessions_their_names(world: World) -> None:
    def bring(*replies: str) -> ImportResult:
        sessions = [
            ParsedSession(
                None, (ParsedMessage(None, None, "user", "Hello."), ParsedMessage(None, None, "assistant", reply))
            )
            for reply in replies
        ]
        return import_sessions(world.connection, ME, sessions, hash_key=load_hash_key(world.settings))

    world.account(WHO)
    bring("One.", "Another.")
    world.build()
    forget_in(world, WHO, account=True)
    delete_account(world.connection, WHO)
    world.build()
    create_account(world.connection, WHO)
    # The second alone: its opening is the first one's too.
    assert bring("Another.").session_forgotten == 1
    world.build()
    assert world.contents() == {}


def test_an_account_that_comes_back_while_a_build_begins_is_not_published(two_people: World) -> None:
    world = two_people
    forget_in(world, WHO, account=True)
    delete_account(world.connection, WHO)
    world.build()
    run = world.run(full=True)
    assert run.build_id
    create_account(world.connection, WHO)
    world.say(ME, "s1", "I like tea in s1.", "> Noted.")
    world.record(ME, "profile.facts", "fact", "Said again.")
    run.diff_apply()
    assert world.sql("select distinct user_id from memory.chunk") == [("you",)]
    assert world.sql("select count(*) from memory.embedding_cache where user_id = %s", WHO) == [(0,)]
    run.connection.close()


def test_what_a_person_says_after_their_account_was_forgotten_is_remembered(two_people: World) -> None:
    world = two_people
    forget_in(world, WHO, account=True)
    world.say(ME, "s9", "Something new.", "> Oh.")
    world.build()
    assert world.sql("select source_id from memory.chunk where user_id = 'melusine-7'") == [("s9:0",)]


def test_a_renamed_account_keeps_its_tombstones_for_good(two_people: World) -> None:
    world = two_people
    forget_in(world, WHO, account=True)
    world.sql("update orbitpilot.account set user_id = 'melusine-8' where user_id = %s", WHO)
    world.build()
    assert world.sql("select count(*) from memory.chunk where user_id like 'melusine%%'") == [(0,)]
    delete_account(world.connection, "melusine-8")
    world.build()
    assert world.sql("select count(*) from memory.tombstone where user_id = 'melusine-8'") == [(6,)]


@pytest.mark.parametrize("other", [{"agent_id": "a"}, {"since": "2026-01-01T00:00:00+00:00"}])
def test_an_account_is_taken_whole_or_not_at_all(other: dict[str, Any]) -> None:
    from datetime import datetime

    if "since" in other:
        other = {"since": datetime.fromisoformat(other["since"])}
    with pytest.raises(UsageError, match="--account"):
        Selectors("me", account=True, **other)


def test_the_account_of_nobody_finds_nothing_and_writes_nothing(world: World) -> None:
    report = forget_in(world, "nobody", account=True)
    assert report.selection.is_empty
    assert world.sql("select count(*) from memory.store") == [(0,)]
