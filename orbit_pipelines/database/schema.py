"""Which revision a database's schema is at, and the refusal to work on another one than this program's."""

from functools import cache
from pathlib import Path

import psycopg
from psycopg.rows import TupleRow

from orbit_pipelines.database.connection import connect
from orbit_pipelines.errors import SchemaMismatch

PostgresConnection = psycopg.Connection[TupleRow]

MIGRATIONS = Path(__file__).with_name("migrations")
"""The folder alembic reads; its migrations are named in order."""


def current_revision(url: str) -> str | None:
    """Return the revision a database is at, None when it has no schema of ours."""
    with connect(url) as connection:
        return revision_of(connection)


def require_current_schema(connection: PostgresConnection) -> None:
    """Refuse a database whose schema isn't this program's.

    Raises:
        SchemaMismatch: it is absent, older or newer; the message names what to run.
    """
    found = revision_of(connection)
    if found == head_revision():
        return
    refuse_newer(found)
    if found is None:
        raise SchemaMismatch(f"The database {connection.info.dbname!r} has no tables yet. Run: orbit migrate")
    raise SchemaMismatch(
        f"The database {connection.info.dbname!r} is at schema {found}, and this program needs {head_revision()}. "
        "Run: orbit migrate"
    )


def head_revision() -> str:
    """Return the revision this program works with: its migrations are named in order."""
    return _known_revisions()[-1]


def refuse_newer(found: str | None) -> None:
    """Refuse a revision that this program doesn't know.

    Raises:
        SchemaMismatch: a newer program made it.
    """
    if found is not None and found not in _known_revisions():
        raise SchemaMismatch(
            f"The database is at schema {found}, which this program ({head_revision()}) doesn't know: a newer one made "
            "it. Upgrade this program: git pull && make install"
        )


def revision_of(connection: PostgresConnection) -> str | None:
    """Return the revision of a connection's database, None when it has no schema of ours."""
    with connection.transaction():
        exists = connection.execute("select to_regclass('public.orbit_schema_version') is not null").fetchone()
        if exists != (True,):
            return None
        row = connection.execute("select version_num from public.orbit_schema_version").fetchone()
    return str(row[0]) if row else None


@cache
def _known_revisions() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (MIGRATIONS / "versions").glob("*.sql")))
