"""What Dagster watches: the application's data, for changes that want a build, and runs, for builds left open."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from orbit_pipelines.building.builds import bury_dead_builds, close_build_of_run
from orbit_pipelines.building.failure_notes import failure_note
from orbit_pipelines.building.watching import pending_changes
from orbit_pipelines.jobs import FULL_REBUILD, QUICK_UPDATE, quick_update
from orbit_pipelines.settings import ExecutorName, load_settings
from resources.dagster_runs import IN_PROGRESS, first_failure, report_dead_runs, report_silent_runs
from resources.database import MemoryDatabase

RUNNING = dg.DefaultSensorStatus.RUNNING


@dg.sensor(
    job=quick_update,
    minimum_interval_seconds=30,
    default_status=RUNNING,
    description="Requests a quick update when content, plans or the administrator's switches changed. A toggled flag "
    "or a closed session requests none; it waits for the next build from any cause. One state of affairs is requested "
    "once: after a failed run the hourly build tries again, or the next change does.",
)
def memory_changes(context: dg.SensorEvaluationContext, database: MemoryDatabase) -> dg.RunRequest | dg.SkipReason:
    """Request a quick update when something changed that wants one."""
    with database.connect() as connection:
        # A run that was killed must not look like one in progress.
        report_dead_runs(context.instance, bury_dead_builds(connection, load_settings().workspaces))
        report_silent_runs(context.instance, connection)
        for job in (QUICK_UPDATE, FULL_REBUILD):
            if context.instance.get_run_ids(RunsFilter(job_name=job, statuses=list(IN_PROGRESS)), limit=1):
                return dg.SkipReason(f"A run of {job} is queued or in progress.")
        pending = pending_changes(connection)
    if pending.is_empty:
        return dg.SkipReason("Nothing changed since the last build that wants a new one.")
    context.log.info(f"Changed since the last build: {pending.describe()}.")
    # The state of affairs is the key: one that fails its build is not tried again and again.
    return dg.RunRequest(run_key=pending.fingerprint)


def sensors(executor: ExecutorName) -> Sequence[dg.SensorDefinition]:
    """Return the sensors an installation needs; steps in processes of their own leave their build for one to close."""
    return [memory_changes] if executor == "in_process" else [memory_changes, *map(_close_build, _ENDINGS)]


_ENDINGS = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)


def _close_build(status: DagsterRunStatus) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        run_status=status,
        name=f"close_build_after_{status.value.lower()}",
        default_status=RUNNING,
        minimum_interval_seconds=30,
        description="Closes what a run whose steps had processes of their own left open: its build and its workspace.",
    )
    def close_build(context: dg.RunStatusSensorContext, database: MemoryDatabase) -> Any:
        run_id = context.dagster_run.run_id
        failure = (
            None
            if status is DagsterRunStatus.SUCCESS
            else first_failure(context.instance, run_id) or failure_note(status.value, "")
        )
        with database.connect() as connection:
            close_build_of_run(connection, load_settings().workspaces, run_id, failure=failure)

    return close_build
