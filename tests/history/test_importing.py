"""Importing: what differs and nothing else, under numbers that never move."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from orbit_pipelines.errors import UnknownAccount, UnreadableExport
from orbit_pipelines.history.flags import set_remembered
from orbit_pipelines.history.importing import ImportResult, import_sessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession
from orbit_pipelines.model import Store

Conversation = Callable[..., ParsedSession]
ImportAll = Callable[..., ImportResult]
Shown = Callable[..., str]
Rows = Callable[[], dict[str, list[tuple[Any, ...]]]]
Connection = psycopg.Connection[Any]

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
KEY = b"k" * 32


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param(["u1 a1 u2 a2"], "u1:0/0 a1>0 u2:1/1 a2>1", id="plain"),
        pytest.param(["u1 u2 a1 u3"], "u1:0/0 u2:1/0 a1>1 u3:2/2", id="a run, and one unanswered"),
        pytest.param(["a0 u1 a1 a2"], "a0> u1:0/0 a1>0 a2>0", id="a reply to nothing, and one in two parts"),
        pytest.param(["u1 a1", "u1 a1 u2", "u1 a1 u2 a2"], "u1:0/0 a1>0 u2:1/1 a2>1", id="grown"),
        pytest.param(["u1", "u1 u2", "u1 u2 a1"], "u1:0/0 u2:1/0 a1>1", id="a run that grows"),
        pytest.param(
            ["u1 u2 u3 u4", "u1 a1 u2 u3 a2 u4"],
            "u1:0/0 a1>0 u2:1/1 u3:2/1 a2>2 u4:3/3",
            id="replies that part a run",
        ),
        pytest.param(["u2 u3", "u2 a1 u1 u3"], "u2:0/0 a1>0 u1:2/2 u3:1/1", id="a reply and a question part a run"),
        pytest.param(["u2", "u1 u2 a1"], "u1:1/1 u2:0/0 a1>0", id="a question before a known one"),
        pytest.param(["u1 a1", "u1 a2 u2 a3 | a1"], "u1:0/0 a2>0 u2:1/1 a3>1 -a1>0", id="a reply regenerated (h01)"),
        pytest.param(
            ["u1 a1 u2 a2", "u3 a3 | u1 a1 u2 a2"],
            "u3:2/2 a3>2 -a1>0 -a2>1 -u1:0/0 -u2:1/1",
            id="the first prompt edited (h02)",
        ),
        pytest.param(
            ["u1 a1 u2 a2", "u3 a3 | u1 a1 u2 a2", "u1 a1 u2 a2 | u3 a3"],
            "u1:0/0 a1>0 u2:1/1 a2>1 -a3>2 -u3:2/2",
            id="back on the old branch",
        ),
        pytest.param(["u1 a1 | u9 a9"], "u1:0/0 a1>0", id="a branch that was never active is not stored"),
        pytest.param(
            ["u1 a1 u2 a2", "u2 a2 u3"], "u1:0/0 a1>0 u2:1/1 a2>1 u3:2/2", id="a rotated file holds the tail alone"
        ),
        pytest.param(
            ["u1 a1 u2", "a2 u3"], "u1:0/0 a1>0 u2:1/1 a2>1 u3:2/2", id="a rotated file starts with the reply"
        ),
        pytest.param(["u1 a1 u2", "u3 a3"], "u1:0/0 a1>0 u2:1/1 u3:2/1 a3>2", id="a rotated file goes on with the run"),
        pytest.param(["u1 a1 u2 a2", "u1 a1"], "u1:0/0 a1>0 u2:1/1 a2>1", id="an older file takes nothing away"),
        pytest.param(
            ["u1 a1 u2", "u1 a1 u3 a3"],
            "u1:0/0 a1>0 u2:1/1 u3:2/2 a3>2",
            id="a file that lacks a question doesn't put it into the run of another",
        ),
        pytest.param(["u1 a1", "u1 u2 a2"], "u1:0/0 a1>0 u2:1/1 a2>1", id="a stored reply that the file lacks"),
        pytest.param(["a1 u1", "u1 a1"], "u1:0/0 a1>", id="turns in another order"),
    ],
)
def test_a_history_in_steps_ends_as_expected(
    steps: list[str],
    expected: str,
    conversation: Conversation,
    import_all: ImportAll,
    shown: Shown,
    rows: Rows,
) -> None:
    for step in steps:
        import_all(conversation(step))
    assert shown() == expected
    before = rows()
    import_all(conversation(steps[-1]))
    assert rows() == before


def test_the_first_import_counts_what_it_stored(conversation: Conversation, import_all: ImportAll) -> None:
    result = import_all(conversation("u1 a1 u2"), conversation("u1 a1", "t"))
    assert result == ImportResult(sessions_new=2, messages_new=5, pairs_new=3)
    assert result.changed_anything


def test_the_same_file_twice_changes_no_row(
    connection: Connection, conversation: Conversation, import_all: ImportAll, rows: Rows
) -> None:
    file = (
        conversation(
            "u1 a1 u2 a2 | u9",
            title="Kept",
            started_at=NOON,
            channel="c",
            participants=frozenset({"ana", "bo"}),
            do_not_remember=True,
        ),
        conversation("u1 u2 a1", "t"),
        conversation("u1 a1", None),
        conversation("u1 a1", None),
    )
    import_all(*file)
    before = rows()
    result = import_all(*file)
    assert rows() == before
    assert result == ImportResult(sessions_unchanged=4, messages_unchanged=11)
    assert not result.changed_anything
    assert connection.execute("select count(*) from orbitpilot.session").fetchone() == (4,)


def test_what_the_file_says_otherwise_is_updated(
    connection: Connection, conversation: Conversation, import_all: ImportAll, shown: Shown
) -> None:
    import_all(conversation("u1 a1 u2 a2", title="Old", channel="web"))
    handles = connection.execute("select message_id, handle from orbitpilot.message order by 1").fetchall()
    result = import_all(
        conversation("u1 a1 u2 a2", title="New", started_at=NOON, texts={"u2": "edited", "a2": "again"})
    )
    assert result == ImportResult(sessions_changed=1, sessions_edited=1, messages_changed=2, messages_unchanged=2)
    assert connection.execute("select title, channel, started_at from orbitpilot.session").fetchone() == (
        "New",
        "web",
        NOON,
    )
    assert connection.execute("select content from orbitpilot.message where message_id = 'u2'").fetchone() == (
        "edited",
    )
    assert shown() == "u1:0/0 a1>0 u2:1/1 a2>1"
    assert connection.execute("select message_id, handle from orbitpilot.message order by 1").fetchall() == handles


def test_what_the_file_does_not_say_stays_known(
    connection: Connection, conversation: Conversation, import_all: ImportAll
) -> None:
    known = ParsedMessage("u1", None, "user", "words", sent_at=NOON, author="bo")
    import_all(ParsedSession("s", (known,), title="Known", started_at=NOON, chat_type="direct", hook_source="mail"))
    import_all(ParsedSession("s", (replace(known, sent_at=None, author=None),)))
    assert connection.execute(
        "select title, started_at, chat_type, hook_source from orbitpilot.session"
    ).fetchone() == (
        "Known",
        NOON,
        "direct",
        "mail",
    )
    assert connection.execute("select sent_at, author from orbitpilot.message").fetchone() == (NOON, "bo")


def test_a_partial_reply_is_replaced_by_the_whole_one(connection: Connection, import_all: ImportAll) -> None:
    asked = ParsedMessage("u1", None, "user", "Tell me.")
    import_all(ParsedSession("s", (asked, ParsedMessage("a1", "u1", "assistant", "Once up", is_partial=True))))
    result = import_all(ParsedSession("s", (asked, ParsedMessage("a1", "u1", "assistant", "Once upon a time."))))
    assert result.messages_changed == 1
    assert connection.execute(
        "select content, is_partial from orbitpilot.message where role = 'assistant'"
    ).fetchone() == (
        "Once upon a time.",
        False,
    )


@pytest.mark.parametrize("beginning", ["Once up", "Once upon a time."])
def test_a_whole_reply_is_no_part_of_itself_again(
    beginning: str, connection: Connection, import_all: ImportAll
) -> None:
    asked = ParsedMessage("u1", None, "user", "Tell me.")
    import_all(ParsedSession("s", (asked, ParsedMessage("a1", "u1", "assistant", "Once upon a time."))))
    result = import_all(ParsedSession("s", (asked, ParsedMessage("a1", "u1", "assistant", beginning, is_partial=True))))
    assert result.messages_changed == 0
    assert connection.execute(
        "select content, is_partial from orbitpilot.message where role = 'assistant'"
    ).fetchone() == ("Once upon a time.", False)


def test_an_edit_marks_its_message_alone_as_changed(
    connection: Connection, conversation: Conversation, import_all: ImportAll
) -> None:
    import_all(conversation("u1 a1 u2 a2"))
    import_all(conversation("u1 a1 u2 a2 u3", texts={"u1": "edited"}))
    newest = connection.execute(
        "select message_id from orbitpilot.message"
        " where content_xid = (select max(content_xid) from orbitpilot.message) order by position"
    ).fetchall()
    assert newest == [("u1",), ("u3",)]
    assert connection.execute(
        "select count(distinct flag_xid) from orbitpilot.message where message_id <> 'u3'"
    ).fetchone() == (1,)


@pytest.mark.parametrize("mark", [False, True])
def test_a_flag_survives_whatever_is_imported(
    mark: bool, connection: Connection, store: Store, conversation: Conversation, import_all: ImportAll, shown: Shown
) -> None:
    import_all(conversation("u1 a1 u2 a2", do_not_remember=mark))
    set_remembered(connection, store, "s", "u1", remembered=mark)
    import_all(conversation("u1 a3 u2 a2 u3 | a1", texts={"u1": "edited"}, do_not_remember=mark))
    expected = {
        False: "u1:0/0! a3>0 u2:1/1 a2>1 u3:2/2 -a1>0",
        True: "u1:0/0 a3>0 u2:1/1! a2>1 u3:2/2! -a1>0",
    }
    assert shown() == expected[mark]


def test_branches_are_counted(conversation: Conversation, import_all: ImportAll) -> None:
    import_all(conversation("u1 a1"))
    left = import_all(conversation("u1 a2 | a1"))
    assert left == ImportResult(
        sessions_changed=1,
        sessions_grown=1,
        sessions_edited=1,
        messages_new=1,
        messages_unchanged=1,
        messages_deactivated=1,
    )
    back = import_all(conversation("u1 a1 | a2"))
    assert back == ImportResult(
        sessions_changed=1, sessions_edited=1, messages_unchanged=1, messages_reactivated=1, messages_deactivated=1
    )


def test_positions_are_written_only_where_the_order_needs_it(
    connection: Connection, conversation: Conversation, import_all: ImportAll
) -> None:
    def positions() -> list[tuple[str, int]]:
        return connection.execute(
            "select message_id, position from orbitpilot.message where is_active order by position"
        ).fetchall()

    import_all(conversation("u1 a1 u2 a2"))
    assert positions() == [("u1", 0), ("a1", 1), ("u2", 2), ("a2", 3)]
    import_all(conversation("u1 a1 u2"), mirror=True)
    import_all(conversation("u1 u2"), mirror=True)
    assert positions() == [("u1", 0), ("u2", 2)]
    import_all(conversation("u1 u2 a3"))
    assert positions() == [("u1", 0), ("u2", 2), ("a3", 3)]
    import_all(conversation("u1 a4 u2 a3"))
    assert positions() == [("u1", 0), ("a4", 1), ("u2", 2), ("a3", 3)]
    import_all(conversation("u1 a4 a5 u2 a3"))
    assert positions() == [("u1", 0), ("a4", 1), ("a5", 2), ("u2", 3), ("a3", 4)]


def test_messages_a_file_lacks_stay_unless_it_is_mirrored(
    connection: Connection, conversation: Conversation, import_all: ImportAll, shown: Shown, rows: Rows
) -> None:
    import_all(conversation("u1 a1 u2 a2"), conversation("u1 a1", "elsewhere"))
    import_all(conversation("u1 a3 | a1"))
    assert shown() == "u1:0/0 u2:1/1 a2>1 a3>0 -a1>0"
    result = import_all(conversation("u1 a3 | a1"), mirror=True)
    assert result == ImportResult(sessions_changed=1, sessions_edited=1, messages_unchanged=2, messages_deleted=2)
    assert shown() == "u1:0/0 a3>0 -a1>0"
    assert shown("elsewhere") == "u1:0/0 a1>0"
    assert connection.execute(
        "select pair_index, message_id, deleted_at is not null from memory.pair where session_id = 's' order by 1"
    ).fetchall() == [(0, "u1", False), (1, "u2", True)]
    before = rows()
    import_all(conversation("u1 a3 | a1"), mirror=True)
    assert rows() == before


def test_a_deleted_message_returns_with_its_number_and_its_flag(
    connection: Connection, store: Store, conversation: Conversation, import_all: ImportAll, shown: Shown
) -> None:
    import_all(conversation("u1 a1 u2 a2 u3"))
    set_remembered(connection, store, "s", "u2", remembered=False)
    import_all(conversation("u1 a1"), mirror=True)
    import_all(conversation("u1 a1 u4 u2 u3"))
    assert shown() == "u1:0/0 a1>0 u4:3/3 u2:1/3! u3:2/3"
    assert connection.execute(
        "select count(*) from memory.pair where deleted_at is not null or not_remembered is not null"
        " or run_index is not null or was_active is not null"
    ).fetchone() == (0,)


def test_a_session_that_was_deleted_goes_on_after_its_numbers(
    connection: Connection, conversation: Conversation, import_all: ImportAll, shown: Shown
) -> None:
    import_all(conversation("u1 a1 u2 a2"))
    connection.execute("delete from orbitpilot.session")
    import_all(conversation("u0 a0 u2 a2"))
    assert shown() == "u0:2/2 a0>2 u2:1/1 a2>1"
    import_all(conversation("u0 a0 u2 a2 u5"))
    assert shown() == "u0:2/2 a0>2 u2:1/1 a2>1 u5:3/3"


def test_an_id_that_changes_its_role_is_another_message(import_all: ImportAll, shown: Shown) -> None:
    def talk(*roles: str) -> ParsedSession:
        return ParsedSession(
            "s",
            tuple(
                ParsedMessage(f"x{place}", None, role, "words")  # type: ignore[arg-type]
                for place, role in enumerate(roles)
            ),
        )

    import_all(talk("user", "assistant", "user"))
    assert shown() == "x0:0/0 x1>0 x2:1/1"
    result = import_all(talk("user", "user", "assistant"))
    assert shown() == "x0:0/0 x1:2/0 x2>2"
    assert (result.messages_new, result.messages_deleted, result.messages_unchanged) == (2, 2, 1)
    import_all(talk("user", "assistant", "user"))
    assert shown() == "x0:0/0 x1>0 x2:1/1"


@pytest.mark.parametrize("batch_messages", [1, 20_000])
def test_a_session_in_pieces_that_gainsay_each_other_ends_as_the_last_says(
    batch_messages: int, conversation: Conversation, import_all: ImportAll, shown: Shown, rows: Rows
) -> None:
    file = [
        conversation("u1 a1 | a2", title="First"),
        conversation("u1 u2", "t", texts={"u1": "one"}),
        conversation("u1 a2 | a1", title="Second"),
        conversation("u2 u1", "t", texts={"u1": "two"}),
    ]
    import_all(*file, batch_messages=batch_messages)
    assert shown() == "u1:0/0 a2>0 -a1>0"
    assert shown("t") == "u2:1/0 u1:0/0"
    before = rows()
    for mirror in (False, True):
        again = import_all(*file, batch_messages=batch_messages, mirror=mirror)
        assert again == ImportResult(sessions_unchanged=2, messages_unchanged=8)
        assert rows() == before
    switched = import_all(file[2], file[0], *file[1::2], batch_messages=batch_messages)
    assert shown() == "u1:0/0 a1>0 -a2>0"
    assert (switched.sessions_changed, switched.sessions_unchanged) == (1, 1)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param(["u1 a1", "u2 a2 | u1 a1"], "u2:1/1! a2>1 -a1>0 -u1:0/0!", id="at the root"),
        pytest.param(
            ["u1 a1", "u2 a2"], "u1:0/0! a1>0 u2:1/1! a2>1", id="at the root, in a file that lacks the old one"
        ),
        pytest.param(
            ["u0 a0 u1 a1", "u0 a0 u2 a2 | u1 a1"], "u0:0/0 a0>0 u2:2/2! a2>2 -a1>1 -u1:1/1!", id="further on"
        ),
        pytest.param(["u1 a1", "u1 a1 u2"], "u1:0/0! a1>0 u2:1/1", id="a child is no sibling"),
        pytest.param(["u1 a1", "u1 a2 | a1"], "u1:0/0! a2>0 -a1>0", id="a reply is never flagged"),
    ],
)
def test_a_new_sibling_of_an_excluded_message_starts_excluded(
    steps: list[str],
    expected: str,
    connection: Connection,
    store: Store,
    conversation: Conversation,
    import_all: ImportAll,
    shown: Shown,
) -> None:
    import_all(conversation(steps[0]), conversation(steps[0], "other"))
    set_remembered(connection, store, "s", "u1", remembered=False)
    for step in steps[1:]:
        import_all(conversation(step), conversation(step, "other"))
    assert shown() == expected
    assert "!" not in shown("other")


def test_a_known_sibling_keeps_its_own_flag(
    connection: Connection, store: Store, conversation: Conversation, import_all: ImportAll, shown: Shown
) -> None:
    import_all(conversation("u1 a1"))
    import_all(conversation("u2 a2 | u1 a1"))
    set_remembered(connection, store, "s", "u1", remembered=False)
    import_all(conversation("u2 a2 u3 | u1 a1"))
    assert shown() == "u2:1/1 a2>1 u3:2/2 -a1>0 -u1:0/0!"


def test_a_do_not_remember_mark_counts_when_it_is_new(
    connection: Connection, store: Store, conversation: Conversation, import_all: ImportAll, shown: Shown
) -> None:
    import_all(conversation("u1 a1 u2 a2"))
    import_all(conversation("u3 a3 | u1 a1 u2 a2"))
    marked = import_all(conversation("u3 a3 u4 | u1 a1 u2 a2", do_not_remember=True))
    assert marked.flagged == 4
    assert shown() == "u3:2/2! a3>2 u4:3/3! -a1>0 -a2>1 -u1:0/0! -u2:1/1!"
    set_remembered(connection, store, "s", "u3", remembered=True)
    again = import_all(conversation("u3 a3 u4 a4 u5 | u1 a1 u2 a2", do_not_remember=True))
    assert again.flagged == 1
    assert shown() == "u3:2/2 a3>2 u4:3/3! a4>3 u5:4/4! -a1>0 -a2>1 -u1:0/0! -u2:1/1!"
    without = import_all(conversation("u3 a3 u4 a4 u5"))
    assert without == ImportResult(sessions_unchanged=1, messages_unchanged=5)
    import_all(conversation("u3 a3 u4 a4 u5", do_not_remember=True))
    assert shown() == "u3:2/2 a3>2 u4:3/3! a4>3 u5:4/4! -a1>0 -a2>1 -u1:0/0! -u2:1/1!"


def test_a_new_mark_reaches_a_deleted_message(
    connection: Connection, store: Store, conversation: Conversation, import_all: ImportAll, shown: Shown
) -> None:
    import_all(conversation("u1 a1 u2"))
    import_all(conversation("u1 a1"), mirror=True)
    import_all(conversation("u1 a1", do_not_remember=True))
    set_remembered(connection, store, "s", "u1", remembered=True)
    import_all(conversation("u1 a1 u2", do_not_remember=True))
    assert shown() == "u1:0/0 a1>0 u2:1/1!"


@pytest.mark.parametrize("batch_messages", [1, 20_000])
def test_one_session_in_several_pieces_of_a_file(
    batch_messages: int, conversation: Conversation, import_all: ImportAll, shown: Shown, rows: Rows
) -> None:
    file = [
        conversation("u1 a1"),
        conversation("u1", "t"),
        conversation("u2 a2"),
        conversation("u1 a1"),
        conversation("u1 u2", "t"),
    ]
    result = import_all(*file, batch_messages=batch_messages)
    assert shown() == "u1:0/0 a1>0 u2:1/1 a2>1"
    assert shown("t") == "u1:0/0 u2:1/0"
    assert (result.sessions_new, result.sessions_changed, result.messages_new, result.pairs_new) == (2, 0, 6, 4)
    before = rows()
    assert not import_all(*file, batch_messages=batch_messages, mirror=True).changed_anything
    assert rows() == before


def test_messages_of_equal_ids_are_apart_in_sessions_agents_and_people(
    connection: Connection, store: Store, conversation: Conversation
) -> None:
    connection.execute("insert into orbitpilot.account (user_id) values ('bo')")
    for other in (store, Store("bo"), Store("ana", "second")):
        import_sessions(connection, other, [conversation("u1 a1"), conversation("u1 u2", "t")], hash_key=KEY)
    import_sessions(connection, Store("bo"), [conversation("u1", "t")], hash_key=KEY, mirror=True)
    assert connection.execute(
        "select user_id, agent_id, session_id, count(*) from orbitpilot.message group by 1, 2, 3 order by 1, 2, 3"
    ).fetchall() == [
        ("ana", "orbitpilot", "s", 2),
        ("ana", "orbitpilot", "t", 2),
        ("ana", "second", "s", 2),
        ("ana", "second", "t", 2),
        ("bo", "orbitpilot", "s", 2),
        ("bo", "orbitpilot", "t", 1),
    ]


def test_participants_come_and_none_leaves(
    connection: Connection, conversation: Conversation, import_all: ImportAll
) -> None:
    import_all(conversation("u1", participants=frozenset({"ana"})))
    result = import_all(conversation("u1", participants=frozenset({"bo"})))
    assert result == ImportResult(sessions_changed=1, sessions_edited=1, messages_unchanged=1)
    assert connection.execute("select actor_id from orbitpilot.session_participant order by 1").fetchall() == [
        ("ana",),
        ("bo",),
    ]


def test_an_empty_session_is_not_stored_and_empties_no_known_one(
    connection: Connection, conversation: Conversation, import_all: ImportAll, shown: Shown
) -> None:
    assert import_all(conversation("", participants=frozenset({"ana"}))) == ImportResult()
    assert connection.execute("select count(*) from orbitpilot.session").fetchone() == (0,)
    import_all(conversation("u1 a1"))
    import_all(conversation("| a1"))
    assert shown() == "u1:0/0 -a1>0"


def test_a_stream_that_breaks_leaves_nothing(connection: Connection, store: Store, conversation: Conversation) -> None:
    def broken() -> Iterator[ParsedSession]:
        yield conversation("u1 a1")
        yield conversation("u1 a1", "t")
        raise UnreadableExport("cut short")

    with pytest.raises(UnreadableExport):
        import_sessions(connection, store, broken(), hash_key=KEY, batch_messages=1)
    assert connection.execute("select count(*) from orbitpilot.session").fetchone() == (0,)
    assert connection.execute("select count(*) from memory.pair").fetchone() == (0,)


def test_nobody_s_history_is_not_imported(connection: Connection, conversation: Conversation) -> None:
    with pytest.raises(UnknownAccount, match="--create-user"):
        import_sessions(connection, Store("nobody"), [conversation("u1")], hash_key=KEY)


def test_several_files_in_one_transaction_of_the_caller(
    connection: Connection, store: Store, conversation: Conversation, shown: Shown
) -> None:
    with connection.transaction():
        import_sessions(connection, store, [conversation("u1")], hash_key=KEY)
        import_sessions(connection, store, [conversation("u1 a1")], hash_key=KEY)
    assert shown() == "u1:0/0 a1>0"


def test_progress_is_told_after_every_batch(conversation: Conversation, import_all: ImportAll) -> None:
    told: list[int] = []
    sessions = [conversation("u1 a1", name) for name in ("r", "s", "t")]
    import_all(*sessions, batch_messages=3, on_progress=told.append)
    assert told == [4, 6]
