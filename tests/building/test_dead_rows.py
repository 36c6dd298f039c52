"""What a full rebuild leaves behind in memory's tables, as docs/performance.md says: the rows it replaced."""

import time

from tests.worlds import World

ONE_ROW_TABLES = {"build", "watermark"}
"""Tables in which every build, of whatever kind, writes its own row more than once."""


def dead_rows(world: World) -> dict[str, int]:
    """Return the dead rows of each table that has any, once the builds' sessions have reported what they wrote."""
    others = (
        "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        " and backend_type = 'client backend'"
    )
    while world.sql(others):
        time.sleep(0.01)
    world.sql("select pg_stat_force_next_flush()")
    world.sql("select pg_stat_clear_snapshot()")
    return dict(
        world.sql("select relname, n_dead_tup from pg_stat_user_tables where schemaname = 'memory' and n_dead_tup > 0")
    )


def vacuum(world: World) -> None:
    """Vacuum until it is done: a worker that gathers statistics may still see the rows for a moment."""
    while dead_rows(world):
        world.sql("vacuum")


def test_a_full_rebuild_leaves_the_rows_it_replaced_and_a_vacuum_takes_them(world: World) -> None:
    world.sql("alter table memory.chunk set (autovacuum_enabled = false)")
    for user in ("ann", "bob"):
        store = world.account(user)
        for number in range(40):
            world.say(store, f"s{number}", "I like jam. " * 20, "> So I hear. ")
    world.build(full=True)
    vacuum(world)
    held = len(world.chunks())
    world.build(full=True)
    left = dead_rows(world)
    assert left.pop("chunk") == held
    assert left.keys() <= ONE_ROW_TABLES
    vacuum(world)
    assert dead_rows(world) == {}


def test_a_build_of_few_changes_leaves_the_rows_that_left(world: World) -> None:
    world.sql("alter table memory.chunk set (autovacuum_enabled = false)")
    store = world.account("ann")
    for number in range(10):
        world.say(store, f"s{number}", "I like jam.", "> So I hear.")
    world.build()
    vacuum(world)
    world.sql("update orbitpilot.message set not_remembered = true where session_id = 's3' and role = 'user'")
    world.build()
    assert dead_rows(world)["chunk"] == 1
