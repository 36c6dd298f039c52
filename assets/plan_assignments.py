"""Which sources each plan includes, upstream of every build."""

import dagster as dg

from assets.metadata import OWNERS, table
from orbit_pipelines.building.upstream import observe_plans
from resources.database import MemoryDatabase


@dg.asset(group_name="application", kinds={"postgres"}, owners=OWNERS)
def plan_assignments(database: MemoryDatabase) -> dg.MaterializeResult:
    """Which sources each plan includes in memory, and why the others are left out.

    Resolved from the plans' caps, their assignments and the administrator's In-RAG switches, just as builds do.
    Materializing reads them; it changes nothing.
    """
    with database.connect() as connection:
        seen = observe_plans(connection)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(seen.version),
        metadata={
            "dagster/row_count": len(seen.sources),
            "plans_changed_since_last_build": ", ".join(seen.changed_plans) or "none",
            "sources": table(
                {"plan": "string", "accounts": "int", "source": "string", "status": "string", "reason": "string"},
                [
                    (
                        each.plan_key,
                        each.accounts,
                        each.source_key,
                        "not included" if each.reason else "included",
                        each.reason.value if each.reason else "",
                    )
                    for each in seen.sources
                ],
            ),
        },
    )
