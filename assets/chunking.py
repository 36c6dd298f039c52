"""Chunks: the unit that is retrieved."""

import dagster as dg

from assets.metadata import OWNERS
from assets.pairing import pairing
from resources.build import BuildResource


@dg.asset(deps=[pairing], group_name="memory", kinds={"polars"}, owners=OWNERS)
def chunking(build: BuildResource) -> dg.MaterializeResult:
    """The pieces of what nothing stands against, small enough to embed, each with a keyed hash of its text."""
    made = build.run.chunking()
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": made.rows,
            "build_id": build.run.build_id,
            "most_characters": build.run.chunker.max_characters,
            **made.counts,
        }
    )
