"""The revision of a database's schema: bring it up to date, and refuse to work on another one."""

from functools import cache
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from psycopg.rows import TupleRow
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from orbit_pipelines.database.connection import connect, describe
from orbit_pipelines.database.roles import grant_roles
from orbit_pipelines.errors import DatabaseUnavailable, OrbitError, OutOfSpace, SchemaMismatch

PostgresConnection = psycopg.Connection[TupleRow]


def migrate(url: str, revision: str = "head") -> tuple[str, ...]:
    """Bring a database to a revision, and its roles and grants to what this program says.

    Safe when several processes do it at once (threads may not: alembic's context).

    Returns:
        What an administrator must run before the roles can be made; empty where they are, or the revision has none.
        The schema is current either way, and whoever owns it can work.

    Raises:
        SchemaMismatch: the database was made by a newer program.
        DatabaseUnavailable: no server answers, or the user may not change the schema.
        OutOfSpace: the server's disk is full; nothing was changed.
    """
    with connect(url) as connection:
        _refuse_newer(_revision_of(connection))
    engine = create_engine("postgresql+psycopg://", creator=lambda: connect(url), poolclass=NullPool)
    try:
        with engine.begin() as connection:
            command.upgrade(_configuration(connection=connection), revision)
        return _grant_roles(url)
    except (psycopg.Error, DBAPIError) as error:
        explanation = _explained(error.orig if isinstance(error, DBAPIError) else error, url)
        if explanation is None:
            raise
        raise explanation from error


def current_revision(url: str) -> str | None:
    """Return the revision a database is at, None when it has no schema of ours."""
    with connect(url) as connection:
        return _revision_of(connection)


def require_current_schema(connection: PostgresConnection) -> None:
    """Refuse a database whose schema isn't this program's.

    Raises:
        SchemaMismatch: it is absent, older or newer; the message names what to run.
    """
    found = _revision_of(connection)
    _refuse_newer(found)
    if found is None:
        raise SchemaMismatch(f"The database {connection.info.dbname!r} has no tables yet. Run: orbit migrate")
    if found != head_revision():
        raise SchemaMismatch(
            f"The database {connection.info.dbname!r} is at schema {found}, and this program needs {head_revision()}. "
            "Run: orbit migrate"
        )


def head_revision() -> str:
    """Return the revision this program works with."""
    return str(_scripts().get_current_head())


def _grant_roles(url: str) -> tuple[str, ...]:
    with connect(url) as connection:
        with connection.transaction():
            knows_roles = connection.execute("select to_regclass('memory.database_role') is not null").fetchone()
        return grant_roles(connection) if knows_roles == (True,) else ()


def _explained(cause: BaseException | None, url: str) -> OrbitError | None:
    """Return what an error of the server means to a person, None where it should never happen."""
    if isinstance(cause, psycopg.errors.InsufficientPrivilege):
        return DatabaseUnavailable(
            f"The schema can't be changed at {describe(url)}: {cause.diag.message_primary}. Connect as the database's "
            "owner; where it is the extension, have a superuser run: create extension vector;"
        )
    if isinstance(cause, psycopg.errors.DiskFull):
        return OutOfSpace("The disk of the PostgreSQL server is full; the schema is as it was. Free some space.")
    return None


def _refuse_newer(found: str | None) -> None:
    known = {script.revision for script in _scripts().walk_revisions()}
    if found is not None and found not in known:
        raise SchemaMismatch(
            f"The database is at schema {found}, which this program ({head_revision()}) doesn't know: a newer one made "
            "it. Upgrade this program: git pull && make install"
        )


def _revision_of(connection: PostgresConnection) -> str | None:
    with connection.transaction():
        exists = connection.execute("select to_regclass('public.orbit_schema_version') is not null").fetchone()
        if exists != (True,):
            return None
        row = connection.execute("select version_num from public.orbit_schema_version").fetchone()
    return str(row[0]) if row else None


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_configuration())


def _configuration(**attributes: object) -> Config:
    configuration = Config(attributes=attributes)
    configuration.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    return configuration
