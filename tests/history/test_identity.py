"""Ids from content and place."""

import re
from typing import Any

import psycopg
import pytest

from orbit_pipelines.history.identity import SessionNames, identify_messages
from orbit_pipelines.history.importing import import_sessions
from orbit_pipelines.history.known_sessions import StoredSessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Role
from orbit_pipelines.model import Store

KEY = b"k" * 32
Connection = psycopg.Connection[Any]


def turn(
    content: str, role: Role = "user", message_id: str | None = None, parent_id: str | None = None
) -> ParsedMessage:
    return ParsedMessage(message_id, parent_id, role, content)


def session_ids(*sessions: ParsedSession, key: bytes = KEY) -> list[str | None]:
    return [session.session_id for session in SessionNames(key).identify(list(identify_messages(sessions)))]


def nameless(*messages: ParsedMessage) -> ParsedSession:
    return ParsedSession(None, messages)


def test_an_id_of_the_format_stays() -> None:
    assert session_ids(ParsedSession("given", (turn("hello"),))) == ["given"]


def test_a_session_is_named_by_its_first_user_message() -> None:
    [plain] = session_ids(nameless(turn("hello")))
    assert plain is not None
    assert re.fullmatch(r"[0-9a-f]{32}-0", plain)
    assert session_ids(nameless(turn("Welcome.", "assistant"), turn("hello"), turn("more"))) == [plain]
    assert session_ids(nameless(turn("hallo"))) != [plain]


def test_equal_openings_are_told_apart_by_their_order() -> None:
    first, second, other, third = session_ids(*(nameless(turn(text)) for text in ("hi", "hi", "yo", "hi")))
    assert first is not None
    assert second == first.replace("-0", "-1")
    assert third == first.replace("-0", "-2")
    assert other is not None
    assert other.endswith("-0")


def test_a_session_without_a_user_message_is_named_by_its_first_message() -> None:
    assert session_ids(nameless(turn("Good morning.", "assistant"))) == session_ids(nameless(turn("Good morning.")))


def test_nothing_can_name_a_session_without_id_and_messages() -> None:
    assert session_ids(nameless(), ParsedSession("", ())) == []


def test_another_key_gives_another_id() -> None:
    hello = nameless(turn("hello"))
    assert session_ids(hello, key=b"a" * 32) != session_ids(hello, key=b"b" * 32)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([None, None, None], ["m0", "m1", "m2"]),
        (["x", "y"], ["x", "y"]),
        (["x", None, None, "y", None], ["x", "x~1", "x~2", "y", "y~1"]),
        ([None, "x", None], ["m0", "x", "x~1"]),
        (["", "x"], ["m0", "x"]),
        (["x", "x", "x"], ["x", "x~1", "x~2"]),
        ([None, "m0"], ["m0~", "m0"]),
    ],
)
def test_messages_without_an_id_are_named_by_their_place(given: list[str | None], expected: list[str]) -> None:
    [session] = identify_messages([nameless(*(turn("text", message_id=each) for each in given))])
    assert [message.message_id for message in session.messages] == expected


def test_the_parent_is_the_message_before_unless_the_format_knows() -> None:
    [session] = identify_messages([nameless(turn("a"), turn("b"), turn("c", parent_id="elsewhere"))])
    assert [message.parent_id for message in session.messages] == [None, "m0", "elsewhere"]


def test_what_is_on_the_branch_is_not_left_behind() -> None:
    session = ParsedSession("s", (turn("a", message_id="x"),), left_behind=frozenset({"x", "y"}))
    [identified] = identify_messages([session])
    assert identified.left_behind == {"y"}


# ---------------------------------------------------------------- what is stored already

HI = ("Hi", "Hello.")
RAIN = (*HI, "Will it rain?", "No.")
POEM = (*HI, "Write a poem.", "A line.")


