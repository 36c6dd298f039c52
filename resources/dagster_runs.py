"""What Dagster itself knows of runs: whether one failed, and that the dead ones are over."""

import time
from collections.abc import Iterable
from typing import Any

import dagster as dg
import psycopg
from dagster import DagsterEventType, DagsterRunStatus, RunsFilter
from dagster_shared.error import SerializableErrorInfo

from orbit_pipelines.building.builds import DeadBuild, is_run_at_work
from orbit_pipelines.building.failure_notes import failure_note
from orbit_pipelines.jobs import FULL_REBUILD, QUICK_UPDATE

# What Dagster raises around a step's own error.
_WRAPPERS = ("DagsterExecutionStepExecutionError", "DagsterExecutionLoadInputError", "DagsterResourceFunctionError")
_INTERRUPTED = "DagsterExecutionInterruptedError"
_CHECK_FAILED = "DagsterAssetCheckFailedError"

_BEGUN = (
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
)
IN_PROGRESS = (DagsterRunStatus.QUEUED, *_BEGUN)

_BUILDS = (QUICK_UPDATE, FULL_REBUILD)
# Seconds without an event after which a run that has no build is taken for dead.
_BUILD_GRACE = 120.0
_AUDIT_GRACE = 3600.0


def first_failure(instance: dg.DagsterInstance | None, run_id: str) -> str | None:
    """Return what a build's row is to say of what failed a run's first failed step; None when no step failed."""
    error = _first_error(instance, run_id)
    if error is None:
        return None
    if error.cls_name == _INTERRUPTED:
        return failure_note("interrupted", "")
    if error.cls_name == _CHECK_FAILED:
        # The names of the checks come last, by asset.
        names = " ".join(_words(error).splitlines()[1:])
        return f"a blocking check failed ({names}): put right what it found, which the Dagster run says: orbit up"
    return failure_note(error.cls_name or "an error", _words(error))


def failure_message(instance: dg.DagsterInstance, run_id: str) -> str:
    """Return what failed a run first, in the error's own words, without a trace."""
    error = _first_error(instance, run_id)
    if error is None:
        return "The Dagster run failed before its first step; the UI shows its events."
    if error.cls_name == _INTERRUPTED:
        return "The run was interrupted. What it embedded is cached; the next build goes on from there."
    return _words(error)


def _words(error: SerializableErrorInfo) -> str:
    # Dagster keeps the message as Python prints it: the error's name, a colon, its text.
    return error.message.partition(": ")[2].strip() or error.message.strip()


def _first_error(instance: dg.DagsterInstance | None, run_id: str) -> SerializableErrorInfo | None:
    if instance is None:
        return None
    for entry in instance.all_logs(run_id, of_type=DagsterEventType.STEP_FAILURE):
        error = entry.get_dagster_event().step_failure_data.error
        while error is not None and error.cause is not None and error.cls_name in _WRAPPERS:
            error = error.cause
        return error
    return None


def report_dead_runs(instance: dg.DagsterInstance | None, dead: Iterable[DeadBuild]) -> None:
    """Close the Dagster runs of builds whose process is gone; Dagster would show them as running for ever."""
    if instance is None:
        return
    run_ids = [build.dagster_run_id for build in dead if build.dagster_run_id]
    if not run_ids:
        return
    for run in instance.get_runs(RunsFilter(run_ids=run_ids, statuses=list(IN_PROGRESS))):
        instance.report_run_failed(run, "The process of this run is gone; a later build closed the run in its place.")


def report_silent_runs(
    instance: dg.DagsterInstance | None, connection: psycopg.Connection[Any], *, now: float | None = None
) -> None:
    """Close runs that were killed before they had a build: Dagster's own launcher never looks after them.

    A run counts as dead when no process works on a build of it, and it has recorded no event for its grace: two
    minutes for a build, which records events every few seconds until it is registered; an hour for an audit.

    Args:
        instance: None where there is none to ask.
        connection: to the memory database, where dead builds were buried already.
        now: seconds since the epoch; None for the clock's.
    """
    if instance is None:
        return
    moment = time.time() if now is None else now
    for record in instance.get_run_records(RunsFilter(statuses=list(_BEGUN))):
        run = record.dagster_run
        events = instance.get_records_for_run(run.run_id, limit=1, ascending=False).records
        last = events[0].timestamp if events else record.create_timestamp.timestamp()
        grace = _BUILD_GRACE if run.job_name in _BUILDS else _AUDIT_GRACE
        if moment - last > grace and not is_run_at_work(connection, run.run_id):
            instance.report_run_failed(run, "The process of this run is gone; it had begun no build.")


def includes_asset(run: dg.DagsterRun, name: str) -> bool:
    """Whether a run is to execute an asset's step."""
    if run.step_keys_to_execute is not None:
        return name in run.step_keys_to_execute
    if run.asset_selection is not None:
        return dg.AssetKey(name) in run.asset_selection
    return True
