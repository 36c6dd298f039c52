"""How much of memory a check looks at: all of it, or what one build's extent can have changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.diff import SOURCE
from orbit_pipelines.building.extraction import read_extent
from orbit_pipelines.building.scope import SESSION_KEY
from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.database.binary_copy import copy_frame
from orbit_pipelines.database.statements import statement

_SESSIONS = pl.Schema(dict.fromkeys(SESSION_KEY, pl.String()))
_SOURCES = pl.Schema(dict.fromkeys(SOURCE, pl.String()))


@dataclass(frozen=True, slots=True)
class Reach:
    """Everything, or whole people, whole sessions and single pairs and records. Empty unless told otherwise."""

    is_everything: bool = False
    users: tuple[str, ...] = ()
    sessions: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_SESSIONS))
    sources: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_SOURCES))


EVERYTHING = Reach(is_everything=True)


def reach_of(build: BuildOfRun | None) -> Reach:
    """Return what a build that published may have changed; everything when there is no build."""
    if build is None:
        return EVERYTHING
    if build.extraction.is_unchanged:
        return Reach()
    extent = read_extent(build.workspace, build.extraction)
    staged = build.workspace.read_all("pairs", _SOURCES, list(SOURCE))
    return Reach(
        is_everything=extent.is_everything,
        users=extent.whole_users,
        sessions=extent.sessions,
        sources=pl.concat([staged, extent.records]).unique(),
    )


@contextmanager
def looking_at(connection: psycopg.Connection[Any], reach: Reach) -> Iterator[None]:
    """Offer a check's statements what is within reach, all of one moment.

    Inside, ``checked_chunk`` has the stored chunks within reach, ``checked_person`` their people, and
    ``covering_build`` tells for each of them up to when memory follows their data. Nothing of it stays.

    Args:
        connection: in autocommit, outside a transaction.
        reach: what to look at.
    """
    with connection.transaction(force_rollback=True):
        connection.execute("set transaction isolation level repeatable read")
        if reach.is_everything:
            connection.execute(statement("create_checked_everything"))
        else:
            connection.execute(statement("create_checked_part"))
            connection.execute("insert into checked_user select unnest(%s::text[])", [list(reach.users)])
            copy_frame(connection, "checked_session", reach.sessions, dict.fromkeys(SESSION_KEY, "text"))
            copy_frame(connection, "checked_source", reach.sources, dict.fromkeys(SOURCE, "text"))
            connection.execute(statement("reach_stored_sources"))
            connection.execute("analyze checked_source")
        connection.execute(statement("create_covering_build"))
        yield


def count_chunks(connection: psycopg.Connection[Any]) -> int:
    """Return how many stored chunks are within reach."""
    row = connection.execute("select count(*) from checked_chunk").fetchone()
    return int(row[0]) if row else 0
