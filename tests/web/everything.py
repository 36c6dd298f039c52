"""Every row of every table, to tell what a request wrote."""

from tests.worlds import World

TABLES = """
select format('%I.%I', schemaname, tablename) from pg_tables
 where schemaname in ('orbitpilot', 'memory') order by 1
"""


def everything(world: World) -> dict[str, list[str]]:
    """Return every row of every table there is, as text."""
    return {
        table: sorted(row for (row,) in world.sql(f"select t::text from {table} as t"))
        for (table,) in world.sql(TABLES)
    }
