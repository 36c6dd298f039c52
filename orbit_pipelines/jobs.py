"""The jobs, and when they run by themselves."""

import dagster as dg

from orbit_pipelines.forget_op import forget_sessions

QUICK_UPDATE = "quick_update"
FULL_REBUILD = "full_rebuild"
AUDIT = "audit"
FORGET = "forget"

quick_update = dg.define_asset_job(
    QUICK_UPDATE,
    dg.AssetSelection.all(),
    description="Bring memory up to what changed since the last build, and check what was touched.",
)
full_rebuild = dg.define_asset_job(
    FULL_REBUILD,
    dg.AssetSelection.all(),
    config={"resources": {"build": {"config": {"mode": "full"}}}},
    description="Replace memory by what the application's tables say now, from all of them, and check everything.",
)
audit = dg.define_asset_job(
    AUDIT,
    dg.AssetSelection.all_asset_checks(),
    description="Check the application's tables against their contract, and the whole of memory against those tables "
    "and its lineage; changes nothing.",
)


@dg.job(
    name=FORGET,
    description="Take out of memory what selected sessions left there, at once, as `orbit forget` does. Set `dry_run` "
    "first, read its report, then launch the identical config without it.",
)
def forget() -> None:
    """One op, by the same selectors as the command."""
    forget_sessions()


schedules = [
    dg.ScheduleDefinition(
        name="hourly_quick_update",
        job=quick_update,
        cron_schedule="0 * * * *",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Also takes what the change sensor leaves to the next build: toggled flags.",
    ),
    dg.ScheduleDefinition(
        name="nightly_audit",
        job=audit,
        cron_schedule="0 3 * * *",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Everything, at a quiet hour (UTC).",
    ),
]
