"""Vectors of another length than their model's, however they came there: never compared, replaced when they are met."""

import pytest

from orbit_pipelines.checking.embeddings import embeddings_are_sound
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.errors import BuildFailed
from orbit_pipelines.model import Store
from orbit_pipelines.recall.search import search_memory
from tests.worlds import World

ME = Store("me")
LONGER = str([0.0] * 10 + [1.0])


class Nameless(FakeEmbedder):
    """An embedder whose fingerprint doesn't tell its dimensions, as that of an endpoint once did not."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self.fingerprint = "nameless"


@pytest.fixture
def built(world: World) -> World:
    """A built memory of three pairs."""
    world.account("me")
    world.say(ME, "s", "Tea?", "> Green.", "Plums?", "> Ripe.", "Pears?", "> Not yet.")
    world.build()
    return world


def lengthen(world: World, source: str) -> None:
    """Put a vector of another length where a pair's is, in memory and in the cache."""
    world.sql("update memory.chunk set embedding = %s::halfvec where source_id = %s", LONGER, source)
    world.sql(
        "update memory.embedding_cache set embedding = %s::halfvec"
        " where content_hash = (select content_hash from memory.chunk where source_id = %s)",
        LONGER,
        source,
    )


def lengths(world: World) -> dict[str, list[int]]:
    return {
        table: [length for (length,) in world.sql(f"select distinct vector_dims(embedding) from memory.{table}")]
        for table in ("chunk", "embedding_cache")
    }


def test_a_full_build_replaces_them(built: World) -> None:
    sound = built.chunks()
    lengthen(built, "s:1")
    assert not embeddings_are_sound(built.connection).passed
    published = built.build(full=True)
    assert published.embedded == 1
    assert built.changes() == [("s:1", "added", "repaired"), ("s:1", "removed", "repaired")]
    assert built.chunks() == sound
    assert lengths(built) == {"chunk": [8], "embedding_cache": [8]}


def test_a_quick_build_that_meets_one_replaces_it(built: World) -> None:
    lengthen(built, "s:1")
    built.sql("update orbitpilot.session set session_kind = 'hook'")
    assert built.build().embedded == 1
    assert ("s:1", "added", "repaired") in built.changes()
    assert lengths(built) == {"chunk": [8], "embedding_cache": [8]}


def test_a_cached_one_is_no_hit_for_a_text_that_returns(built: World) -> None:
    sound = built.chunks()
    [(message,)] = built.sql("select message_id from memory.chunk where source_id = 's:1'")
    lengthen(built, "s:1")
    for is_remembered in (False, True):
        built.remember(ME, "s", message, remembered=is_remembered)
        published = built.build()
    assert published.embedded == 1
    assert built.chunks() == sound
    assert lengths(built) == {"chunk": [8], "embedding_cache": [8]}


def test_a_search_passes_over_them(built: World) -> None:
    lengthen(built, "s:1")
    found = search_memory(built.connection, ME, built.embedder.embed_query("Tea?"), built.embedder.fingerprint, limit=9)
    assert {each.source_id for each in found} == {"s:0", "s:2"}


@pytest.mark.parametrize("full", [False, True], ids=["incremental", "full"])
def test_a_fingerprint_that_tells_no_dimensions_mixes_none(world: World, full: bool) -> None:
    world.account("me")
    for number, dimensions in enumerate((8, 11, 8)):
        world.embedder = Nameless(dimensions)
        world.say(ME, "s", f"Question {number}?", "> Hm.")
        world.build(full=full)
        assert lengths(world)["chunk"] == [dimensions]
        assert embeddings_are_sound(world.connection).passed
        query = world.embedder.embed_query("Question?")
        assert len(search_memory(world.connection, ME, query, "nameless", limit=9)) == number + 1


def test_a_step_that_finds_another_recipe_than_its_build_began_with_goes_no_further(built: World) -> None:
    built.say(ME, "s", "More?", "> More.")
    before = built.chunks()
    began = built.run()
    began.extraction()
    other = built.run()
    other.run_id, other.embedder = began.run_id, FakeEmbedder(dimensions=11)
    with pytest.raises(BuildFailed, match=r"another number of dimensions \(11\). Nothing was published"):
        other.diff_apply()
    assert built.chunks() == before
    assert lengths(built) == {"chunk": [8], "embedding_cache": [8]}
    other.close()
    built.build()
    assert lengths(built) == {"chunk": [8], "embedding_cache": [8]}
