"""Messages without ids in files that shift their places: marks, numbers and sessions follow what is said."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from orbit_pipelines.history.files import import_file
from orbit_pipelines.history.flags import set_remembered
from orbit_pipelines.history.importing import ImportResult
from orbit_pipelines.history.stream import Problems
from orbit_pipelines.model import Store

Connection = psycopg.Connection[Any]
Rows = Callable[[], dict[str, list[tuple[Any, ...]]]]
ImportLines = Callable[..., ImportResult]
Told = Callable[[], list[str]]

HUH = {"role": "huh", "content": "?"}


def user(content: str) -> dict[str, str]:
    return {"role": "user", "content": content}


def assistant(content: str) -> dict[str, str]:
    return {"role": "assistant", "content": content}


def row(turns: str, session_id: str | None = "s") -> dict[str, Any]:
    """Write a conversation as ``"q >a q2 >"``: replies behind an arrow, what can't be read as a question mark."""
    messages = [
        HUH if turn == "?" else assistant(turn[1:]) if turn.startswith(">") else user(turn) for turn in turns.split()
    ]
    return {"messages": messages} | ({"id": session_id} if session_id else {})


@pytest.fixture
def import_lines(connection: Connection, store: Store, tmp_path: Path) -> ImportLines:
    """Import conversations as one file into ana's store, and commit."""

    def run(*conversations: dict[str, Any], problems: Problems | None = None) -> ImportResult:
        path = tmp_path / "log.jsonl"
        path.write_text("\n".join(map(json.dumps, conversations)))
        result = import_file(connection, store, path, hash_key=b"k" * 32, problems=problems or Problems())
        connection.commit()
        return result

    return run


@pytest.fixture
def told(connection: Connection) -> Told:
    """Show each session as ``q >a secret! >noted | old``: its branch, marks, and what is off the branch."""

    def show() -> list[str]:
        sessions: dict[str, tuple[list[str], list[str]]] = {}
        for session_id, role, content, is_active, not_remembered in connection.execute(
            "select session_id, role, content, is_active, not_remembered from orbitpilot.message"
            " order by session_id, position, content"
        ):
            turn = (">" if role == "assistant" else "") + content + ("!" if not_remembered else "")
            sessions.setdefault(session_id, ([], []))[not is_active].append(turn)
        return sorted(" ".join(branch + (["|", *left] if left else [])) for branch, left in sessions.values())

    return show


@pytest.fixture
def mark(connection: Connection, store: Store) -> Callable[[str], None]:
    """Mark the messages that say something as not to be remembered."""

    def run(content: str) -> None:
        found = connection.execute(
            "select session_id, message_id from orbitpilot.message where content = %s and role = 'user'", [content]
        ).fetchall()
        for session_id, message_id in found:
            set_remembered(connection, store, session_id, message_id, remembered=False)

    return run


