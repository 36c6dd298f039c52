"""Messages without ids in files that shift their places: marks, numbers and sessions follow what is said."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from orbit_pipelines.history.flags import set_remembered
from orbit_pipelines.history.importing import ImportResult
from orbit_pipelines.model import Store
from tests.history.lines import HUH, assistant, row, user

Connection = psycopg.Connection[Any]
Rows = Callable[[], dict[str, list[tuple[Any, ...]]]]
ImportLines = Callable[..., ImportResult]
Told = Callable[[], list[str]]


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


@pytest.mark.parametrize("marked", [(), (0,), (2,), (0, 2, 4)])
def test_a_log_that_repeats_its_questions_moves_on_whatever_is_marked(
    marked: tuple[int, ...], import_lines: ImportLines, told: Told, connection: Connection, store: Store, rows: Rows
) -> None:
    import_lines(row("ok >a1 ok >a2 ok >a3"))
    for place in marked:
        set_remembered(connection, store, "s", f"m{place}", remembered=False)
    for window in ("ok >a2 ok >a3 ok", "ok >a2 ok >a3 ok >a4", "ok >a3 ok >a4 ok >a5"):
        import_lines(row(window))
        before = rows()
        assert not import_lines(row(window)).changed_anything
        assert rows() == before
    first, second, third = ("ok!" if place in marked else "ok" for place in (0, 2, 4))
    assert told() == [f"{first} >a1 {second} >a2 {third} >a3 ok >a4 ok >a5"]
    answers = connection.execute("select answers from orbitpilot.message where role = 'assistant' order by position")
    assert answers.fetchall() == [(0,), (1,), (2,), (3,), (4,)]


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
        pytest.param(
            ["q1 >a1 q2 >a2", ">other qx >a2"],
            ">other qx >a2 | q1 >a1 q2 >a2",
            id="a reply agrees by chance, at the end",
        ),
        pytest.param(["q3 >Sure >more", "ok >Sure"], "ok >Sure | >more", id="another question, and one reply gone"),
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
    expected_pairs = [(turns[at - 1], turn[1:]) for at, turn in enumerate(turns) if at and turn.startswith(">")]
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


@pytest.mark.parametrize(("marked", "sessions"), [("secret", 1), ("ok", 2), ("", 2)])
def test_a_short_session_is_known_by_a_marked_message_and_another(
    marked: str, sessions: int, import_lines: ImportLines, told: Told, mark: Callable[[str], None]
) -> None:
    import_lines(row("secret ok >noted", None))
    mark(marked)
    import_lines(row("secret ok_and_more >noted", None))
    assert len(told()) == sessions
    assert all("secret!" in session for session in told()) is (marked == "secret")


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
