"""Whole builds on real PostgreSQL: what memory holds afterwards, and what lineage says of it."""

from orbit_pipelines.building.states import pair_states


def test_a_first_build_remembers_every_pair(world):
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.", "And jam.", "> Jam too.")
    published = world.build()
    assert world.contents() == {"s:0": "I like tea.\n\nNoted.", "s:1": "And jam.\n\nJam too."}
    assert (published.added, published.removed, published.embedded) == (2, 0, 2)
    assert world.changes() == [("s:0", "added", "new_pair"), ("s:1", "added", "new_pair")]


def test_nothing_changed_writes_one_build_row_and_nothing_else(world):
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.")
    world.build()
    before = world.sql("select * from memory.watermark"), world.chunks()
    assert world.build().added == 0
    assert (world.sql("select * from memory.watermark"), world.chunks()) == before
    assert world.sql("select status from memory.build order by build_id") == [("published",), ("unchanged",)]


def states(world, store):
    rows = pair_states(world.connection, store).select("source_id", "state", "reason").rows()
    return {source: (state, reason) for source, state, reason in rows}


def test_a_pairs_state_tells_what_the_next_build_will_do(world):
    me = world.account("me")
    first, _ = world.say(me, "s", "I like tea.", "> Noted.")
    assert states(world, me) == {"s:0": ("pending", "new_pair")}
    world.build()
    assert states(world, me) == {"s:0": ("remembered", None)}
    world.remember(me, "s", first, remembered=False)
    assert states(world, me) == {"s:0": ("pending_removal", "not_remembered")}
    world.build()
    assert states(world, me) == {"s:0": ("not_remembered", "not_remembered")}
    world.remember(me, "s", first, remembered=True)
    assert states(world, me) == {"s:0": ("pending_return", "remembered_again")}
    world.build()
    assert states(world, me) == {"s:0": ("remembered", None)}
    assert world.embedder.texts_embedded == 1
