"""Exact vector search in one store."""

import pytest

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.roles import DatabaseRole, acting_for, connect_as, grant_roles
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.model import Store
from orbit_pipelines.recall.search import Recalled, search_memory
from tests.worlds import World

ANN, BOB = Store("ann"), Store("bob")


@pytest.fixture
def remembering(world: World) -> World:
    """Ann's and Bob's memories, built, under the roles."""
    for store in (ANN, BOB):
        world.account(store.user_id)
        for session in ("s1", "s2"):
            world.say(store, session, f"Plums of {session}?", "> Ripe.")
        world.record(store, "blink.blinks", "b1", "Pears.")
    world.build()
    with connect(world.url) as connection:
        assert grant_roles(connection) == ()
    return world


def search(
    world: World,
    text: str,
    *,
    person: str = "ann",
    store: Store = ANN,
    limit: int = 10,
    beside: str | None = None,
    embedder: FakeEmbedder | None = None,
) -> tuple[Recalled, ...]:
    """Search as the application does for somebody who is signed in."""
    embedder = embedder or world.embedder
    with connect_as(world.url, DatabaseRole.APP) as app, acting_for(app, person):
        return search_memory(
            app, store, embedder.embed_query(text), embedder.fingerprint, limit=limit, beside_session=beside
        )


def test_the_nearest_comes_first_with_where_it_is_from(remembering: World) -> None:
    [(text, build)] = remembering.sql(
        "select content, build_id from memory.chunk where (user_id, source_id) = ('ann', 's2:0')"
    )

    found = search(remembering, text)

    assert (found[0].source_id, found[0].session_id, found[0].build_id) == ("s2:0", "s2", build)
    assert found[0].similarity == pytest.approx(1, abs=1e-3)
    assert [each.similarity for each in found] == sorted((each.similarity for each in found), reverse=True)
    assert len(found) == 3


def test_a_limit_is_kept(remembering: World) -> None:
    assert [len(search(remembering, "Plums", limit=limit)) for limit in (0, 1, 2, 9)] == [0, 1, 2, 3]


def test_another_persons_memory_is_out_of_reach(remembering: World) -> None:
    assert search(remembering, "Plums", person="ann", store=BOB) == ()


def test_what_is_forgotten_is_out_of_reach_at_once(remembering: World) -> None:
    remembering.sql("insert into memory.tombstone (user_id, agent_id, session_id) values ('ann', 'orbitpilot', 's1')")

    assert {each.source_id for each in search(remembering, "Plums")} == {"s2:0", "b1"}
    assert {each.source_id for each in search(remembering, "Plums", person="bob", store=BOB)} == {"s1:0", "s2:0", "b1"}


def test_a_session_whose_thread_is_at_hand_is_left_out(remembering: World) -> None:
    assert {each.source_id for each in search(remembering, "Plums", beside="s1")} == {"s2:0", "b1"}


def test_what_another_embedder_embedded_is_not_found(remembering: World) -> None:
    assert search(remembering, "Plums", embedder=FakeEmbedder(dimensions=16)) == ()
