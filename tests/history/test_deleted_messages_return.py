"""Messages that were deleted and come back: known by what they said, with their number and their mark."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.history.importing import ImportResult
from tests.history.lines import row, row_with_ids

Connection = psycopg.Connection[Any]
Rows = Callable[[], dict[str, list[tuple[Any, ...]]]]
ImportLines = Callable[..., ImportResult]
Told = Callable[[], list[str]]
Write = Callable[..., dict[str, Any]]
NUMBERS = "select content, pair_index from orbitpilot.message where role = 'user'"
HASHES = "select pair_index from memory.pair where text_hash is not null order by 1"


def delete_by_mirror(import_lines: ImportLines, connection: Connection, write: Write) -> None:
    import_lines(write("q1 >a1"), mirror=True)


def delete_by_hand(import_lines: ImportLines, connection: Connection, write: Write) -> None:
    connection.execute("delete from orbitpilot.message where content in ('pin', 'noted')")


def delete_account(import_lines: ImportLines, connection: Connection, write: Write) -> None:
    connection.execute("delete from orbitpilot.account")
    create_account(connection, "ana")
    import_lines(write("q1 >a1"))


@pytest.mark.parametrize("write", [row, row_with_ids])
@pytest.mark.parametrize("delete", [delete_by_mirror, delete_by_hand, delete_account])
@pytest.mark.parametrize(
    "file",
    [
        pytest.param("q1 >a1 pin >noted", id="as it was"),
        pytest.param("q1 >a1_and_more pin >noted", id="a reply before it grew"),
        pytest.param("q1 >other pin >noted", id="a reply before it is another"),
        pytest.param("q1 >a1 new >x pin >noted", id="a new exchange before it"),
        pytest.param("pin >noted q1 >a1", id="before the rest"),
        pytest.param("q1 >a1 q2 >a2 q3 >a3 pin", id="later and without its reply"),
    ],
)
def test_a_deleted_message_returns_with_its_mark(
    file: str,
    delete: Callable[[ImportLines, Connection, Write], None],
    write: Write,
    import_lines: ImportLines,
    told: Told,
    mark: Callable[[str], None],
    rows: Rows,
    connection: Connection,
) -> None:
    import_lines(write("q1 >a1 pin >noted"))
    mark("pin")
    delete(import_lines, connection, write)
    # Without ids, whatever the deleted messages were named by.
    import_lines(row(file))
    [said] = told()
    assert said.partition(" |")[0] == file.replace("_", " ").replace("pin", "pin!")
    assert dict(connection.execute(NUMBERS).fetchall())["pin"] == 1
    before = rows()
    assert not import_lines(row(file)).changed_anything
    assert rows() == before


@pytest.mark.parametrize("delete", [delete_by_mirror, delete_by_hand, delete_account])
def test_a_mark_and_a_number_land_on_no_other_text(
    delete: Callable[[ImportLines, Connection, Write], None],
    import_lines: ImportLines,
    told: Told,
    mark: Callable[[str], None],
    connection: Connection,
) -> None:
    import_lines(row("q1 >a1 pin >noted"))
    mark("pin")
    delete(import_lines, connection, row)
    import_lines(row("q1 >a1 other >noted"))
    assert told() == ["q1 >a1 other >noted"]
    assert dict(connection.execute(NUMBERS).fetchall()) == {"q1": 0, "other": 2}


def test_of_several_that_said_the_same_each_returns_in_its_place(
    import_lines: ImportLines, told: Told, connection: Connection
) -> None:
    import_lines(row("q >a ok >b ok >c ok >d"))
    connection.execute("update orbitpilot.message set not_remembered = true where message_id = 'm4'")
    import_lines(row("q >a"), mirror=True)
    import_lines(row("q >a-and-more ok >b ok >c ok >d"))
    assert told() == ["q >a-and-more ok >b ok! >c ok >d"]


def test_what_returns_is_known_by_what_it_said_last(
    import_lines: ImportLines, told: Told, mark: Callable[[str], None], connection: Connection
) -> None:
    import_lines(row("q1 >a1 pim >noted"))
    mark("pim")
    import_lines(row("q1 >a1 pin >noted"))
    import_lines(row("q1 >a1"), mirror=True)
    import_lines(row("q1 >a1-and-more pin"))
    assert told() == ["q1 >a1-and-more pin!"]


def test_no_hash_is_kept_of_what_is_outdated_or_forgotten(import_lines: ImportLines, connection: Connection) -> None:
    import_lines(row("q1 >a1 q2 >a2"))
    assert connection.execute(HASHES).fetchall() == [(0,), (1,)]
    connection.execute("update orbitpilot.message set content = 'else' where content = 'q2'")
    assert connection.execute(HASHES).fetchall() == [(0,)]
    connection.execute("insert into memory.tombstone (user_id, agent_id, session_id) values ('ana', 'orbitpilot', 's')")
    assert connection.execute(HASHES).fetchall() == []
    import_lines(row("q1-edited >a1 q2 >a2 q3"))
    assert connection.execute(HASHES).fetchall() == []
