"""Pairs: the unit that is remembered or not."""

import dagster as dg

from assets.extraction import extraction
from assets.metadata import OWNERS
from resources.build import BuildResource


@dg.asset(deps=[extraction], group_name="memory", kinds={"polars"}, owners=OWNERS)
def pairing(build: BuildResource) -> dg.MaterializeResult:
    """One pair for each user message, with the reply that answered it and what stands against it, if anything.

    Blinks, documents and facts stand beside the pairs, judged in the same way. `left_out` counts what stays out of
    memory: not remembered, forgotten, not included by the plan, without text.
    """
    made = build.run.pairing()
    return dg.MaterializeResult(
        metadata={"dagster/row_count": made.rows, "build_id": build.run.build_id, **made.counts}
    )
