"""Bringing a database's schema up to date: the migrations, then the roles and grants."""

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from orbit_pipelines.database.connection import connect, describe
from orbit_pipelines.database.roles import grant_roles
from orbit_pipelines.database.schema import MIGRATIONS, refuse_newer, revision_of
from orbit_pipelines.errors import DatabaseUnavailable, OrbitError, OutOfSpace


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
        refuse_newer(revision_of(connection))
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


def _configuration(**attributes: object) -> Config:
    configuration = Config(attributes=attributes)
    configuration.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return configuration
