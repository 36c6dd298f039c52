"""How commands come to the database: the server started, the tables there and current."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.schema import current_revision, require_current_schema
from orbit_pipelines.database.server import database_url
from orbit_pipelines.errors import UnknownMessage, UnknownRecord
from orbit_pipelines.history.accounts import require_account
from orbit_pipelines.settings import Settings


@contextmanager
def open_database(settings: Settings) -> Iterator[psycopg.Connection[Any]]:
    """Connect, in autocommit, to a database whose schema is this program's.

    The embedded server is started where it isn't running, and gets its tables where it has none yet. A server of the
    user's own gets them by ``orbit migrate`` only: the database may be the wrong one.

    Raises:
        DatabaseUnavailable: no server answers, or it is too old.
        SchemaMismatch: the tables are absent from the user's own server, or older or newer than this program.
    """
    url = database_url(settings)
    if settings.database_url is None and current_revision(url) is None:
        # Alembic takes a while to import, and is needed once.
        from orbit_pipelines.database.migrating import migrate

        migrate(url)
    with connect(url, autocommit=True) as connection:
        require_current_schema(connection)
        yield connection


@contextmanager
def account_first(connection: psycopg.Connection[Any], user: str) -> Iterator[None]:
    """Say that the account is missing, where that is why nothing of the person was found.

    Raises:
        UnknownAccount: instead of what wasn't found.
    """
    try:
        yield
    except (UnknownMessage, UnknownRecord):
        require_account(connection, user)
        raise
