"""What memory holds once a build has published: what its sources say, and nothing that somebody excluded."""

import dagster as dg

from assets.diff_apply import diff_apply
from checks.results import result_of
from orbit_pipelines.checking import embeddings, exclusions, forgotten, index, plans
from orbit_pipelines.checking.build_of_run import find_published_build
from orbit_pipelines.settings import load_settings
from resources.database import MemoryDatabase


@dg.asset_check(asset=diff_apply)
def no_chunk_from_an_excluded_pair(
    context: dg.AssetCheckExecutionContext, database: MemoryDatabase
) -> dg.AssetCheckResult:
    """Memory holds nothing of an excluded message, of a reply to one, or of an excluded record.

    A message or record that was excluded after the last build over its person is `pending`: the next build takes it
    out.
    """
    with database.connect() as connection:
        build = find_published_build(connection, context.run.run_id)
        return result_of(exclusions.no_chunk_from_an_excluded_pair(connection, build))


@dg.asset_check(asset=diff_apply)
def index_equals_extraction(context: dg.AssetCheckExecutionContext, database: MemoryDatabase) -> dg.AssetCheckResult:
    """The stored chunks are those of the extraction: no more, no fewer, each described alike and true to its hash.

    After a quick update it compares what that build looked at; after a full rebuild and in an audit, everything. An
    audit takes everything from the application's tables again, up to the chunks. What changed since the last build is
    `pending`. If it fails, a full rebuild repairs memory.
    """
    with database.connect() as connection:
        build = find_published_build(connection, context.run.run_id)
        return result_of(index.index_equals_extraction(connection, load_settings(), build))


@dg.asset_check(asset=diff_apply)
def no_artifact_of_a_forgotten_session(
    context: dg.AssetCheckExecutionContext, database: MemoryDatabase
) -> dg.AssetCheckResult:
    """Memory holds nothing of a forgotten session: no chunk, no cached vector, no hash in lineage, no caught record.

    What was forgotten after the last build over its person is `pending`. If it fails, a forget was stopped before its
    end, or something other than a build wrote to memory: run the same forget again.
    """
    with database.connect() as connection:
        build = find_published_build(connection, context.run.run_id)
        return result_of(forgotten.no_artifact_of_a_forgotten_session(connection, load_settings(), build))


@dg.asset_check(asset=diff_apply)
def sources_stay_within_the_plan(
    context: dg.AssetCheckExecutionContext, database: MemoryDatabase
) -> dg.AssetCheckResult:
    """Every chunk is of a source its person's plan includes, and the recorded statuses are what the plans say.

    A plan, an assignment, a switch or a cap that changed since the last build is `pending`.
    """
    with database.connect() as connection:
        build = find_published_build(connection, context.run.run_id)
        return result_of(plans.sources_stay_within_the_plan(connection, build))


@dg.asset_check(asset=diff_apply)
def embeddings_are_sound(context: dg.AssetCheckExecutionContext, database: MemoryDatabase) -> dg.AssetCheckResult:
    """Every stored vector has its recipe's dimensions, is finite, and has length one.

    If it fails, build with `re_embed`: every vector is computed again.
    """
    with database.connect() as connection:
        build = find_published_build(connection, context.run.run_id)
        return result_of(embeddings.embeddings_are_sound(connection, build))