@pytest.mark.parametrize("session_id", ["s", None])
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(["q > secret >noted", "q >late secret >noted"], "q >late secret! >noted", id="an empty reply"),
        pytest.param(
            ["q >a ? >b secret >noted", "q >a x >b secret >noted"], "q >a x >b secret! >noted", id="a broken question"
        ),
        pytest.param(["? >a secret >noted", "x >a secret >noted"], "x >a secret! >noted", id="a broken beginning"),
        pytest.param(
            ["q >a secret >noted", "secret >noted n >m"], "q >a secret! >noted n >m", id="a log that moved on"
        ),
        pytest.param(
            ["q >a secret >noted", "secret >noted n >m", "n >m o >p"],
            "q >a secret! >noted n >m o >p",
            id="a log that moved on twice",
        ),
        pytest.param(
            ["x >y secret >noted ok >c ok >d", "ok >c ok >d ok >e"],
            "x >y secret! >noted ok >c ok >d ok >e",
            id="a log that repeats itself",
        ),
        pytest.param(
            ["x >y secret >noted x >y", "x >y z >w", "x >y z"],
            "x >y secret! >noted x >y z >w",
            id="a log that begins again",
        ),
        pytest.param(["secret >noted q >a", "q >a secret >noted"], "q >a secret! >noted", id="put behind the rest"),
        pytest.param(["q >a secret >noted", "secret >noted q >a"], "q >a secret! >noted q >a", id="asked once more"),
        pytest.param(
            ["q >a secret >noted", "secret >noted n >m", "q >a secret >noted n >m z"],
            "q >a secret! >noted n >m z",
            id="a log that moved on, and whole again",
        ),
        pytest.param(
            ["secret >noted q >a", "new >b secret >noted q >a"], "new >b secret! >noted q >a", id="a head put before"
        ),
        pytest.param(
            ["q >a secret >noted r >s", "q >a n >m secret >noted r >s"],
            "q >a n >m secret! >noted r >s",
            id="an exchange put between",
        ),
        pytest.param(["q >a secret >noted r >s", "secret >noted r >s"], "q >a secret! >noted r >s", id="a head lost"),
        pytest.param(["q >a secret >noted r >s", "q >a r >s"], "q >a secret! >noted r >s", id="a middle lost"),
        pytest.param(
            ["typo >a secret >noted r >s", "right >a secret >noted r >s"],
            "right >a secret! >noted r >s",
            id="a question edited",
        ),
        pytest.param(
            ["q >a secret >noted r >s", "q >other secret >noted r >s"],
            "q >other secret! >noted r >s",
            id="a reply edited",
        ),
    ],
)
def test_a_mark_follows_its_text(
    files: list[str],
    expected: str,
    session_id: str | None,
    import_lines: ImportLines,
    told: Told,
    mark: Callable[[str], None],
    rows: Rows,
    connection: Connection,
) -> None:
    import_lines(row(files[0], session_id))
    mark("secret")
    kept = "select session_id, message_id, pair_index from orbitpilot.message where content in ('secret', 'noted')"
    before_shift = connection.execute(kept).fetchall()
    for file in files[1:]:
        import_lines(row(file, session_id))
        assert set(before_shift) <= set(connection.execute(kept).fetchall())
        before = rows()
        assert not import_lines(row(file, session_id)).changed_anything
        assert rows() == before
    assert told() == [expected]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            ["Hi >Hello q1 >a1", "Hi >Hello q2"], "Hi >Hello q2 | q1 >a1", id="a question is another, without a reply"
        ),
        pytest.param(["q1 >a1 q2 >a2", "q1 >a1 q3 >a3"], "q1 >a1 q3 >a3 | q2 >a2", id="the last exchange is another"),
        pytest.param(["q1 >a1", "q2 >a2"], "q2 >a2 | q1 >a1", id="nothing is the same"),
        pytest.param(["q >a q2 >a2", "q >b"], "q >b | >a q2 >a2", id="a reply is another, and nothing follows"),
        pytest.param(
            ["q1 >a1 q2 >a2", "q1 >a1 q3 >a3", "q1 >a1 q2 >a2"], "q1 >a1 q2 >a2 | q3 >a3", id="back to what was left"
        ),
        pytest.param(
            ["q >a x >b z >c", "q >a y1 >c1 y2 >c2 z >c"],
            "q >a y1 >c1 y2 >c2 z >c | x >b",
            id="two exchanges in the place of one",
        ),
        pytest.param(["q1 >a1 q2", "q1 q2"], "q1 >a1 q2", id="a reply is lacking"),
        pytest.param(["q >a", "q p >a"], "q p >a | >a", id="a reply under another question"),
    ],
)
def test_a_reply_never_stands_under_another_question(
    files: list[str], expected: str, import_lines: ImportLines, told: Told, connection: Connection, rows: Rows
) -> None:
    for file in files:
        import_lines(row(file))
        before = rows()
        import_lines(row(file))
        assert rows() == before
    assert told() == [expected]
    answered = connection.execute(
        "select question.content, reply.content from orbitpilot.message as reply"
        " join orbitpilot.message as question on question.pair_index = reply.answers"
        " where reply.is_active and question.is_active order by reply.position"
    ).fetchall()
    turns = files[-1].split()
    expected_pairs = [(turns[at - 1], turn[1:]) for at, turn in enumerate(turns) if turn.startswith(">")]
    assert [pair for pair in answered if pair != ("q1", "a1")] == [
        pair for pair in expected_pairs if pair != ("q1", "a1")
    ]


