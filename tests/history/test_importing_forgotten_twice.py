"""Whatever means a forgotten session is bound: with ids and without, twice in a file, in halves, edited."""

from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest

from orbit_pipelines.history.importing import ImportResult
from tests.history.lines import row, row_with_ids

Connection = psycopg.Connection[Any]
Rows = Callable[[], dict[str, list[tuple[Any, ...]]]]
ImportLines = Callable[..., ImportResult]
Write = Callable[..., dict[str, Any]]

FORGET = (
    "insert into memory.tombstone (user_id, agent_id, session_id)"
    " select user_id, agent_id, session_id from orbitpilot.session"
)
REMEMBERED = (
    "select content from orbitpilot.message left join memory.tombstone using (user_id, agent_id, session_id)"
    " where tombstone.session_id is null"
)


def written(turns: str) -> dict[str, Any]:
    """Write a conversation without an id; behind an asterisk its messages have ids, behind a plus others."""
    writers: dict[str, Write] = {"*": row_with_ids, "+": partial(row_with_ids, ids="another-{}")}
    write: Write = writers.get(turns[0], row)
    return write(turns.lstrip("*+"), None)


@pytest.mark.parametrize(
    ("first", "file"),
    [
        pytest.param("q1 >a1 pin >noted", ["* q1 >a1 pin >noted"], id="with ids"),
        pytest.param("* q1 >a1 pin >noted", ["q1 >a1 pin >noted"], id="without ids"),
        pytest.param("* q1 >a1 pin >noted", ["+ q1 >a1 pin >noted"], id="with other ids"),
        pytest.param("q1 >a1 pin >noted", ["* q1 >a1 pin >noted more >m"], id="with ids and more"),
        pytest.param("q1 >a1 pin >noted", ["* pin >noted"], id="with ids, the end alone"),
        pytest.param("q1 >a1 pin >noted", ["q1 >a1 pin >noted"] * 3, id="three times"),
        pytest.param("q1 >a1 pin >noted", ["q1 >a1 pin >noted", "* q1 >a1 pin >noted"], id="with ids and without"),
        pytest.param("* q1 >a1 pin >noted", ["* q1 >a1 pin >noted", "+ q1 >a1 pin >noted"], id="with two sorts of ids"),
        pytest.param("q1 >a1 pin >noted", ["q1 >a1", "pin >noted"], id="two halves"),
        pytest.param("q1 >a1 pin >noted", ["pin >noted", "q1 >a1"], id="two halves, the last one first"),
        pytest.param("q1 >a1 pin >noted", ["q1 >a1 pin >noted", "pin >noted more >m"], id="whole, and moved on"),
        pytest.param("q1 >a1 pin >noted", ["q1 >a1 pin >noted", "* new >b pin >noted"], id="whole, and edited"),
        pytest.param("pin", ["pin >noted", "pin >other"], id="answered, twice"),
        pytest.param("pin >noted", ["pin", "pin"], id="without its reply, twice"),
    ],
)
@pytest.mark.parametrize("batch_messages", [1, 1_000])
def test_every_row_that_means_a_forgotten_session_is_bound(
    first: str, file: list[str], batch_messages: int, import_lines: ImportLines, connection: Connection, rows: Rows
) -> None:
    import_lines(written(first))
    connection.execute(FORGET)
    lines = [written(turns) for turns in file]
    result = import_lines(*lines, batch_messages=batch_messages)
    assert result.session_forgotten == len(file)
    assert connection.execute(REMEMBERED).fetchall() == []
    before = rows()
    again = import_lines(*lines, batch_messages=batch_messages)
    assert (again.session_forgotten, again.changed_anything) == (len(file), False)
    assert rows() == before


@pytest.mark.parametrize("batch_messages", [1, 1_000])
@pytest.mark.parametrize("file", [["pin >noted"] * 2, ["pin >noted", "pin >other"], ["* pin >noted", "pin >noted"]])
def test_of_a_forgotten_session_without_text_all_that_begin_alike_are_bound(
    file: list[str], batch_messages: int, import_lines: ImportLines, connection: Connection
) -> None:
    import_lines(written("pin >noted"))
    connection.execute(FORGET)
    connection.execute("delete from orbitpilot.session")
    result = import_lines(*map(written, file), batch_messages=batch_messages)
    assert result.session_forgotten == len(file)
    assert connection.execute(REMEMBERED).fetchall() == []


def test_others_that_begin_alike_are_not_bound(import_lines: ImportLines, connection: Connection) -> None:
    import_lines(written("Hi >Hello pin >noted more"))
    connection.execute(FORGET)
    file = ["Hi >Hello pin >noted more", "Hi >Good_day q >a", "Hi >Hello q >a r >b s >c"]
    assert import_lines(*map(written, file)).session_forgotten == 1
    assert len(connection.execute(REMEMBERED).fetchall()) == 12


def test_however_many_begin_like_a_forgotten_session_it_is_known(
    import_lines: ImportLines, connection: Connection
) -> None:
    import_lines(written("Hi >Hello pin >noted"))
    connection.execute(FORGET)
    import_lines(*(written(f"Hi >Welcome-{number} q-{number} >a-{number}") for number in range(30)))
    result = import_lines(written("Hi >Hello pin >noted"), written("* Hi >Hello pin >noted more"))
    assert result.session_forgotten == 2


@pytest.mark.parametrize("forgets_account", [False, True])
def test_what_was_bound_goes_the_way_of_the_tombstone_that_bound_it(
    forgets_account: bool, import_lines: ImportLines, connection: Connection
) -> None:
    import_lines(written("pin >noted"))
    connection.execute(FORGET)
    if forgets_account:
        connection.execute("update memory.tombstone set reason = 'account'")
    import_lines(written("pin >noted"), written("pin >noted"))
    connection.execute("delete from orbitpilot.account")
    left = connection.execute("select count(*) from memory.tombstone").fetchall()
    assert left == [(0 if forgets_account else 2,)]
