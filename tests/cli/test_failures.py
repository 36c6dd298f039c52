from typing import Any

import psycopg
import pytest
import sqlalchemy.exc
from psycopg.rows import TupleRow

from orbit_pipelines.cli.failures import explain

Connection = psycopg.Connection[TupleRow]


def failure_of(connection: Connection, statement: str, parameters: Any = None) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(statement.encode(), parameters)
    return caught.value


def test_a_connection_that_the_server_ends_is_said_to_be_lost(connection: Connection) -> None:
    ended = failure_of(connection, "select pg_terminate_backend(pg_backend_pid())")
    assert "lost" in explain(ended)[0]
    assert "lost" in explain(sqlalchemy.exc.OperationalError("select", {}, ended))[0]
    # Used again, it has no code of the server's any more.
    assert "lost" in explain(failure_of(connection, "select"))[0]


@pytest.mark.parametrize(
    ("statement", "parameters"),
    [
        # A key of random hexadecimal digits, too long for an index.
        (
            "insert into orbitpilot.account (user_id, locale) select string_agg(md5(n::text), ''), 'en'"
            " from generate_series(1, 300) n",
            None,
        ),
        ("set local lock_timeout = 1; select pg_advisory_xact_lock(1)", None),
        ("select pg_cancel_backend(pg_backend_pid()), pg_sleep(10)", None),
    ],
    ids=["a limit", "a lock", "a cancelled statement"],
)
def test_a_statement_that_is_refused_is_no_lost_connection(
    connection: Connection, database_url: str, statement: str, parameters: Any
) -> None:
    with psycopg.connect(database_url) as other:
        other.execute("select pg_advisory_xact_lock(1)")
        refused = failure_of(connection, statement, parameters)
    assert isinstance(refused, psycopg.OperationalError)
    assert "lost" not in explain(refused)[0]
    assert "lost" not in explain(sqlalchemy.exc.OperationalError("select", {}, refused))[0]