def test_a_new_version_of_a_marked_question_is_marked(
    import_lines: ImportLines, told: Told, mark: Callable[[str], None]
) -> None:
    import_lines(row("q >a secret >noted"))
    mark("secret")
    import_lines(row("q >a Secret >indeed"))
    assert told() == ["q >a Secret! >indeed | secret! >noted"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(["Hi >Hello q1 >a1", "Hi >Hello q2"], ["Hi >Hello q1 >a1", "Hi >Hello q2"], id="a greeting"),
        pytest.param(["Hi >one", "Hi >two q >a r >s"], ["Hi >one", "Hi >two q >a r >s"], id="another reply"),
        pytest.param(["q >hal", "q >half r"], ["q >half r"], id="a reply that went on"),
        pytest.param(["q >half", "q >hal"], ["q >half"], id="a reply that hadn't gone on"),
        pytest.param(["q1 >a1 q2 >a2", "q2 >a2 q3 >a3"], ["q1 >a1 q2 >a2 q3 >a3"], id="an overlap"),
        pytest.param(["q1 >a1 q2 >a2", "q2 >b q3 >a3"], ["q1 >a1 q2 >a2", "q2 >b q3 >a3"], id="a question in common"),
        pytest.param(["q1 >a1 q2 >a2", "q2 >a2"], ["q1 >a1 q2 >a2"], id="the end alone"),
        pytest.param(
            ["Hi >one", "Hi >two", "Hi >one q >a", "Hi >two r >b"], ["Hi >one q >a", "Hi >two r >b"], id="two that grow"
        ),
    ],
)
def test_sessions_without_ids_are_told_apart_by_what_they_say(
    files: list[str], expected: list[str], import_lines: ImportLines, told: Told
) -> None:
    for file in files:
        import_lines(row(file, None))
    assert told() == expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("plan > secret >noted thanks >ok", "plan >late secret >noted thanks >ok"),
        ("q >a ? >b secret >noted", "q >a x >b secret >noted"),
        ("? >a secret >noted", "x >a secret >noted"),
        ("typo >a secret >noted", "right >a secret >noted"),
        ("q >a secret >noted", "secret >noted more >m"),
        ("secret >noted q >a", "secret >noted other >b"),
        ("q >a secret >noted", "q >a secret >noted more >m"),
    ],
)
def test_a_forgotten_session_returns_under_no_other_id(
    first: str, second: str, import_lines: ImportLines, connection: Connection
) -> None:
    import_lines(row(first, None))
    connection.execute(
        "insert into memory.tombstone (user_id, agent_id, session_id)"
        " select user_id, agent_id, session_id from orbitpilot.session"
    )
    result = import_lines(row(second, None))
    assert (result.sessions_new, result.session_forgotten) == (0, 1)


def test_a_transcript_that_lost_its_header_is_known_by_its_messages(
    import_lines: ImportLines, connection: Connection
) -> None:
    def entry(identifier: str, parent: str | None, role: str) -> dict[str, Any]:
        message = {"role": role, "content": f"says {identifier}"}
        return {"type": "message", "id": identifier, "parentId": parent, "message": message}

    header = {"type": "session", "version": 3, "id": "given", "timestamp": "2026-04-01T08:00:00Z", "cwd": "/"}
    entries = [entry("aaaa0001", None, "user"), entry("aaaa0002", "aaaa0001", "assistant")]
    import_lines(header, *entries)
    import_lines(*entries, entry("aaaa0003", "aaaa0002", "user"))
    connection.execute("delete from orbitpilot.session")
    import_lines(*entries)
    import_lines(entry("bbbb0001", None, "user"))
    sessions = connection.execute("select distinct session_id from orbitpilot.session").fetchall()
    assert len(sessions) == 2
    assert ("given",) in sessions


