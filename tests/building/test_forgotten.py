"""Tombstones at every step of a build: what is forgotten is neither embedded, nor cached, nor published."""

import logging

import pytest

from orbit_pipelines.building.run import build
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.model import Store
from tests.worlds import World

ME = Store("me")
TOMBSTONE = "insert into memory.tombstone (user_id, agent_id, session_id) values ('me', 'orbitpilot', %s)"


class Attentive(FakeEmbedder):
    """Remembers what it was given."""

    def __init__(self) -> None:
        super().__init__(dimensions=8)
        self.given: list[str] = []

    def embed_passages(self, texts):  # type: ignore[no-untyped-def]
        self.given += texts
        return super().embed_passages(texts)


@pytest.fixture
def listening(world: World) -> tuple[World, Attentive]:
    embedder = Attentive()
    world.embedder = embedder
    world.account("me")
    world.say(ME, "s", "A secret.")
    world.say(ME, "t", "Tea.")
    return world, embedder


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("step", ["extraction", "pairing", "chunking"])
def test_what_is_forgotten_after_a_step_is_not_embedded(
    listening: tuple[World, Attentive], step: str, full: bool, caplog: pytest.LogCaptureFixture
) -> None:
    world, embedder = listening
    run = world.run(full=full)
    getattr(run, step)()
    world.sql(TOMBSTONE, "s")
    with caplog.at_level(logging.INFO, "orbit_pipelines"):
        build(run)

    assert embedder.given == ["Tea."]
    assert set(world.contents()) == {"t:0"}
    assert world.skips() == {"s:0": "session_forgotten"}
    assert "session_forgotten: session me/orbitpilot/s is skipped" in caplog.text
    assert "secret" not in caplog.text


def test_what_is_forgotten_after_embedding_is_not_published(
    listening: tuple[World, Attentive], caplog: pytest.LogCaptureFixture
) -> None:
    world, _ = listening
    run = world.run()
    run.embedding()
    world.sql(TOMBSTONE, "s")
    with caplog.at_level(logging.INFO, "orbit_pipelines"):
        build(run)

    assert set(world.contents()) == {"t:0"}
    assert "session_forgotten: session me/orbitpilot/s is skipped" in caplog.text


def test_what_was_forgotten_before_is_skipped_at_extraction_and_the_log_says_so(
    listening: tuple[World, Attentive], caplog: pytest.LogCaptureFixture
) -> None:
    world, embedder = listening
    world.sql(TOMBSTONE, "s")
    with caplog.at_level(logging.INFO, "orbit_pipelines"):
        world.build()

    assert embedder.given == ["Tea."]
    assert world.skips() == {"s:0": "session_forgotten"}
    assert "session_forgotten: session me/orbitpilot/s is skipped" in caplog.text


def test_a_store_in_which_a_forget_began_is_not_embedded_at_all(listening: tuple[World, Attentive]) -> None:
    world, embedder = listening
    world.say(world.account("you"), "y", "Yours.")
    run = world.run()
    run.chunking()
    world.sql("insert into memory.store values ('me', 'orbitpilot', 1)")
    build(run)

    assert embedder.given == ["Yours."]
    assert set(world.contents()) == {"y:0"}
    assert world.sql("select distinct user_id from memory.embedding_cache") == [("you",)]
    world.build()
    assert set(world.contents()) == {"s:0", "t:0", "y:0"}


def test_a_removal_of_what_is_forgotten_leaves_no_hash_in_lineage(world: World) -> None:
    world.account("me")
    world.say(ME, "s", "A secret.")
    world.build()
    world.sql(TOMBSTONE, "s")
    world.build()

    assert world.sql("select action, reason, content_hash is null from memory.change order by changed_at") == [
        ("added", "new_pair", False),
        ("removed", "session_forgotten", True),
    ]


MOVES = {
    "to another person": "update orbitpilot.session set user_id = 'you' where session_id = 's'",
    "to another agent": "update orbitpilot.session set agent_id = 'other' where session_id = 's'",
    "to another id": "update orbitpilot.session set session_id = 'renamed' where session_id = 's'",
    "with its account": "update orbitpilot.account set user_id = 'i' where user_id = 'me'",
}


@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_a_forgotten_session_that_moves_stays_forgotten(world: World, move: str, is_built: bool) -> None:
    world.account("me")
    world.account("you")
    world.say(ME, "s", "A secret.", "> I see.", "Another.")
    world.build()
    world.sql(TOMBSTONE, "s")
    if is_built:
        world.build()
    world.sql(move)
    for full in (False, True):
        world.build(full=full)
        assert world.contents() == {}
        assert set(world.skips().values()) <= {"session_forgotten"}
    [(user, agent, session)] = world.sql("select user_id, agent_id, session_id from orbitpilot.session")
    world.say(Store(user, agent), session, "More.")
    world.build()
    assert world.contents() == {}
    assert world.sql("select max(pair_index) from memory.pair") == [(2,)]


@pytest.mark.parametrize("move", list(MOVES.values())[:3], ids=list(MOVES)[:3])
def test_a_session_that_moves_to_a_forgotten_id_is_forgotten(world: World, move: str) -> None:
    world.account("me")
    world.account("you")
    for user, agent, session in (("you", "orbitpilot", "s"), ("me", "other", "s"), ("me", "orbitpilot", "renamed")):
        world.sql(
            "insert into memory.tombstone (user_id, agent_id, session_id) values (%s, %s, %s)", user, agent, session
        )
    world.say(ME, "s", "Tea.", "> I see.")
    world.build()
    assert set(world.contents()) == {"s:0"}

    world.sql(move)
    world.build()
    assert world.contents() == {}
    assert ("session_deleted",) in world.sql("select distinct reason from memory.change where action = 'removed'")
    assert "session_forgotten" in world.skips().values()
    world.build(full=True)
    assert world.contents() == {}


def test_an_account_that_takes_a_name_with_forgotten_sessions_has_them_forgotten(world: World) -> None:
    world.account("me")
    world.sql("insert into memory.tombstone (user_id, agent_id, session_id) values ('you', 'orbitpilot', 's')")
    world.say(ME, "s", "Tea.")
    world.say(ME, "t", "Jam.")
    world.build()
    world.sql("update orbitpilot.account set user_id = 'you'")
    world.build()

    assert set(world.contents()) == {"t:0"}


def test_a_session_that_moves_away_and_back_stays_forgotten(world: World) -> None:
    world.account("me")
    world.account("you")
    world.say(ME, "s", "A secret.")
    world.sql(TOMBSTONE, "s")
    for user in ("you", "me", "you"):
        world.sql("update orbitpilot.session set user_id = %s", user)
        world.build()
        assert world.contents() == {}
