"""Starting a job in this process, on the installation's Dagster instance: the UI shows it like any other run."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dagster as dg
import psycopg
from psycopg.rows import class_row

from orbit_pipelines import jobs
from orbit_pipelines.building.builds import close_build_of_run
from orbit_pipelines.building.failure_notes import failure_note
from orbit_pipelines.building.run import BuildRequest, Progress
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.server import child_environment, database_url
from orbit_pipelines.database.statements import statement
from orbit_pipelines.definitions import defs
from orbit_pipelines.model import Mode
from orbit_pipelines.settings import Settings, load_settings
from resources.build import build_config
from resources.dagster_runs import failure_message, first_failure
from resources.progress import listening

LOCATION = "orbit_pipelines.definitions"
# The UI lists a job's runs by this tag, which its own launches carry.
_TAGS = {".dagster/repository": f"__repository__@{LOCATION}"}
# The terminal belongs to whoever called; the UI shows every event.
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
# Warns of every blocking check that an unchanged build skips, though all behind it is skipped as well.
_PLAN_LOGGER = logging.getLogger("dagster._core.execution.plan.active")
# Run config replaces a job's own, so that it must say what the job's would have.
_REQUESTS = {jobs.QUICK_UPDATE: BuildRequest(), jobs.FULL_REBUILD: BuildRequest(Mode.FULL)}


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """What a run's build did; counts are None for a build that published nothing."""

    build_id: int
    mode: str
    status: str
    note: str | None
    records: int | None
    added: int | None
    removed: int | None
    updated: int | None
    unchanged: int | None
    skipped: int | None
    embedded: int | None
    from_cache: int | None


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What one check said; ``metadata`` holds counts and names, never a row's values."""

    name: str
    asset: str
    passed: bool
    severity: str
    description: str | None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """What became of a run. ``failure`` says what failed it first, without a trace; ``build`` is None if none began."""

    dagster_run_id: str
    success: bool
    failure: str | None
    build: BuildSummary | None
    checks: tuple[CheckOutcome, ...]

    @property
    def is_unchanged(self) -> bool:
        """Whether the build found nothing to do."""
        return self.build is not None and self.build.status == "unchanged"


def launch(
    settings: Settings,
    job_name: str,
    request: BuildRequest | None = None,
    on_progress: Progress | None = None,
) -> LaunchResult:
    """Run a job and return what became of it; with the default executor all of it in this process.

    Args:
        settings: of the installation; the process's environment says the same while the job runs.
        job_name: ``quick_update``, ``full_rebuild`` or ``audit``.
        request: what to build; None for what the job's name says.
        on_progress: told how far each step is; steps in other processes are silent.
    """
    config = _QUIET if job_name == jobs.AUDIT else {**_QUIET, **build_config(request or _REQUESTS[job_name])}
    with _environment_of(settings), listening(on_progress), _quiet(), dg.DagsterInstance.get() as instance:
        # Dagster would connect to its database anew for every event, which takes a tenth of a small run.
        instance.optimize_for_webserver(statement_timeout=0, pool_recycle=3600, max_overflow=20)
        result = dg.execute_job(_RECONSTRUCTABLE[job_name], instance, run_config=config, tags=_TAGS)
        failure = None if result.success else failure_message(instance, result.run_id)
        with connect(database_url(settings), autocommit=True) as connection:
            # Where steps had processes of their own, nobody ended the build yet.
            note = None if result.success else first_failure(instance, result.run_id) or failure_note("an error", "")
            close_build_of_run(connection, settings.workspaces, result.run_id, failure=note)
            return LaunchResult(
                dagster_run_id=result.run_id,
                success=result.success,
                failure=failure,
                build=read_summary(connection, result.run_id),
                checks=tuple(_outcome(evaluation) for evaluation in result.get_asset_check_evaluations()),
            )


def read_summary(connection: psycopg.Connection[Any], dagster_run_id: str) -> BuildSummary | None:
    """Return what the build of a Dagster run did, or None when it began none."""
    with connection.cursor(row_factory=class_row(BuildSummary)) as cursor:
        return cursor.execute(statement("read_build_of_run"), {"dagster_run_id": dagster_run_id}).fetchone()


def define_quick_update() -> dg.JobDefinition:
    """Return the job, for Dagster to find it again in a process of a step."""
    return defs.resolve_job_def(jobs.QUICK_UPDATE)


def define_full_rebuild() -> dg.JobDefinition:
    """Return the job, for Dagster to find it again in a process of a step."""
    return defs.resolve_job_def(jobs.FULL_REBUILD)


def define_audit() -> dg.JobDefinition:
    """Return the job, for Dagster to find it again in a process of a step."""
    return defs.resolve_job_def(jobs.AUDIT)


_RECONSTRUCTABLE = {
    jobs.QUICK_UPDATE: dg.reconstructable(define_quick_update),
    jobs.FULL_REBUILD: dg.reconstructable(define_full_rebuild),
    jobs.AUDIT: dg.reconstructable(define_audit),
}


def _outcome(evaluation: dg.AssetCheckEvaluation) -> CheckOutcome:
    return CheckOutcome(
        name=evaluation.check_name,
        asset=evaluation.asset_key.to_user_string(),
        passed=evaluation.passed,
        severity=evaluation.severity.value,
        description=evaluation.description,
        metadata={name: plain(value) for name, value in evaluation.metadata.items()},
    )


def plain(value: dg.MetadataValue) -> Any:
    """Return what a metadata value holds; a table as a list of its rows."""
    return [record.data for record in value.records] if isinstance(value, dg.TableMetadataValue) else value.value


@contextmanager
def _environment_of(settings: Settings) -> Iterator[None]:
    """Have this process and its children work on an installation; what Dagster starts reads the environment only."""
    wanted = child_environment(settings)
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    load_settings.cache_clear()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        load_settings.cache_clear()


@contextmanager
def _quiet() -> Iterator[None]:
    level = _PLAN_LOGGER.level
    _PLAN_LOGGER.setLevel(logging.ERROR)
    try:
        yield
    finally:
        _PLAN_LOGGER.setLevel(level)
