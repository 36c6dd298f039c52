"""The same chat with ids and without: from another product, or from the same in another year."""

from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import Any

import psycopg
import pytest

from orbit_pipelines.history.importing import ImportResult
from tests.history.lines import claude, row, row_with_first_id, row_with_ids, sharegpt

Connection = psycopg.Connection[Any]
Rows = Callable[[], dict[str, list[tuple[Any, ...]]]]
ImportLines = Callable[..., ImportResult]
Told = Callable[[], list[str]]
Write = Callable[..., dict[str, Any]]

WRITERS: dict[str, Write] = {
    "no ids": row,
    "ids": row_with_ids,
    "the first id": row_with_first_id,
    "ShareGPT": sharegpt,
    "Claude": claude,
    "Claude without ids": partial(claude, has_ids=False),
}
KEPT = "select session_id, message_id, handle, pair_index from orbitpilot.message order by position"


@pytest.mark.parametrize(("first", "second"), list(permutations(WRITERS, 2)))
def test_the_same_turns_are_the_same_messages(
    first: str,
    second: str,
    import_lines: ImportLines,
    told: Told,
    mark: Callable[[str], None],
    rows: Rows,
    connection: Connection,
) -> None:
    import_lines(WRITERS[first]("q1 >a1 pin >noted ok"))
    mark("pin")
    kept = connection.execute(KEPT).fetchall()
    for writer in (second, first, second):
        import_lines(WRITERS[writer]("q1 >a1 pin >noted ok"))
        assert told() == ["q1 >a1 pin! >noted ok"]
        assert connection.execute(KEPT).fetchall() == kept
    before = rows()
    assert not import_lines(WRITERS[second]("q1 >a1 pin >noted ok")).changed_anything
    assert rows() == before
    for writer, grown in ((second, "q1 >a1 pin >noted ok >fine"), (first, "q1 >a1 pin >noted ok >fine q2 >a2")):
        import_lines(WRITERS[writer](grown))
    assert told() == ["q1 >a1 pin! >noted ok >fine q2 >a2"]


@pytest.mark.parametrize(("first", "second"), [(row, row_with_ids), (row_with_ids, row), (claude, row)])
def test_a_session_that_lost_its_id_is_known_with_ids_and_without(
    first: Write, second: Write, import_lines: ImportLines, told: Told, mark: Callable[[str], None], rows: Rows
) -> None:
    import_lines(first("q1 >a1 pin >noted", "s" if first is claude else None))
    mark("pin")
    for turns in ("q1 >a1 pin >noted", "q1 >a1 pin >noted more >m"):
        import_lines(second(turns, None))
        assert told() == [turns.replace("pin", "pin!")]
        before = rows()
        assert not import_lines(second(turns, None)).changed_anything
        assert rows() == before


@pytest.mark.parametrize(("first", "second"), list(permutations(["no ids", "ids", "Claude", "Claude without ids"], 2)))
def test_a_text_that_changed_is_an_edit_and_keeps_its_mark(
    first: str, second: str, import_lines: ImportLines, told: Told, mark: Callable[[str], None]
) -> None:
    import_lines(WRITERS[first]("q1 >a1 pin >noted ok >fine"))
    mark("pin")
    import_lines(WRITERS[second]("q1 >a1 new_pin >noted ok >fine q2"))
    expected = "q1 >a1 new pin! >noted ok >fine q2"
    # Two ids of their own are two messages; so are those of which a format keeps both.
    assert told() in ([expected], [expected + " | pin! >noted"], [expected + " | pin!"])


def test_two_ids_are_two_messages_whatever_they_say(import_lines: ImportLines, told: Told) -> None:
    import_lines(row_with_ids("ok >Sure", ids="one-{}"))
    import_lines(row_with_ids("ok >Sure", ids="two-{}"))
    assert told() == ["ok >Sure ok >Sure"]


@pytest.mark.parametrize(
    "write",
    [row_with_ids, claude, partial(claude, has_links=False)],
)
def test_a_question_that_was_reworded_loses_the_reply_that_the_file_lacks(
    write: Write, import_lines: ImportLines, told: Told, rows: Rows
) -> None:
    import_lines(write("old >answer"))
    import_lines(write("new"))
    assert told() == ["new | >answer"]
    before = rows()
    assert not import_lines(write("new")).changed_anything
    assert rows() == before
    import_lines(write("new >answer"))
    assert told() == ["new >answer"]
