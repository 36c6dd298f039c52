"""Connections to PostgreSQL, all made alike: UTC, pgvector's halfvec, and errors that hold no row values."""

import errno
import os
import re
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg.types import TypeInfo

from orbit_pipelines.errors import DatabaseUnavailable, OutOfSpace

Result = TypeVar("Result")

CONNECT_TIMEOUT = 10
"""Seconds; libpq itself would wait for a silent host for minutes."""

_SILENCE = (
    *map(os.strerror, (errno.ECONNREFUSED, errno.ENOENT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT)),
    "timeout expired",
    "resolve host",
    "translate host name",
)

_RAISED = ("P0", "38", "39")
"""Classes of errors: raised in PL/pgSQL, and by or in functions of other languages."""

_DATA_EXCEPTION = "22"
"""The class of values that aren't what a type can hold; its messages quote them."""

_QUOTE = re.compile("[\"'«»„“”‘’‹›「」]")
"""The marks that the server's translations put around what they quote."""

_FUNCTION = re.compile(r"PL/pgSQL function ([a-z_][a-z0-9_.]*)\(")
_NAME = re.compile(r"[a-z_][a-z0-9_.]{0,62}")


class ClosingCursor(psycopg.ServerCursor[Any]):
    """A cursor on the server that is closed also when its connection is lost just then."""

    def close(self) -> None:
        """Close the cursor; on a lost connection there is nothing to ask of the server any more."""
        try:
            super().close()
        except psycopg.Error:
            if self.connection.closed:
                super().close()
            raise


class DiscreetConnection(psycopg.Connection[TupleRow]):
    """A connection whose errors keep row values to themselves.

    PostgreSQL's DETAIL shows the row that failed, message text included, and an error's text ends up in logs and in
    Dagster's events; so may the message itself, where a function wrote it or a value is quoted in it. All of it stays
    readable in ``error.diag``, for code that asks for it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.server_cursor_factory = ClosingCursor

    def wait(self, gen: Generator[Any, Any, Result], *args: Any, **kwargs: Any) -> Result:
        """Run one exchange with the server; every method of a connection and its cursors passes here."""
        try:
            return super().wait(gen, *args, **kwargs)
        except psycopg.Error as error:
            if (said := discreet_message(error)) is not None:
                error.args = (said, *error.args[1:])
            raise


def discreet_message(error: psycopg.Error) -> str | None:
    """Return what the server said, without what may be of a row; None if no server said anything.

    Its own messages name tables, columns and limits, and are kept. What a function or a trigger raised may be put
    together from anything: of that only the code is told, the function, and table and constraint where they are names.
    """
    diag = error.diag
    if diag.message_primary is None:
        return None
    if _is_raised(diag):
        function = _FUNCTION.match(diag.context or "")
        which = f" ({function[1]})" if function else ""
        about = [
            f", {what} {name}"
            for what, name in (("table", diag.table_name), ("constraint", diag.constraint_name))
            if name is not None and _NAME.fullmatch(name)
        ]
        return f"a function of the database{which} raised an error (SQLSTATE {diag.sqlstate}{''.join(about)})"
    if (diag.sqlstate or "").startswith(_DATA_EXCEPTION) and (quoted := _QUOTE.search(diag.message_primary)):
        return f"{diag.message_primary[: quoted.start()].rstrip()} … (SQLSTATE {diag.sqlstate})"
    if diag.message_detail or diag.context:
        return diag.message_primary
    return str(error)


def _is_raised(diag: psycopg.errors.Diagnostic) -> bool:
    """Whether the words are of a function: PL/pgSQL's may have any code, those of other languages the last three."""
    return diag.source_function == "exec_stmt_raise" or (diag.sqlstate or "")[:2] in _RAISED


def connect(url: str, *, autocommit: bool = False, application_name: str = "orbit") -> psycopg.Connection[TupleRow]:
    """Connect to a database, in UTC, with pgvector's ``halfvec`` registered where the extension is installed.

    Raises:
        DatabaseUnavailable: the URL can't be read, nobody answers, or the server refuses.
        OutOfSpace: the server's disk is too full even for a connection.
    """
    given = parse_url(url)
    given.setdefault("connect_timeout", CONNECT_TIMEOUT)
    given["options"] = f"{given.get('options') or ''} -c timezone=UTC".strip()
    try:
        connection = DiscreetConnection.connect(
            **given, autocommit=autocommit, application_name=application_name, client_encoding="utf8"
        )
    except psycopg.OperationalError as error:
        if os.strerror(errno.ENOSPC) in str(error):
            raise OutOfSpace(
                f"The disk of the PostgreSQL server is full: it takes no connection to {describe(url)}. Free some of "
                "it, and run this again."
            ) from None
        what = "No PostgreSQL answers at" if _is_silent(error) else "PostgreSQL doesn't let us in, at"
        raise DatabaseUnavailable(
            f"{what} {describe(url)}: {_reason(error)}. Start it (`orbit up` starts the embedded one), or correct "
            "ORBIT_DATABASE_URL."
        ) from None
    with connection.transaction():
        halfvec = TypeInfo.fetch(connection, "halfvec")
    if halfvec is not None:
        # The one type of pgvector's that is stored; register_vector() would ask for four.
        register_halfvec_info(connection, halfvec)
    return connection


def parse_url(url: str) -> dict[str, Any]:
    """Return the parameters that a database URL, or a libpq connection string, gives.

    Raises:
        DatabaseUnavailable: it can't be read. Nothing of it is said: libpq would quote it, and with it a password.
    """
    try:
        given: dict[str, Any] = conninfo_to_dict(url)
    except (psycopg.Error, UnicodeError):
        given = {"port": "unreadable"}
    # A password with a bare / or @ in it reads as a port or a host, which messages name.
    ports, host = str(given.get("port") or "").split(","), given.get("host") or ""
    if not all(map(_is_port, ports)) or "@" in host.removeprefix("@"):
        raise DatabaseUnavailable(
            "The database URL can't be read. It has the form postgresql://user:password@host:5432/database; "
            "special characters in the password are written in percent form. Correct ORBIT_DATABASE_URL or "
            "ORBIT_DAGSTER_DATABASE_URL."
        )
    return given


def beside(url: str, database: str) -> str:
    """Return the connection string of another database on the same server."""
    return make_conninfo(**(parse_url(url) | {"dbname": database}))


def describe(url: str) -> str:
    """Return which database a URL means, for messages: no password in it."""
    try:
        given = parse_url(url)
    except DatabaseUnavailable:
        return "an unreadable URL"
    user, host, port = given.get("user", "(you)"), given.get("host", "localhost"), given.get("port", 5432)
    return f"database {given.get('dbname', user)!r} on {host}, port {port}, as {user!r}"


def _is_port(given: str) -> bool:
    return not given or (given.isascii() and given.isdigit() and len(given) <= 5 and 0 < int(given) <= 65535)


def _reason(error: psycopg.OperationalError) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else "no reason given"


def _is_silent(error: psycopg.OperationalError) -> bool:
    """Whether nobody answered at all; libpq gives no code for it."""
    return any(reason in str(error) for reason in _SILENCE)
