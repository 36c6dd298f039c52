import pytest
from psycopg import sql

from orbit_pipelines.database.connection import connect
from orbit_pipelines.forgetting.physical.rewriting import judge, rewrite, vacuum
from tests.worlds import World


def fill(world: World) -> None:
    world.sql("create table memory.thing (key int primary key, content text)")
    world.sql("insert into memory.thing select n, repeat('x', n) from generate_series(1, 300) as n")


@pytest.mark.parametrize("work", [vacuum, rewrite])
def test_dead_rows_go(world: World, work: object) -> None:
    fill(world)
    world.sql("delete from memory.thing where key > 100")

    [outcome] = work(world.connection, ["memory.thing"])  # type: ignore[operator]

    assert outcome.problem is None


@pytest.mark.parametrize("work", [vacuum, rewrite])
def test_dead_rows_that_an_older_transaction_may_read_are_told(world: World, work: object) -> None:
    fill(world)
    with connect(world.url) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from memory.build")
        world.sql("delete from memory.thing where key > 100")

        [outcome] = work(world.connection, ["memory.thing"])  # type: ignore[operator]

    assert outcome.problem == "200 dead rows can't be removed yet: an older transaction may still read them"


@pytest.mark.parametrize("work", [vacuum, rewrite])
def test_a_table_that_the_role_may_not_vacuum_is_told(world: World, work: object) -> None:
    fill(world)
    role = f"nobody_{world.connection.info.dbname}"
    world.connection.execute(sql.SQL("create role {}").format(sql.Identifier(role)))
    try:
        world.sql(f"grant usage on schema memory to {role}")
        world.sql(f"set role {role}")
        [outcome] = work(world.connection, ["memory.thing"])  # type: ignore[operator]
    finally:
        world.sql("reset role")
        world.sql(f"drop owned by {role}")
        world.sql(f"drop role {role}")

    assert outcome.problem is not None


def test_a_vacuum_that_says_nothing_that_is_understood_claims_nothing() -> None:
    assert judge([]) is not None
    assert judge(["Zeilen: 3 entfernt"]) is not None
    assert judge(["tuples: 5 removed, 95 remain, 0 are dead but not yet removable"]) is None
    said = (
        "tuples: 5 removed, 95 remain, 0 are dead but not yet removable\ntuples missed: 2 dead from 1 pages not removed"
    )
    assert judge([said]) == "2 dead rows lie in pages that others were using"