@pytest.mark.parametrize("is_partial", [False, True])
def test_a_whole_reply_is_not_replaced_by_its_beginning(
    is_partial: bool, import_lines: ImportLines, told: Told, rows: Rows
) -> None:
    import_lines(row("q >whole-reply r"))
    before = rows()
    assert not import_lines(row("q >whole r")).changed_anything
    assert rows() == before
    import_lines(row("q >whole-reply-and-more r"))
    assert told() == ["q >whole-reply-and-more r"]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        pytest.param(["q >a", "z >w"], "z >w | q >a", id="other text"),
        pytest.param(["q >a q2 >a2", "z >w"], "z >w | q >a q2 >a2", id="other and less text"),
        pytest.param(["q >a", "q >b", "q >a"], "q >a | >b", id="there and back"),
        pytest.param(["q1 >a1 q2 >a2", "q2 >a2 q3 >a3"], "q1 >a1 q2 >a2 q3 >a3", id="a log that moves on"),
        pytest.param(["q1 >a1 q2 >a2", "q1 >a1"], "q1 >a1 q2 >a2", id="less text"),
        pytest.param(["q >a r >b", "x >a r >b"], "x >a r >b", id="an edit"),
    ],
)
def test_a_file_that_says_a_session_several_times_changes_nothing_again(
    file: list[str], expected: str, import_lines: ImportLines, told: Told, rows: Rows
) -> None:
    lines = [row(turns) for turns in file] + [row("n >m", "t"), row("other", None)]
    for _ in range(2):
        import_lines(*lines)
        assert told() == sorted([expected, "n >m", "other"])
    before = rows()
    again = import_lines(*lines)
    assert rows() == before
    messages = sum(len(line["messages"]) for line in lines)
    assert again == ImportResult(sessions_unchanged=3, messages_unchanged=messages)


def test_what_a_file_says_last_counts_for_each_session_by_itself(import_lines: ImportLines, told: Told) -> None:
    file = [row("q >a", "s"), row("q >b", "s"), row("q >a", "t"), row("q >b", "t")]
    import_lines(*file)
    result = import_lines(*file[:3], row("q >c", "t"))
    assert told() == ["q >b | >a", "q >c | >a >b"]
    assert (result.sessions_changed, result.sessions_unchanged) == (1, 1)


@pytest.mark.parametrize(
    ("id_key", "turns_key"), [("id", "messages"), ("id", "conversations"), ("conversation_id", "conversation")]
)
def test_a_turn_that_is_left_out_keeps_its_place(
    id_key: str, turns_key: str, import_lines: ImportLines, connection: Connection
) -> None:
    no_turn = {"role": "tool", "content": "."}
    turns = [user("q"), assistant(""), user("r"), assistant("b"), HUH, assistant("lost"), no_turn, 5, user("z")]
    import_lines({id_key: "s", turns_key: turns}, {id_key: "t", turns_key: turns[:1]})
    found = connection.execute(
        "select message_id, content from orbitpilot.message where session_id = 's' order by position"
    ).fetchall()
    assert found == [("m0", "q"), ("m2", "r"), ("m3", "b"), ("m7", "z")]


def test_a_deleted_message_does_not_come_back_by_the_place_of_another(
    import_lines: ImportLines, told: Told, mark: Callable[[str], None], connection: Connection
) -> None:
    import_lines(row("q >a secret >noted r >s"))
    mark("secret")
    connection.execute("delete from orbitpilot.message where content in ('secret', 'noted')")
    import_lines(row("r >s n >m"))
    assert told() == ["q >a r >s n >m"]
