"""What builds rely on in the application's own data."""

import dagster as dg

from assets.extraction import extraction
from checks.results import result_of
from orbit_pipelines.checking.build_of_run import find_build
from orbit_pipelines.checking.contract import chat_history_meets_its_contract as look
from resources.database import MemoryDatabase


@dg.asset_check(asset=extraction, blocking=True)
def chat_history_meets_its_contract(
    context: dg.AssetCheckExecutionContext, database: MemoryDatabase
) -> dg.AssetCheckResult:
    """The application's tables have the columns, keys, roles, numbers and flags that builds rely on.

    Great Expectations looks at the sessions and records this build extracted, in place. A missing table or column or
    another type stops the build. Rows that break the contract only warn: their sessions are in quarantine, where
    nothing new enters memory while exclusions and deletions still apply; counts by expectation, no values.
    """
    with database.connect() as connection:
        return result_of(look(connection, find_build(connection, context.run.run_id)))
