from collections.abc import Callable

import pytest

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.embeddings import embeddings_are_sound
from orbit_pipelines.model import Store
from tests.worlds import World

Builds = Callable[..., BuildOfRun]


def populate(world: World) -> Store:
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.", "And jam.", "> Jam too.")
    return me


def test_vectors_of_a_build_are_sound(world: World, build_in_run: Builds) -> None:
    populate(world)
    build = build_in_run()
    for look_at in (None, build):
        finding = embeddings_are_sound(world.connection, look_at)
        assert (finding.passed, finding.counts["chunks"]) == (True, 2)


@pytest.mark.parametrize(
    ("tampering", "problem"),
    [
        ("embedding = '[1,0]'", "of_wrong_dimensions"),
        ("embedding = '[0,0,0,0,0,0,0,0]'", "of_zeros"),
        ("embedding = '[2,0,0,0,0,0,0,0]'", "not_of_unit_length"),
        ("embedding = '[0.9,0,0,0,0,0,0,0]'", "not_of_unit_length"),
        ("recipe = 'nobody knows'", "of_unknown_recipes"),
    ],
)
def test_a_vector_that_search_cannot_compare_is_seen(world: World, tampering: str, problem: str) -> None:
    populate(world)
    world.build()
    world.sql(f"update memory.chunk set {tampering} where source_id = 's:1'")
    finding = embeddings_are_sound(world.connection)
    assert (finding.passed, finding.counts[problem]) == (False, 1)
    assert finding.examples == ("me/orbitpilot/orbitpilot.chat_history/s:1/0",)


def test_after_a_build_only_what_it_looked_at_is_read(world: World, build_in_run: Builds) -> None:
    me = populate(world)
    world.build()
    world.sql("update memory.chunk set embedding = '[1,0]'")
    world.say(me, "other", "Something new.")
    build = build_in_run()
    assert embeddings_are_sound(world.connection, build).passed
    assert embeddings_are_sound(world.connection).counts["of_wrong_dimensions"] == 2
