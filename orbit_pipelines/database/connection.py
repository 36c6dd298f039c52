"""Connections to PostgreSQL, all made alike: UTC, pgvector's types, and errors that hold no row values."""

from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow

from orbit_pipelines.errors import DatabaseUnavailable

Result = TypeVar("Result")

CONNECT_TIMEOUT = 10
"""Seconds; libpq itself would wait for a silent host for minutes."""


class DiscreetConnection(psycopg.Connection[TupleRow]):
    """A connection whose errors keep row values to themselves.

    PostgreSQL's DETAIL shows the row that failed, message text included, and an error's text ends up in logs and in
    Dagster's events. It stays readable in ``error.diag``, for code that asks for it.
    """

    def wait(self, gen: Generator[Any, Any, Result], *args: Any, **kwargs: Any) -> Result:
        """Run one exchange with the server; every method of a connection and its cursors passes here."""
        try:
            return super().wait(gen, *args, **kwargs)
        except psycopg.Error as error:
            if error.diag.message_detail or error.diag.context:
                error.args = (error.diag.message_primary, *error.args[1:])
            raise


def connect(url: str, *, autocommit: bool = False, application_name: str = "orbit") -> psycopg.Connection[TupleRow]:
    """Connect to a database, in UTC, with pgvector's types registered where the extension is installed.

    Raises:
        DatabaseUnavailable: nobody answers, or the server refuses.
    """
    try:
        given: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # libpq's own words would quote the URL, and with it a password.
        raise DatabaseUnavailable(
            "The database URL can't be read. It has the form postgresql://user:password@host:5432/database; "
            "special characters in the password are written in percent form."
        ) from None
    given.setdefault("connect_timeout", CONNECT_TIMEOUT)
    given["options"] = f"{given.get('options') or ''} -c timezone=UTC".strip()
    try:
        connection = DiscreetConnection.connect(
            **given, autocommit=autocommit, application_name=application_name, client_encoding="utf8"
        )
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(
            f"PostgreSQL doesn't let us in, at {describe(url)}: {_reason(error)}. Start it (`orbit up` starts the "
            "embedded one), or correct ORBIT_DATABASE_URL."
        ) from None
    if _has_vector(connection):
        register_vector(connection)
    return connection


def describe(url: str) -> str:
    """Return which database a URL means, for messages: no password in it."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "an unreadable URL"
    user, host, port = given.get("user", "(you)"), given.get("host", "localhost"), given.get("port", 5432)
    return f"database {given.get('dbname', user)!r} on {host}, port {port}, as {user!r}"


def _reason(error: psycopg.OperationalError) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else "no reason given"


def _has_vector(connection: psycopg.Connection[TupleRow]) -> bool:
    with connection.transaction():
        return connection.execute("select to_regtype('vector') is not null").fetchone() == (True,)
