"""The cache keeps no vector of what was deleted, whether memory held it or not, and others for so many days."""

from collections.abc import Callable

import pytest

from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.model import Store
from tests.worlds import World

ME = Store("me")


def cached_texts(world: World) -> int:
    return int(world.sql("select count(*) from memory.embedding_cache")[0][0])


def test_the_cache_forgets_the_texts_of_what_was_deleted_and_of_nothing_else(world: World) -> None:
    me = world.account("me")
    gone, _, _, _ = world.say(me, "s", "Same.", "> Same.", "I like tea.", "> Noted.")
    world.say(me, "t", "Same.", "> Same.")
    (excluded,) = world.say(me, "u", "Only mine.")
    world.record(me, "profile.facts", "fact", "Born in May.")
    world.build()
    world.remember(me, "u", excluded, remembered=False)
    world.build()
    assert cached_texts(world) == 4, "what is excluded may come back, and is not embedded again"
    world.sql("delete from orbitpilot.message where message_id = %s", gone)
    world.build()
    assert cached_texts(world) == 4, "another pair still has the deleted text"
    world.sql("delete from orbitpilot.session where session_id = 't'")
    world.build()
    assert cached_texts(world) == 3
    world.sql("delete from orbitpilot.message where role = 'assistant'")
    world.build()
    assert cached_texts(world) == 3, "the text with the deleted reply went, the one without it came"
    world.sql("delete from orbitpilot.record")
    world.build()
    assert cached_texts(world) == 2
    world.remember(me, "u", excluded, remembered=True)
    embedded = world.embedder.texts_embedded
    world.build()
    assert world.embedder.texts_embedded == embedded


def test_a_vector_nothing_has_used_for_the_configured_days_is_dropped(world: World) -> None:
    me = world.account("me")
    (first,) = world.say(me, "s", "I like tea.")
    world.say(me, "s", "> Noted.")
    world.build()
    world.sql("update orbitpilot.message set content = 'I like coffee.' where message_id = %s", first)
    world.build()
    assert cached_texts(world) == 2
    world.sql("update memory.embedding_cache set used_at = now() - interval '91 days'")
    world.sql("update memory.installation set cache_tended_at = now() - interval '2 days'")
    world.sql("update orbitpilot.message set content = 'I like jam.' where message_id = %s", first)
    world.build()
    assert cached_texts(world) == 2, "the oldest text went; the one that just left begins its days"


def test_unused_vectors_are_looked_for_once_a_day(world: World) -> None:
    me = world.account("me")
    (first,) = world.say(me, "s", "I like tea.")
    world.build()
    for drink in ("coffee", "jam"):
        world.sql("update orbitpilot.message set content = 'I like ' || %s where message_id = %s", drink, first)
        world.build()
        world.sql("update memory.embedding_cache set used_at = now() - interval '91 days'")
    assert cached_texts(world) == 3, "the first look was earlier today"


def test_unused_vectors_are_looked_for_also_when_nothing_leaves(world: World) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.")
    world.build()
    world.sql("delete from memory.chunk")
    world.sql("update memory.embedding_cache set used_at = now() - interval '91 days'")
    world.sql("update memory.installation set cache_tended_at = now() - interval '2 days'")
    world.say(me, "t", "And jam.")
    world.build()
    assert cached_texts(world) == 1


def test_vectors_of_a_former_model_have_their_days_though_their_texts_stay(world: World) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.")
    world.build()
    world.embedder = FakeEmbedder(dimensions=4)
    world.build()
    assert cached_texts(world) == 2, "the model may come back"
    world.sql("update memory.embedding_cache set used_at = now() - interval '91 days'")
    world.sql("update memory.installation set cache_tended_at = now() - interval '2 days'")
    world.say(me, "t", "And jam.")
    world.build()
    assert world.sql("select distinct model from memory.embedding_cache") == [(world.embedder.fingerprint,)]
    assert cached_texts(world) == 2


def excluded(world: World) -> None:
    world.build()
    world.sql("update orbitpilot.message set not_remembered = true where role = 'user'")
    world.sql("update orbitpilot.record set is_excluded = true")
    world.build()


def switched_off(world: World) -> None:
    world.build()
    world.sql("update orbitpilot.memory_source set in_rag = false")
    world.build()


def embedded_by_a_build_that_died(world: World) -> None:
    world.build()
    world.say(ME, "s", "Said since.", "> Noted since.")
    world.record(ME, "profile.facts", "since", "Known since.")
    run = world.run()
    run.embedding()
    run.connection.close()


def embedded_by_a_first_build_that_died(world: World) -> None:
    run = world.run()
    run.embedding()
    run.connection.close()


def deleted_account(world: World) -> None:
    world.sql("delete from orbitpilot.account where user_id = 'me'")


def deleted_account_made_anew(world: World) -> None:
    deleted_account(world)
    world.account("me")


def deleted_messages(world: World) -> None:
    world.sql("delete from orbitpilot.message where user_id = 'me'")
    world.sql("delete from orbitpilot.record where user_id = 'me'")


def deleted_sessions(world: World) -> None:
    world.sql("delete from orbitpilot.session where user_id = 'me'")
    world.sql("delete from orbitpilot.record where user_id = 'me'")


@pytest.mark.parametrize("whom", [(), ("me",), ("me", "you")], ids=["everyone", "me", "both"])
@pytest.mark.parametrize("is_full", [False, True], ids=["incremental", "full"])
@pytest.mark.parametrize(
    "delete",
    [deleted_messages, deleted_sessions, deleted_account, deleted_account_made_anew],
    ids=lambda do: do.__name__,
)
@pytest.mark.parametrize(
    "cache",
    [excluded, switched_off, embedded_by_a_build_that_died, embedded_by_a_first_build_that_died],
    ids=lambda do: do.__name__,
)
def test_what_memory_does_not_hold_leaves_no_vector_once_it_is_deleted(
    world: World, cache: Callable[[World], None], delete: Callable[[World], None], is_full: bool, whom: tuple[str, ...]
) -> None:
    for user in ("me", "you"):
        store = world.account(user)
        world.say(store, "s", "I like jam.", "> So I hear.")
        world.record(store, "profile.facts", "fact", "Born in May.")
    cache(world)
    of_others = "select content_hash from memory.embedding_cache where user_id = 'you' order by 1"
    before = world.sql(of_others)
    assert before
    delete(world)
    world.build(*whom, full=is_full)
    assert world.sql("select user_id from memory.embedding_cache where user_id = 'me'") == []
    assert world.sql(of_others) == before


def test_the_deletions_of_people_no_build_has_followed_are_kept_for_their_first_one(world: World) -> None:
    me, you = world.account("me"), world.account("you")
    for store in (me, you):
        world.say(store, "s", "I like jam.")
    embedded_by_a_first_build_that_died(world)
    world.sql("delete from orbitpilot.message where user_id = 'me'")
    world.build("you")
    world.build("you", full=True)
    assert cached_texts(world) == 2
    world.build()
    assert world.sql("select user_id from memory.embedding_cache") == [("you",)]
