from collections.abc import Callable

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.plans import sources_stay_within_the_plan
from orbit_pipelines.model import Store
from tests.worlds import World

Builds = Callable[..., BuildOfRun]

CHAT = "orbitpilot.chat_history"


def populate(world: World) -> Store:
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.")
    world.build()
    return me


def switch_off(world: World) -> None:
    world.sql("update orbitpilot.memory_source set in_rag = false where source_key = %s", CHAT)


def test_a_switch_is_pending_until_the_next_build_takes_it_in(world: World, build_in_run: Builds) -> None:
    populate(world)
    switch_off(world)
    finding = sources_stay_within_the_plan(world.connection)
    assert (finding.passed, finding.counts["people"], finding.counts["pending"]) == (True, 1, 1)
    build = build_in_run()
    for look_at in (None, build):
        finding = sources_stay_within_the_plan(world.connection, look_at)
        assert (finding.passed, finding.counts["pending"]) == (True, 0)


def test_another_plan_is_pending_until_the_next_build(world: World) -> None:
    populate(world)
    world.sql("insert into orbitpilot.plan (plan_key, title, included_sources) values ('small', 'Small', 1)")
    world.sql("update orbitpilot.account set plan_key = 'small'")
    finding = sources_stay_within_the_plan(world.connection)
    assert (finding.passed, finding.counts["pending"]) == (True, 3)


def test_an_account_no_build_has_seen_is_pending(world: World) -> None:
    populate(world)
    world.account("new")
    assert sources_stay_within_the_plan(world.connection).counts["pending"] == 4


def test_a_chunk_of_a_source_that_is_not_included_is_seen(world: World) -> None:
    populate(world)
    world.sql(
        "insert into memory.chunk select user_id, agent_id, 'no.source', source_id, chunk_index, content_hash,"
        " session_id, message_id, reply_message_ids, content, spans, embedding, language, origin_class,"
        " session_kind, sent_at, recipe, build_id from memory.chunk"
    )
    finding = sources_stay_within_the_plan(world.connection)
    assert (finding.passed, finding.counts["chunks_outside_the_plan"]) == (False, 1)
    assert finding.examples == ("me/no.source",)


def test_chunks_that_outlived_their_status_are_seen(world: World) -> None:
    populate(world)
    world.sql(
        "update memory.source_status set status = 'not_included', reason = 'source_over_cap' where source_key = %s",
        CHAT,
    )
    finding = sources_stay_within_the_plan(world.connection)
    assert (finding.counts["chunks_outside_the_plan"], finding.counts["statuses_that_disagree"]) == (1, 1)


def test_a_status_that_is_not_the_plans_is_seen(world: World) -> None:
    populate(world)
    world.sql("delete from memory.source_status where source_key = 'profile.facts'")
    finding = sources_stay_within_the_plan(world.connection)
    assert (finding.passed, finding.counts["statuses_that_disagree"]) == (False, 1)
    assert finding.examples == ("me/profile.facts",)


def test_a_status_of_a_source_nobody_registered_is_seen(world: World) -> None:
    populate(world)
    world.sql(
        "insert into memory.source_status (user_id, source_key, status, since_build_id)"
        " select 'me', 'no.source', 'included', max(build_id) from memory.build"
    )
    assert sources_stay_within_the_plan(world.connection).examples == ("me/no.source",)


def test_after_a_build_only_its_people_are_looked_at(world: World, build_in_run: Builds) -> None:
    populate(world)
    you = world.account("you")
    world.say(you, "s", "I like coffee.")
    world.sql("delete from memory.source_status where user_id = 'me'")
    build = build_in_run()
    assert sources_stay_within_the_plan(world.connection, build).counts["people"] == 1
    assert sources_stay_within_the_plan(world.connection, build).passed
    assert not sources_stay_within_the_plan(world.connection).passed
