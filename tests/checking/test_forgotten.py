from collections.abc import Callable

import pytest

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.forgotten import no_artifact_of_a_forgotten_session
from orbit_pipelines.model import Store
from tests.worlds import World

Builds = Callable[..., BuildOfRun]
ME = Store("me")
BLINKS = "blink.blinks"
PLANT_CHUNK = (
    "insert into memory.chunk select user_id, agent_id, 'orbitpilot.chat_history', %s, 0, content_hash, %s, null, '{}',"
    " content, spans, embedding, null, origin_class, session_kind, sent_at, recipe, build_id from memory.chunk"
    " where source_id = 'other:0'"
)


def forget(world: World, session: str) -> None:
    """What a forget leaves once it is done, by hand."""
    with world.connection.transaction():
        world.sql(
            "insert into memory.tombstone (user_id, agent_id, session_id) values ('me', 'orbitpilot', %s)", session
        )
        world.sql(
            "insert into memory.forgotten_record (user_id, agent_id, source_key, source_id, origin_session_id)"
            " select user_id, agent_id, source_key, source_id, origin_session_id from orbitpilot.record"
            " where origin_session_id = %s",
            session,
        )
        world.sql("update orbitpilot.record set is_excluded = true where origin_session_id = %s", session)
    world.sql("delete from memory.embedding_cache")
    world.build()
    world.sql(
        "update memory.change set content_hash = null where source_id ~ ('^' || %s || ':[0-9]+$') or source_id = 'b'",
        session,
    )


@pytest.fixture
def forgotten(world: World) -> World:
    """A world in which a session was forgotten, and another of a longer name wasn't."""
    world.account("me")
    world.say(ME, "s", "A secret.", "> I see.", "tea")
    world.say(ME, "s:1", "Not a secret.")
    world.say(ME, "other", "tea")
    world.record(ME, BLINKS, "b", "Caught.")
    world.sql("update orbitpilot.record set origin_session_id = 's'")
    world.build()
    forget(world, "s")
    assert set(world.contents()) == {"s:1:0", "other:0"}
    return world


def failures(world: World, build: BuildOfRun | None = None) -> dict[str, int]:
    finding = no_artifact_of_a_forgotten_session(world.connection, world.settings, build)
    assert finding.passed == (not any(finding.failures.values()))
    return {name: count for name, count in finding.failures.items() if count}


def test_nothing_is_left_after_a_forget_a_build_and_a_full_rebuild(forgotten: World) -> None:
    assert failures(forgotten) == {}
    forgotten.build(full=True)
    assert failures(forgotten) == {}


def test_what_was_forgotten_since_the_last_build_is_pending(forgotten: World, build_in_run: Builds) -> None:
    forgotten.sql("insert into memory.tombstone (user_id, agent_id, session_id) values ('me', 'orbitpilot', 'other')")

    finding = no_artifact_of_a_forgotten_session(forgotten.connection, forgotten.settings)
    assert finding.passed
    assert finding.counts["pending"] == 1


@pytest.mark.parametrize("session", ["s", "nobody's", None])
def test_a_chunk_is_seen_by_its_session_or_by_its_source_id(forgotten: World, session: str | None) -> None:
    forgotten.sql(PLANT_CHUNK, "s:7", session)
    assert failures(forgotten) == {"chunks_of_forgotten_sessions": 1}


def test_a_chunk_under_another_sessions_number_is_seen(forgotten: World) -> None:
    forgotten.sql(PLANT_CHUNK, "unheard:7", "s")
    assert failures(forgotten) == {"chunks_of_forgotten_sessions": 1}


def test_a_caught_record_is_seen_until_its_owner_takes_it_back(forgotten: World) -> None:
    forgotten.sql("update orbitpilot.record set is_excluded = false")
    forgotten.build()
    assert "b" in forgotten.contents()
    assert failures(forgotten) == {}

    forgotten.sql("update memory.forgotten_record set taken_back_at = null")
    forgotten.build(full=True)
    assert failures(forgotten)["records_that_are_not_kept_out"] == 1
    forgotten.sql(PLANT_CHUNK.replace("orbitpilot.chat_history", BLINKS).replace(", 0, ", ", 7, "), "b", "s")
    assert failures(forgotten)["forgotten_records_in_memory"] == 1


def test_a_pair_left_out_for_another_reason_is_seen(forgotten: World) -> None:
    forgotten.sql("update memory.skipped set reason = 'not_remembered' where source_id = 's:1'")
    assert failures(forgotten) == {"pairs_left_out_for_another_reason": 1}


def test_a_hash_in_lineage_is_seen(forgotten: World) -> None:
    forgotten.sql(
        "update memory.change set content_hash = 'x' where ctid = (select min(ctid) from memory.change"
        " where source_id = 's:0')"
    )
    assert failures(forgotten) == {"hashes_in_lineage": 1}


def test_a_cached_vector_of_a_forgotten_text_is_seen_and_one_that_another_session_says_too_is_not(
    world: World, build_in_run: Builds
) -> None:
    world.account("me")
    world.say(ME, "s", "A secret.", "tea")
    world.say(ME, "other", "tea")
    world.build()
    world.sql("create table kept as select * from memory.embedding_cache")
    forget(world, "s")
    world.sql("insert into memory.embedding_cache select * from kept on conflict do nothing")
    assert world.sql("select count(*) from kept") == [(2,)]

    assert failures(world) == {"sessions_with_cached_vectors": 1}
    world.say(ME, "s", "More.")
    assert failures(world, build_in_run()) == {"sessions_with_cached_vectors": 1}
    world.say(ME, "other", "A secret.")
    world.build()
    assert failures(world) == {}


def test_after_an_incremental_build_its_people_are_looked_at(forgotten: World, build_in_run: Builds) -> None:
    forgotten.account("you")
    forgotten.say(Store("you"), "y", "Hello.")
    build = build_in_run()
    forgotten.sql(PLANT_CHUNK, "s:7", "s")
    assert failures(forgotten, build) == {}
    assert failures(forgotten) == {"chunks_of_forgotten_sessions": 1}
    forgotten.say(ME, "third", "Me again.")
    assert failures(forgotten, build_in_run()) == {"chunks_of_forgotten_sessions": 1}
