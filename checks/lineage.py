"""What lineage tells is what happened."""

import dagster as dg

from assets.diff_apply import diff_apply
from checks.results import result_of
from orbit_pipelines.checking import replaying
from orbit_pipelines.checking.build_of_run import find_published_build
from resources.database import MemoryDatabase


@dg.asset_check(asset=diff_apply)
def lineage_replays_to_the_index(
    context: dg.AssetCheckExecutionContext, database: MemoryDatabase
) -> dg.AssetCheckResult:
    """The changes that all builds recorded, applied in order, yield exactly the stored chunks, hash for hash.

    If it fails, something other than a build wrote to `memory.chunk` or `memory.change`; a full rebuild brings the two
    together again and records what it repaired.
    """
    with database.connect() as connection:
        build = find_published_build(connection, context.run.run_id)
        return result_of(replaying.lineage_replays_to_the_index(connection, build))
