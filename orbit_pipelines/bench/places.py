"""Where is measured: a server that is there for the benchmark only, or databases of its own on a given one.

Everything made here is gone afterwards, however the benchmark ends.
"""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from psycopg import sql

from orbit_pipelines.database import embedded
from orbit_pipelines.database.connection import beside, connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.migrating import migrate
from orbit_pipelines.database.roles import DatabaseRole, role_name
from orbit_pipelines.database.server import database_url
from orbit_pipelines.settings import Settings

MAINTENANCE_DATABASE = "postgres"
EMBEDDING_BATCH = 2_048
"""Texts handed to the fake embedder at once: its cost a call must not show."""


@dataclass(frozen=True, slots=True)
class Place:
    """A server, by the URL of one of its databases, and a temporary folder."""

    server_url: str
    folder: Path


@contextmanager
def open_place(settings: Settings, server_url: str | None = None) -> Iterator[Place]:
    """Yield where to measure, with nothing in it yet.

    Args:
        settings: of the installation; the temporary folder lies in its home, on the disk that memory would be on.
        server_url: the server to use instead of the installation's; where that is the embedded one, another embedded
            server is started, so that neither disturbs the other.
    """
    settings.home.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=settings.home)).resolve()
    server = EmbeddedServer(folder / "postgres")
    try:
        url = server_url or settings.database_url
        if url is None:
            embedded.start(server)
            url = server.url(MAINTENANCE_DATABASE)
        yield Place(url, folder)
    finally:
        embedded.stop(server)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def bench_database(place: Place) -> Iterator[Settings]:
    """Yield the settings of an installation with an empty, migrated database, and remove its databases and roles."""
    name = f"orbit_bench_{secrets.token_hex(4)}"
    settings = Settings(
        home=place.folder / "home",
        database_url=beside(place.server_url, name),
        dagster_database_url=beside(place.server_url, f"{name}_dagster"),
        embedder="fake",
        embedding_batch_size=EMBEDDING_BATCH,
    )
    try:
        migrate(database_url(settings))
        yield settings
    finally:
        _remove(place, name)


def _remove(place: Place, name: str) -> None:
    with connect(place.server_url, autocommit=True) as connection:
        for database in (name, f"{name}_dagster"):
            connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(database)))
        for role in DatabaseRole:
            connection.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(role_name(name, role))))
