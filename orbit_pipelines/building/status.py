"""How memory stands: the last build, what went wrong since, whether anything waits for the next one. Reads only."""

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import class_row

from orbit_pipelines.building.chunking import ChunkerSettings
from orbit_pipelines.building.locks import is_alive
from orbit_pipelines.building.recipe import TEXT_FORMAT
from orbit_pipelines.building.scope import BUCKET, Scope, changes_since, read_cluster, read_watermarks
from orbit_pipelines.database.statements import statement
from orbit_pipelines.embedders.protocol import Embedder
from orbit_pipelines.settings import Settings
from orbit_pipelines.sources.resolution import resolve_all_accounts


@dataclass(frozen=True, slots=True)
class RecentBuild:
    """One build, as ``memory.build`` has it. ``is_dead``: it says that it runs, and no process runs it."""

    build_id: int
    dagster_run_id: str | None
    mode: str
    scope: dict[str, Any]
    status: str
    started_at: datetime
    ended_at: datetime | None
    note: str | None
    added: int | None
    removed: int | None
    updated: int | None
    embedded: int | None
    from_cache: int | None
    is_dead: bool


@dataclass(frozen=True, slots=True)
class AdmissionStatus:
    """What admission rules keep out: how many are in force, the sessions they match, the pairs that builds left out."""

    rules: int
    sessions: int
    pairs: int


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """How memory stands.

    ``last_build`` is the newest one that ended well; ``troubles`` are the failed and dead ones since; ``running`` those
    at work. ``is_behind`` tells whether the next build has anything to do, ``why_everything`` why it would take
    everything. ``workspaces`` are folders that no living build owns.
    """

    accounts: int
    pairs: int
    chunks: int
    is_behind: bool
    why_everything: str | None
    last_build: RecentBuild | None
    running: tuple[RecentBuild, ...]
    troubles: tuple[RecentBuild, ...]
    workspaces: tuple[Path, ...]
    admission: AdmissionStatus

    def as_json(self) -> dict[str, Any]:
        """Return the status as a dictionary."""
        return asdict(self)


def read_memory_status(connection: psycopg.Connection[Any], settings: Settings, embedder: Embedder) -> MemoryStatus:
    """Return how memory stands.

    Args:
        connection: in autocommit.
        settings: of the installation; what the next build would cut and embed by.
        embedder: asked nothing that its model would have to answer.
    """
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        counts = connection.execute(
            "select (select count(*) from orbitpilot.account),"
            " (select count(*) from orbitpilot.message where role = 'user' and is_active),"
            " (select count(*) from memory.chunk)"
        ).fetchone()
        kept_out = connection.execute(statement("count_kept_out")).fetchone()
        is_behind, why_everything = _find_lag(connection, settings, embedder)
    accounts, pairs, chunks = counts or (0, 0, 0)
    recent = _recent_builds(connection)
    running = tuple(build for build in recent if build.status == "running" and not build.is_dead)
    return MemoryStatus(
        accounts,
        pairs,
        chunks,
        is_behind,
        why_everything,
        last_build=next((build for build in recent if build.status in ("published", "unchanged")), None),
        running=running,
        troubles=tuple(build for build in recent if build.is_dead or build.status in ("failed", "died", "superseded")),
        workspaces=_workspaces_left(connection, settings.workspaces, running),
        admission=AdmissionStatus(*kept_out or (0, 0, 0)),
    )


def _recent_builds(connection: psycopg.Connection[Any]) -> list[RecentBuild]:
    """Return the builds from the last that ended well on, and any that says it runs; the newest first."""
    with connection.cursor(row_factory=class_row(RecentBuild)) as cursor:
        builds = cursor.execute(statement("list_builds_since_good")).fetchall()
    return [_with_liveness(connection, build) for build in builds]


def _with_liveness(connection: psycopg.Connection[Any], build: RecentBuild) -> RecentBuild:
    if build.is_dead and is_alive(connection, build.build_id):
        return replace(build, is_dead=False)
    return build


def _find_lag(connection: psycopg.Connection[Any], settings: Settings, embedder: Embedder) -> tuple[bool, str | None]:
    """Tell whether a build of everyone would find anything, in a transaction that sees one moment."""
    everyone = Scope()
    watermarks = read_watermarks(connection, everyone)
    extent = changes_since(
        connection,
        everyone,
        watermarks,
        cluster=read_cluster(connection),
        recipe=_recipe_now(connection, settings, embedder) or "another",
        plans=resolve_all_accounts(connection),
    )
    return not extent.is_empty, extent.why_everything


def _recipe_now(connection: psycopg.Connection[Any], settings: Settings, embedder: Embedder) -> str | None:
    """Return the recipe of the watermark if the settings still make it, else None.

    An endpoint isn't asked for its dimensions, so any may be what the next build will find.
    """
    row = connection.execute(
        "select recipe, details from memory.recipe"
        " where recipe = (select recipe from memory.watermark where scope = %s)",
        [BUCKET],
    ).fetchone()
    if row is None:
        return None
    now = {
        "chunker": ChunkerSettings(max_characters=settings.chunk_characters).fingerprint,
        "text_format": TEXT_FORMAT,
    }
    recipe, details = row
    is_same = embedder.may_be(details.get("model", "")) and all(details.get(name) == now[name] for name in now)
    return str(recipe) if is_same else None


def _workspaces_left(
    connection: psycopg.Connection[Any], folder: Path, running: tuple[RecentBuild, ...]
) -> tuple[Path, ...]:
    owned = {
        row[0]
        for row in connection.execute(
            "select workspace from memory.build where build_id = any(%s)", [[build.build_id for build in running]]
        )
    }
    return tuple(sorted(path for path in folder.iterdir() if str(path) not in owned)) if folder.is_dir() else ()
