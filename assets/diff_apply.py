"""The one transaction that changes memory."""

import dagster as dg

from assets.embedding import embedding
from assets.metadata import OWNERS, reasons_table, recent_changes_picture, table_schema
from resources.build import BuildResource

SUPERSEDED = "Other builds published these people's memory meanwhile, from newer data; this one published nothing."


@dg.asset(deps=[embedding], group_name="memory", kinds={"postgres", "pgvector"}, owners=OWNERS)
def diff_apply(context: dg.AssetExecutionContext, build: BuildResource) -> dg.MaterializeResult:
    """Memory itself, `memory.chunk`: the difference to the staged chunks, applied in one transaction.

    Lineage and the watermark commit with it or not at all. What was excluded or forgotten after this build began is
    read again under the lock and dropped; staged rows that break a promise make it refuse.
    """
    published = build.run.diff_apply()
    connection = build.run.connection
    rows = connection.execute("select count(*) from memory.chunk").fetchone()
    if published.is_superseded:
        context.log.warning(SUPERSEDED)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows[0] if rows else 0,
            "dagster/table_name": "memory.chunk",
            "dagster/column_schema": table_schema(connection, "memory.chunk"),
            "build_id": build.run.build_id,
            "records": published.records,
            "added": published.added,
            "removed": published.removed,
            "updated": published.updated,
            "unchanged": published.unchanged,
            "skipped": published.skipped,
            "embedded": published.embedded,
            "from_cache": published.from_cache,
            "people_left_to_the_next_build": len(published.left_out),
            "reasons": reasons_table(published.reasons),
            "last_builds": recent_changes_picture(connection),
            "lineage": dg.MetadataValue.asset(dg.AssetKey("build_lineage")),
            **({"published": SUPERSEDED} if published.is_superseded else {}),
        }
    )
