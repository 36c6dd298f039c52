"""What a build must look at, taken out of the application's tables at one snapshot."""

from collections.abc import Iterator

import dagster as dg

from assets.chat_history import chat_history
from assets.exclusion_flags import exclusion_flags
from assets.metadata import OWNERS, scope_of
from assets.plan_assignments import plan_assignments
from resources.build import BuildResource


@dg.asset(
    deps=[chat_history, exclusion_flags, plan_assignments],
    group_name="memory",
    kinds={"postgres", "parquet"},
    owners=OWNERS,
    output_required=False,
)
def extraction(context: dg.AssetExecutionContext, build: BuildResource) -> Iterator[dg.MaterializeResult]:
    """Every message and record that changed since the last build, with its flags; with mode `full`, every one.

    From one database snapshot, into the run's private workspace, which is removed when the run ends. When nothing
    changed, the steps that follow and their checks are skipped and the run succeeds.
    """
    taken = build.run.extraction()
    if taken.is_unchanged:
        last = taken.watermarks.bucket.build_id if taken.watermarks.bucket else "any"
        context.log.info(
            f"Build {build.run.build_id}: nothing changed since build {last}; the other steps are skipped."
        )
        return
    yield dg.MaterializeResult(
        metadata={
            "dagster/row_count": taken.counts["messages"] + taken.counts["records"],
            "build_id": build.run.build_id,
            **scope_of(taken.users, taken.mode, taken.why_everything),
            **taken.counts,
        }
    )
