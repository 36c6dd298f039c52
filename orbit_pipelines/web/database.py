"""The pages' way to the database: a few connections kept open, each with the application's rights and nothing more."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import IsolationLevel
from psycopg.rows import TupleRow
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from orbit_pipelines.database.roles import DatabaseRole, acting_for, connect_as
from orbit_pipelines.errors import DatabaseUnavailable

PostgresConnection = psycopg.Connection[TupleRow]

CONNECTIONS = 10
"""At most; who comes when all are at work waits."""

SECONDS_TO_WAIT = 10.0


class AppDatabase:
    """A pool of connections. Nothing is opened before the first page needs it, and a lost one is opened anew."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(
            "postgresql+psycopg://",
            creator=lambda: connect_as(url, DatabaseRole.APP, application_name="orbit web"),
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=SECONDS_TO_WAIT,
            pool_pre_ping=True,
            use_native_hstore=False,
        )

    @contextmanager
    def acting_for(self, user_id: str, *, is_one_moment: bool = False) -> Iterator[PostgresConnection]:
        """Open a transaction that sees and writes one person's rows only.

        Args:
            user_id: the person who is signed in.
            is_one_moment: all that is read is as it was at the first statement.

        Raises:
            DatabaseUnavailable: nobody answers, the roles aren't made, or every connection stays at work.
        """
        with self._connection() as connection:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ if is_one_moment else None
            try:
                with acting_for(connection, user_id):
                    yield connection
            finally:
                if not connection.closed:
                    connection.isolation_level = None

    @contextmanager
    def acting_for_nobody(self) -> Iterator[PostgresConnection]:
        """Open a transaction in which no row of a person can be seen; signing in begins here.

        Raises:
            DatabaseUnavailable: as above.
        """
        with self._connection() as connection, connection.transaction():
            yield connection

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self._engine.dispose()

    @contextmanager
    def _connection(self) -> Iterator[PostgresConnection]:
        try:
            borrowed = self._engine.raw_connection()
        except NoConnectionFree:
            raise DatabaseUnavailable(
                f"All {CONNECTIONS} database connections of the pages are at work. Try again in a moment."
            ) from None
        except DBAPIError as error:
            # What the first look at a new connection meets; SQLAlchemy wraps it.
            raise DatabaseUnavailable("The database went away while a page asked for it. Try again.") from error
        try:
            connection = borrowed.driver_connection
            if not isinstance(connection, psycopg.Connection):
                raise TypeError(f"pages work on psycopg 3, not on {type(connection).__name__}")
            yield connection
        finally:
            borrowed.close()
