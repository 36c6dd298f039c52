"""Lineage for analysts."""

import dagster as dg

from assets.diff_apply import diff_apply
from assets.metadata import OWNERS, table
from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.settings import load_settings
from resources.database import MemoryDatabase

EXAMPLE = """\
```sql
-- duckdb -readonly {views}
select action, reason, count(*) from changes
 where build_id = (select max(build_id) from builds where status = 'published')
 group by all order by all;
```"""


@dg.asset(deps=[diff_apply], group_name="lineage", kinds={"parquet", "duckdb"}, owners=OWNERS)
def build_lineage(database: MemoryDatabase) -> dg.MaterializeResult:
    """Which build put each chunk into memory or took it out, and why: Parquet files, and DuckDB views over them.

    Mirrors every finished build that isn't mirrored yet, so that a crash leaves no hole. Ids, hashes and reasons; no
    text. `lineage.duckdb` can be opened while a build runs.
    """
    with database.connect() as connection:
        mirrored = mirror_lineage(connection, load_settings().lineage)
    return dg.MaterializeResult(
        metadata={
            "builds_mirrored": mirrored.builds,
            "rows_mirrored": table({"view": "string", "rows": "int"}, sorted(mirrored.rows.items())),
            "folder": dg.MetadataValue.path(mirrored.folder),
            "views": dg.MetadataValue.path(mirrored.views),
            "query_it": dg.MetadataValue.md(EXAMPLE.format(views=mirrored.views)),
        }
    )
