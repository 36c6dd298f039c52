"""What people don't want remembered, upstream of every build."""

import dagster as dg

from assets.metadata import OWNERS, table
from orbit_pipelines.building.upstream import observe_flags
from resources.database import MemoryDatabase


@dg.asset(group_name="application", kinds={"postgres"}, owners=OWNERS)
def exclusion_flags(database: MemoryDatabase) -> dg.MaterializeResult:
    """The "do not remember" flags: `not_remembered` on user messages, `is_excluded` on other records.

    A flag toggled now counts from the next build on, from whatever cause; toggling requests no build by itself.
    Materializing counts the flags that are set; it changes nothing.
    """
    with database.connect() as connection:
        seen = observe_flags(connection)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(seen.version),
        metadata={
            "dagster/row_count": seen.rows,
            "toggled_since_last_build": seen.changed,
            "sources": table(
                {"source": "string", "flags_set": "int", "toggled_since_last_build": "int"},
                [(each.source_key, each.rows, each.changed) for each in seen.sources],
            ),
        },
    )
