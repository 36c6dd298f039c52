"""The rows of ``memory.build``: a build begins, ends, or is found dead.

A build is alive while a process holds its lock (``building.locks``). The row and the lock come together, so that a
build is never seen without the other; a build that finds dead ones closes their rows and removes their workspaces.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from orbit_pipelines.building.locks import hold_build, is_alive
from orbit_pipelines.building.scope import Scope
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import Mode


@dataclass(frozen=True, slots=True)
class DeadBuild:
    """A build whose process is gone."""

    build_id: int
    dagster_run_id: str | None
    workspace: str | None


def begin_build(
    connection: psycopg.Connection[Any],
    *,
    mode: Mode,
    scope: Scope,
    dagster_run_id: str | None,
    executor: str,
    workspace: Path,
) -> int:
    """Register a build and its workspace, and hold its lock from the moment its row can be seen."""
    with connection.transaction():
        row = connection.execute(
            "insert into memory.build (mode, scope, dagster_run_id, executor, workspace)"
            " values (%s, %s, %s, %s, %s) returning build_id",
            [mode.value, Jsonb(scope.as_json()), dagster_run_id, executor, str(workspace)],
        ).fetchone()
        if row is None:  # pragma: no cover - returning yields the row
            raise RuntimeError("the build's row was not returned")
        build_id = int(row[0])
        hold_build(connection, build_id)
    return build_id


def end_unchanged(connection: psycopg.Connection[Any], build_id: int, snapshot: str, recipe: str) -> None:
    """Close a build that found nothing to do; the watermark stays where it is."""
    connection.execute(
        "update memory.build set status = 'unchanged', finished_at = now(), snapshot = %(snapshot)s::pg_snapshot,"
        " recheck_snapshot = %(snapshot)s::pg_snapshot, recipe = %(recipe)s,"
        " records = 0, added = 0, removed = 0, updated = 0, unchanged = 0, embedded = 0, from_cache = 0"
        " where build_id = %(build_id)s and status = 'running'",
        {"build_id": build_id, "snapshot": snapshot, "recipe": recipe},
    )


def end_build(connection: psycopg.Connection[Any], build_id: int, status: str, note: str | None = None) -> None:
    """Close a build that published nothing: ``failed``, ``superseded``, ``unpublished`` or ``died``."""
    connection.execute(
        "update memory.build set status = %s, note = %s, finished_at = now()"
        " where build_id = %s and status = 'running'",
        [status, note, build_id],
    )


def close_build_of_run(
    connection: psycopg.Connection[Any], workspaces: Path, dagster_run_id: str, *, failure: str | None
) -> None:
    """Close what a Dagster run that is over left open: its build, if nothing published it, and its workspace.

    Args:
        connection: in autocommit.
        workspaces: the folder of workspaces; a run's is named by it.
        dagster_run_id: the run.
        failure: what the build's row is to say of what failed the run; None when it went well.
    """
    status, note = "unpublished", "the run did not include diff_apply, so nothing was published"
    if failure is not None:
        status, note = "failed", failure
    try:
        for (build_id,) in connection.execute(
            "select build_id from memory.build where dagster_run_id = %s and status = 'running'", [dagster_run_id]
        ).fetchall():
            end_build(connection, build_id, status, note)
    finally:
        Workspace(workspaces / dagster_run_id).remove()


def bury_dead_builds(
    connection: psycopg.Connection[Any], workspaces: Path, *, but: int | None = None
) -> list[DeadBuild]:
    """Close every build whose process is gone, and remove what it left in workspaces.

    A run of several processes holds its lock step by step; between two steps it looks dead, so such a build is given
    a grace after its last sign of life.

    Args:
        connection: in autocommit.
        workspaces: the folder of this machine's workspaces; folders no living build owns are removed.
        but: the caller's own build.
    """
    running = connection.execute(statement("read_running_builds"), {"but": but}).fetchall()
    dead = []
    for build_id, dagster_run_id, workspace in running:
        if is_alive(connection, build_id):
            continue
        end_build(connection, build_id, "died", "its process ended without a word; the next build takes its place")
        dead.append(DeadBuild(build_id, dagster_run_id, workspace))
        if workspace:
            Workspace(Path(workspace)).remove()
    remove_orphans(connection, workspaces)
    return dead


def is_run_at_work(connection: psycopg.Connection[Any], dagster_run_id: str) -> bool:
    """Whether a Dagster run has a build that some process works on; dead ones are to be buried first."""
    builds = connection.execute(
        "select build_id, status = 'running' from memory.build where dagster_run_id = %s", [dagster_run_id]
    ).fetchall()
    return any(is_running or is_alive(connection, build_id) for build_id, is_running in builds)


def remove_orphans(connection: psycopg.Connection[Any], workspaces: Path) -> list[Path]:
    """Remove the folders in ``workspaces`` that no build works in any more; return them.

    A build that has published may still be checking what it staged: its lock tells.
    """
    folders = {str(path): path for path in workspaces.iterdir()} if workspaces.is_dir() else {}
    if not folders:
        return []
    owners = connection.execute(statement("read_workspace_owners"), {"folders": list(folders)}).fetchall()
    kept = {folder for folder, build_id, is_at_work in owners if is_at_work or is_alive(connection, build_id)}
    orphans = [path for folder, path in folders.items() if folder not in kept]
    for path in orphans:
        Workspace(path).remove()
    return orphans


def ensure_change_partitions(connection: psycopg.Connection[Any]) -> None:
    """Make this month's and the next month's partition of ``memory.change``, before a publish needs them."""
    connection.execute(statement("create_change_partitions"))
