"""Which build a check looks at: the one its own run made, or none, and then it reads everything.

A check never starts a build. A run that made one is found by its id in ``memory.build``, whatever process asks.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from orbit_pipelines.building.extraction import Extraction, read_extraction
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.statements import statement


@dataclass(frozen=True, slots=True)
class BuildOfRun:
    """A build whose frames are still there: its run goes on. One that found nothing changed has none."""

    build_id: int
    status: str
    extraction: Extraction
    workspace: Workspace


def find_build(connection: psycopg.Connection[Any], dagster_run_id: str) -> BuildOfRun | None:
    """Return the build of a run; None when it made none, as in an audit, or has extracted nothing yet."""
    row = connection.execute(statement("find_build_of_run"), {"run_id": dagster_run_id}).fetchone()
    if row is None:
        return None
    build_id, status, workspace = row[0], row[1], Workspace(Path(row[2]))
    extraction = read_extraction(workspace)
    return None if extraction is None else BuildOfRun(build_id, status, extraction, workspace)


def find_published_build(connection: psycopg.Connection[Any], dagster_run_id: str) -> BuildOfRun | None:
    """Return the build of a run if memory is as it left it: it published, or found nothing changed."""
    build = find_build(connection, dagster_run_id)
    return build if build is not None and build.status in ("published", "unchanged") else None
