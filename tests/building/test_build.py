"""Whole builds on real PostgreSQL: what memory holds afterwards, and what lineage says of it."""


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
