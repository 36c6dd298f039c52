"""The application's content, upstream of every build."""

import dagster as dg

from assets.metadata import OWNERS, table, table_schema
from orbit_pipelines.building.upstream import observe_content
from resources.database import MemoryDatabase


@dg.asset(group_name="application", kinds={"postgres"}, owners=OWNERS)
def chat_history(database: MemoryDatabase) -> dg.MaterializeResult:
    """What people and their agents said, and their blinks, documents and facts: the application's own tables.

    `orbitpilot.session`, `orbitpilot.message` and `orbitpilot.record`. Materializing counts their rows and what changed
    since the last build; it copies no text and changes nothing.
    """
    with database.connect() as connection:
        seen = observe_content(connection)
        schema = table_schema(connection, "orbitpilot.message")
    return dg.MaterializeResult(
        data_version=dg.DataVersion(seen.version),
        metadata={
            "dagster/row_count": seen.rows,
            "dagster/table_name": "orbitpilot.message",
            "dagster/column_schema": schema,
            "changed_since_last_build": seen.changed,
            "sources": table(
                {"source": "string", "rows": "int", "changed_since_last_build": "int"},
                [(each.source_key, each.rows, each.changed) for each in seen.sources],
            ),
        },
    )
