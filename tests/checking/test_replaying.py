from collections.abc import Callable

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.replaying import lineage_replays_to_the_index
from orbit_pipelines.model import Store
from tests.worlds import World

Builds = Callable[..., BuildOfRun]


def populate(world: World) -> Store:
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.", "And jam.", "> Jam too.")
    return me


def test_lineage_replays_to_the_index_after_any_build(world: World, build_in_run: Builds) -> None:
    me = populate(world)
    for full in (False, False, True):
        build = build_in_run(full=full)
        assert lineage_replays_to_the_index(world.connection, build).passed
        assert lineage_replays_to_the_index(world.connection).passed
        world.say(me, "s", "One more.")


def test_a_chunk_that_nobody_removed_is_missed(world: World) -> None:
    populate(world)
    world.build()
    world.sql("delete from memory.chunk where source_id = 's:1'")
    finding = lineage_replays_to_the_index(world.connection)
    assert (finding.passed, finding.counts["missing_from_the_index"]) == (False, 1)
    assert finding.examples == ("me/orbitpilot/orbitpilot.chat_history/s:1/0",)


def test_a_chunk_that_nobody_added_and_a_text_that_nobody_changed_are_seen(world: World) -> None:
    populate(world)
    world.build()
    world.sql("update memory.chunk set chunk_index = 5 where source_id = 's:0'")
    world.sql("update memory.chunk set content_hash = '\\x00' where source_id = 's:1'")
    counts = lineage_replays_to_the_index(world.connection).counts
    assert counts == {"missing_from_the_index": 1, "unknown_to_lineage": 1, "of_another_text": 1}


def test_after_a_small_build_only_its_keys_are_replayed(world: World, build_in_run: Builds) -> None:
    me = populate(world)
    world.build()
    world.sql("delete from memory.chunk where source_id = 's:1'")
    world.say(me, "other", "Something new.")
    build = build_in_run()
    assert lineage_replays_to_the_index(world.connection, build).passed
    world.sql("delete from memory.chunk where source_id = 'other:0'")
    assert lineage_replays_to_the_index(world.connection, build).counts["missing_from_the_index"] == 1
