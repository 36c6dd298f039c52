"""A vector for every chunk."""

import dagster as dg

from assets.chunking import chunking
from assets.metadata import OWNERS
from resources.build import BuildResource
from resources.dagster_runs import includes_asset

NOT_PUBLISHED = "Nothing was published: this run does not include diff_apply, which is what changes memory."


@dg.asset(deps=[chunking], group_name="memory", kinds={"polars"}, owners=OWNERS)
def embedding(context: dg.AssetExecutionContext, build: BuildResource) -> dg.MaterializeResult:
    """A vector for every chunk: from the store's cache where the same text was embedded before, else from the embedder.

    What is computed is cached at once, so that a build that was stopped goes on where the cache ends.
    """
    made = build.run.embedding()
    is_published = includes_asset(context.run, "diff_apply")
    if not is_published:
        context.log.warning(NOT_PUBLISHED)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": made.rows,
            "build_id": build.run.build_id,
            "embedder": build.run.embedder.fingerprint,
            "from_cache": made.rows - made.counts.get("embedded", 0),
            **made.counts,
            **({} if is_published else {"published": NOT_PUBLISHED}),
        }
    )