@pytest.fixture
def brought(connection: Connection, store: Store) -> Any:
    """Import conversations without ids as one file each call; return how many sessions and messages there are then."""

    def bring(*conversations: tuple[str, ...], batch_messages: int = 1_000) -> tuple[int, int]:
        sessions = [
            nameless(*(turn(text, "assistant" if place % 2 else "user") for place, text in enumerate(texts)))
            for texts in conversations
        ]
        import_sessions(connection, store, sessions, hash_key=KEY, batch_messages=batch_messages)
        found = connection.execute(
            "select count(distinct session_id), count(*) from orbitpilot.message where is_active"
        ).fetchone()
        connection.commit()
        assert found is not None
        sessions_held, messages_held = found
        return int(sessions_held), int(messages_held)

    return bring


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param([[RAIN], [RAIN]], (1, 4), id="the same again"),
        pytest.param([[RAIN[:2]], [RAIN]], (1, 4), id="grown"),
        pytest.param([[RAIN], [RAIN[:1]]], (1, 4), id="an older file"),
        pytest.param([[RAIN], [(*RAIN[:3], "Yes.")]], (1, 4), id="a reply edited"),
        pytest.param([[RAIN[:2]], [("Hi", "Good day.")]], (2, 4), id="another reply to a greeting"),
        pytest.param([[RAIN[:2]], [("Hi", "Hello. And")]], (1, 2), id="a reply that went on"),
        pytest.param([[RAIN, POEM], [POEM, RAIN]], (2, 8), id="in another order"),
        pytest.param([[RAIN], [POEM, RAIN]], (2, 8), id="a new one with the same opening put first"),
        pytest.param([[RAIN], [HI, RAIN]], (2, 6), id="a short new one with the same opening put first"),
        pytest.param([[RAIN, POEM], [POEM]], (2, 8), id="the first of two gone from the file"),
        pytest.param([[RAIN], [POEM]], (2, 8), id="two files imported one after the other"),
        pytest.param([[RAIN], [POEM], [RAIN], [POEM, RAIN]], (2, 8), id="two files, and again"),
        pytest.param([[HI, HI, HI], [HI, HI, HI]], (3, 6), id="three that are equal in everything"),
        pytest.param([[HI, HI], [HI, RAIN]], (2, 6), id="one of two equal ones grown"),
    ],
)
def test_equal_openings_do_not_run_into_each_other(
    files: list[list[tuple[str, ...]]], expected: tuple[int, int], brought: Any
) -> None:
    for file in files:
        found = brought(*file)
    assert found == expected


def test_the_size_of_batches_plays_no_part_when_the_same_comes_again(brought: Any) -> None:
    file = (RAIN, HI, POEM, RAIN, HI)
    for batch_messages in (1, 3, 1_000):
        assert brought(*file, batch_messages=batch_messages) == (5, 16)


@pytest.mark.parametrize("is_edited", [False, True])
def test_however_many_begin_alike_few_are_compared(is_edited: bool, store: Store, connection: Connection) -> None:
    def file(word: str) -> list[ParsedSession]:
        return [
            nameless(turn("/start"), turn(f"{word} {number}", "assistant"), turn(f"question {number}"), turn("Yes."))
            for number in range(300)
        ]

    import_sessions(connection, store, file("reply"), hash_key=KEY)
    names = SessionNames(KEY, StoredSessions(connection, store))
    named = names.identify(list(identify_messages(file("other") if is_edited else file("reply"))))
    stored = connection.execute(
        "select session_id from orbitpilot.message where content like 'question %'"
        " order by split_part(content, ' ', 2)::int"
    ).fetchall()
    assert [(session.session_id,) for session in named] == stored
    assert names.compared == (300 if is_edited else 0)


def test_questions_that_everybody_asks_make_no_candidates(store: Store, connection: Connection) -> None:
    def file(word: str) -> list[ParsedSession]:
        return [nameless(turn("/start"), turn(f"{word} {number}", "assistant")) for number in range(50)]

    import_sessions(connection, store, file("reply"), hash_key=KEY)
    names = SessionNames(KEY, StoredSessions(connection, store))
    named = names.identify(list(identify_messages(file("other"))))
    stored = {session_id for (session_id,) in connection.execute("select session_id from orbitpilot.session")}
    assert stored.isdisjoint(session.session_id for session in named)
    assert names.compared == 0


def test_a_forgotten_session_keeps_its_id_and_others_keep_theirs(brought: Any, connection: Connection) -> None:
    brought(RAIN, POEM)
    [(rain,)] = connection.execute(
        "select session_id from orbitpilot.message where content = 'Will it rain?'"
    ).fetchall()
    connection.execute(
        "insert into memory.tombstone (user_id, agent_id, session_id) values ('ana', 'orbitpilot', %s)", [rain]
    )
    connection.execute("delete from orbitpilot.session where session_id = %s", [rain])
    assert brought(POEM, (*RAIN, "Sure?")) == (2, 9)
    again = connection.execute("select session_id from orbitpilot.message where content = 'Sure?'").fetchall()
    assert again == [(rain,)]


@pytest.mark.parametrize(
    ("second", "is_same"),
    [
        ("a:Hi b:Hello c:more", True),
        ("a:Hi b:Hello c:edited", True),
        ("b:Hello c:rest d:more", True),
        ("x:Hi y:Hello z:rest", False),
        ("a:other b:words c:here", False),
    ],
)
def test_messages_with_ids_of_their_own_tell_sessions_apart(
    second: str, is_same: bool, store: Store, connection: Connection
) -> None:
    def bring(said: str) -> int:
        turns = (each.split(":") for each in said.split())
        session = nameless(*(turn(text, message_id=message_id) for message_id, text in turns))
        import_sessions(connection, store, [session], hash_key=KEY)
        [(sessions,)] = connection.execute("select count(*) from orbitpilot.session").fetchall()
        return int(sessions)

    assert bring("a:Hi b:Hello c:rest") == 1
    assert bring(second) == (1 if is_same else 2)
