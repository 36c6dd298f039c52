import traceback
from collections.abc import Callable

import psycopg
import pytest
from hypothesis import given, strategies
from pgvector import HalfVector
from psycopg.rows import TupleRow

from orbit_pipelines.database.connection import beside, connect, describe, parse_url
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.errors import DatabaseUnavailable


def test_a_connection_speaks_utc_and_utf8(connection: psycopg.Connection[TupleRow]) -> None:
    row = connection.execute("select current_setting('timezone'), current_setting('client_encoding')").fetchone()

    assert row == ("UTC", "UTF8")


def test_a_connection_knows_half_vectors(connection: psycopg.Connection[TupleRow]) -> None:
    row = connection.execute("select '[1,2]'::halfvec").fetchone()

    assert row is not None
    assert isinstance(row[0], HalfVector)
    assert row[0].to_list() == [1.0, 2.0]


def test_a_connection_starts_outside_a_transaction(connection: psycopg.Connection[TupleRow]) -> None:
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_options_in_the_url_stay(database_url: str) -> None:
    with connect(f"{database_url}&options=-c%20work_mem%3D7MB") as connection:
        row = connection.execute("select current_setting('work_mem'), current_setting('timezone')").fetchone()

    assert row == ("7MB", "UTC")


def test_an_error_shows_no_row_values(connection: psycopg.Connection[TupleRow]) -> None:
    connection.execute("create temporary table note (content text check (length(content) < 5))")

    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        connection.execute("insert into note values (%s)", ["a secret of mine"])

    assert "secret" not in str(caught.value)
    assert "note_content_check" in str(caught.value)
    assert "secret" in (caught.value.diag.message_detail or "")


def test_an_error_in_a_copy_shows_no_row_values(connection: psycopg.Connection[TupleRow]) -> None:
    connection.execute("create temporary table number (number int)")

    with pytest.raises(psycopg.errors.InvalidTextRepresentation) as caught:
        copy_in(connection, b"1\n2\nx\n")

    assert "COPY" not in str(caught.value)


SECRET = "I like tea"

RAISED = {
    "a message": "raise exception 'no: %', new.content",
    "a message under another code": "raise exception using errcode = 'check_violation', message = new.content",
    "a message under a code of its own": "raise exception using errcode = 'XY123', message = new.content",
    "a hint": "raise exception 'no' using hint = new.content",
    "names": "raise exception 'no' using table = new.content, constraint = new.content",
    "a cast": "perform new.content::int",
    "a cast to a time": "perform new.content::timestamptz",
    "a cast to JSON": "perform new.content::jsonb",
    "a message raised again": "begin raise exception '%', new.content; exception when others then raise; end",
    "an assertion": "assert false, new.content",
}


@pytest.mark.parametrize("body", RAISED.values(), ids=RAISED)
def test_what_a_trigger_says_is_not_handed_on(connection: psycopg.Connection[TupleRow], body: str) -> None:
    connection.execute("create temporary table note (content text)")
    function = f"$$ begin {body}; return new; end $$"
    connection.execute(f"create function pg_temp.refuse() returns trigger language plpgsql as {function}".encode())
    connection.execute("create trigger refuse before insert on note for each row execute function pg_temp.refuse()")

    with pytest.raises(psycopg.Error) as caught:
        connection.execute("insert into note values (%s)", [SECRET])

    assert "tea" not in str(caught.value)
    assert "tea" not in "".join(traceback.format_exception(caught.value))


def test_which_function_raised_an_error_is_said_with_the_table_and_constraint_it_names(
    connection: psycopg.Connection[TupleRow],
) -> None:
    with pytest.raises(psycopg.errors.RaiseException) as caught:
        connection.execute(
            "do $$ begin raise exception 'I like tea' using table = 'note', constraint = 'note_short'; end $$"
        )

    said = "a function of the database raised an error (SQLSTATE P0001, table note, constraint note_short)"
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select 1 / 0", "division by zero"),
        ("select * from nowhere", 'relation "nowhere" does not exist'),
        ("select 'x'::int", "invalid input syntax for type integer: … (SQLSTATE 22P02)"),
        ("select 300000000000::int", "integer out of range"),
    ],
)
def test_what_the_server_itself_says_stays(connection: psycopg.Connection[TupleRow], query: str, said: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(query.encode())

    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("reads", [True, False], ids=["read from", "only declared"])
def test_a_cursor_whose_connection_was_lost_is_closed(database_url: str, reads: bool) -> None:
    with connect(database_url) as connection, connect(database_url, autocommit=True) as other:
        cursor = connection.cursor(name="numbers")
        cursor.execute("select generate_series(1, 100)")
        if reads:
            cursor.fetchmany(10)
        other.execute("select pg_terminate_backend(%s, 10000)", [connection.info.backend_pid])

        # Left open, it would warn when it is collected, and a warning fails a test.
        with pytest.raises(psycopg.OperationalError):
            cursor.close()

        assert cursor.closed


def copy_in(connection: psycopg.Connection[TupleRow], lines: bytes) -> None:
    with connection.cursor().copy("copy number from stdin") as copy:
        copy.write(lines)


def test_a_server_that_is_down_is_named_without_its_password() -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        connect("postgresql://me:hunter2@127.0.0.1:1/orbit")

    assert "127.0.0.1" in str(caught.value)
    assert "refused" in str(caught.value)
    assert "ORBIT_DATABASE_URL" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


UNREADABLE = {
    "another product's": "mysql://me:hunter2@host/orbit",
    "no URL": "hunter2",
    "a bad percent form": "postgresql://me:hunter2%zz@localhost/orbit",
    "an open bracket": "postgresql://me:hunter2@[bad",
    "a bracket in place of a user": "postgresql://[hunter2/x",
    "a port that is no number": "postgresql://me:hunter2@host:abc/orbit",
    "a port that no one has": "postgresql://me:hunter2@host:99999/orbit",
    "a slash in the password": "postgresql://me:hunter2/x@host/orbit",
    "an at sign in the password": "postgresql://me:x@hunter2@host/orbit",
    "an open quote": "user=me password='hunter2",
    "an unknown option": "postgresql://me:hunter2@host/orbit?hunter2=1",
}


@pytest.mark.parametrize("use", [connect, parse_url, lambda url: beside(url, "other")])
@pytest.mark.parametrize("url", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_url_is_refused_without_quoting_it(url: str, use: Callable[[str], object]) -> None:
    with pytest.raises(DatabaseUnavailable, match="can't be read") as caught:
        use(url)

    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert describe(url) == "an unreadable URL"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me@127.0.0.1:1/orbit",
        "postgresql:///orbit?host=/no/such/folder",
        "postgresql://me@nowhere.invalid/orbit",
    ],
)
def test_who_does_not_answer_is_not_said_to_refuse(url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match="No PostgreSQL answers at database 'orbit'"):
        connect(url)


def test_a_server_that_refuses_is_said_to(server: EmbeddedServer) -> None:
    with pytest.raises(DatabaseUnavailable, match="doesn't let us in, at database 'no such one'"):
        connect(server.url("no such one"))


@given(strategies.text(alphabet="abcdefghij0123456789", min_size=9))
def test_no_description_holds_the_password(password: str) -> None:
    assert password not in describe(f"postgresql://me:{password}@host:5433/orbit")
