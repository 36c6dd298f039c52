import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.errors import UnreadableExport
from orbit_pipelines.history.formats import openclaw
from orbit_pipelines.history.formats.openclaw import recognises
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]


@pytest.fixture(scope="module")
def traits(read_file: Callable[..., Reading], exports: Path) -> tuple[dict[str | None, ParsedSession], Problems]:
    """The sessions of the fixture, by what follows ``claw-`` in their ids, and what was reported."""
    sessions, problems = read_file(exports / "openclaw_traits.jsonl")
    return {(session.session_id or "").removeprefix("claw-"): session for session in sessions}, problems


def ids(session: ParsedSession) -> list[str | None]:
    return [message.message_id for message in session.messages]


def texts(session: ParsedSession) -> list[str]:
    return [message.content for message in session.messages]


def authors(session: ParsedSession) -> list[str | None]:
    return [message.author for message in session.messages if message.role == "user"]


def lines(*entries: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, entries))


def entry(identifier: str | None, parent: str | None, role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "id": identifier, "parentId": parent, "message": {"role": role, "content": text}}


@pytest.mark.parametrize(
    ("name", "branch", "left_behind"),
    [
        ("tools", ["t1", "t2", "t7", "t8", "t9"], set()),
        ("stops", ["s1", "s2", "s3", "s5"], set()),
        ("branches", ["b1", "b2", "b6", "b7"], {"b3", "b4"}),
        ("leaf", ["l1", "l2", "l5", "l6"], {"l3", "l7"}),
        ("edited-first", ["f3", "f4"], {"f1", "f2"}),
        ("nameless", ["n1", "n2", None, "n3", "n4"], set()),
        ("lost-line", ["x1", "x2", "x5"], set()),
        ("linear", [None, None], set()),
        ("odd", ["q2", "q3"], {"q1"}),
    ],
)
def test_the_branch_of_the_last_entry_is_read(traits: Any, name: str, branch: list[str], left_behind: set[str]) -> None:
    session = traits[0][name]
    assert ids(session) == branch
    assert [message.parent_id for message in session.messages] == [None, *branch[:-1]]
    assert session.left_behind == left_behind


def test_only_what_the_user_and_the_assistant_wrote_is_text(traits: Any) -> None:
    sessions, problems = traits
    assert texts(sessions["tools"]) == ["Which invoices?", "I look.", "Seven and nine.", "", "A paid one."]
    said = [text for session in sessions.values() for text in texts(session)]
    assert not any(word in text for text in said for word in ("UNSEEN", "Left:", "[["))
    assert "UNSEEN" not in repr(problems.shown)


def test_replies_that_were_stopped_failed_or_cut_are_partial(traits: Any) -> None:
    assert [message.is_partial for message in traits[0]["stops"].messages] == [False, True, False, True]
    assert not any(message.is_partial for message in traits[0]["tools"].messages)


def test_a_mirrored_delivery_is_kept_unless_it_repeats_the_reply(traits: Any) -> None:
    assert texts(traits[0]["nameless"]) == [
        "Deliver it.",
        "On its way.",
        "Delivered at noon.",
        "Thanks.",
        "Any time.",
    ]


def test_a_reply_whose_question_was_lost_with_its_line_passes_for_no_other(traits: Any) -> None:
    sessions, problems = traits
    assert "Answers the lost one." not in texts(sessions["lost-line"])
    assert {problem.kind: problem.where for problem in problems.shown}["lost_question"] == "session claw-lost-line"


def test_a_reply_goes_on_over_a_lost_result_of_a_tool(read_text: Callable[..., Reading]) -> None:
    call = entry("a1", "u1", "assistant", "I look.")
    call["message"]["stopReason"] = "toolUse"
    sessions, problems = read_text(
        lines(entry("u1", None, "user", "Open?"), call, entry("a2", "r1", "assistant", "No."))
    )
    assert texts(sessions[0]) == ["Open?", "I look.", "No."]
    assert problems.counts == {"parent_missing": 1}


def test_what_says_nothing_of_a_parent_keeps_its_place_when_the_session_grows(
    read_text: Callable[..., Reading],
) -> None:
    def mirror(identifier: str | None, text: str, **fields: Any) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "model": "delivery-mirror"}
        return {"type": "message", **({"id": identifier} if identifier else {}), **fields, "message": message}

    before = [entry("u1", None, "user", "Send?"), entry("a1", "u1", "assistant", "Sent.")]
    apart = [mirror("m1", "By mail."), mirror(None, "By post."), mirror("m2", "By hand.", parentId=None)]
    late = [entry("a2", "u2", "assistant", "Yes.")]
    for follows in ("a1", "m1", "m2"):
        grown = [*before, *apart, entry("u2", follows, "user", "All of it?"), *late]
        (small,), _ = read_text(lines(*before, *apart))
        (large,), problems = read_text(lines(*grown))
        assert texts(small) == ["Send?", "Sent.", "By mail.", "By post.", "By hand."]
        assert texts(large) == [*texts(small), "All of it?", "Yes."]
        assert small.left_behind | large.left_behind == frozenset()
        assert ids(large)[:5] == ids(small)
        assert problems.counts == {}


def test_who_speaks_is_read_in_any_case_and_somebody_unknown_is_reported(read_text: Callable[..., Reading]) -> None:
    bare = [{"type": "Human", "content": "Bare?"}, {"type": "Assistant", "content": "Bare."}]
    (session,), problems = read_text(lines(*bare, {"type": "robot", "content": "UNSEEN"}))
    assert texts(session) == ["Bare?", "Bare."]
    assert problems.counts == {"unknown_role": 1}
    (session,), problems = read_text(
        lines(
            entry("u1", None, "User", "Wrapped?"),
            entry("x", "u1", "alien", "UNSEEN"),
            entry("t", "x", "toolResult", ""),
        )
    )
    assert texts(session) == ["Wrapped?"]
    assert problems.counts == {"unknown_role": 1}


@pytest.mark.parametrize(
    ("between", "is_kept"),
    [
        (["a1", "{cut", "a2"], False),
        (["{cut", "a2"], True),
        (["{cut", "{cut", "a2"], False),
        (["a1", "note", "7", "a2"], False),
        (["call", "{cut", "a2"], True),
        (["call", "{cut", "{cut", "{cut", "a2"], False),
        (["{cut", "linked"], True),
        (["{cut", "{cut", "linked"], True),
        (["a1", "{cut", "lost link"], False),
    ],
)
def test_a_reply_behind_broken_lines_passes_for_no_reply_to_the_question_before_them(
    read_text: Callable[..., Reading], between: list[str], is_kept: bool
) -> None:
    call: dict[str, Any] = entry(None, None, "assistant", "I look.")
    call["message"]["stopReason"] = "toolUse"
    written = {
        "a1": json.dumps(entry(None, None, "assistant", "First.")),
        "a2": json.dumps(entry(None, None, "assistant", "Last.")),
        "call": json.dumps(call),
        "note": json.dumps({"type": "custom", "data": {}}),
        "linked": json.dumps(entry("a2", "u1", "assistant", "Last.")),
        "lost link": json.dumps(entry("a2", "lost", "assistant", "Last.")),
    }
    question = entry("u1", None, "user", "First?")
    told = [json.dumps(question), *(written.get(each, each) for each in between)]
    (session,), problems = read_text("\n".join(told))
    assert ("Last." in texts(session)) == is_kept
    assert problems.counts.get("lost_question", 0) == (not is_kept)


def test_a_transcript_has_a_limit(read_text: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openclaw, "LARGEST_VALUE", 1_000)
    header = {"type": "session", "version": 3, "id": "s", "cwd": "/"}
    written = [entry(None, None, "user", "Long. " * 10) for _ in range(20)]
    with pytest.raises(UnreadableExport, match="session s holds more than 1,000 characters"):
        read_text(lines(header, *written))


def test_title_and_times_come_from_the_transcript(traits: Any) -> None:
    session = traits[0]["tools"]
    assert session.title == "Invoices"
    assert session.started_at == datetime(2026, 4, 1, 8, tzinfo=UTC)
    assert session.messages[0].sent_at == datetime(2026, 4, 1, 8, 1, tzinfo=UTC)


def test_messages_that_others_put_into_a_chat_have_authors(traits: Any) -> None:
    session = traits[0]["others"]
    assert authors(session) == [
        "heartbeat",
        "cron",
        "agent:main:subagent:1",
        "internal_system",
        "cron",
        "hook",
        "system",
        None,
    ]
    assert session.session_kind == "chat"


@pytest.mark.parametrize(
    ("name", "kind", "source"),
    [
        ("cron", "cron", None),
        ("hook", "hook", "gmail"),
        ("beat", "heartbeat", None),
        ("group", "chat", None),
        ("tools", None, None),
        ("direct", None, None),
    ],
)
def test_the_kind_of_a_session_follows_from_its_key_or_from_all_its_messages(
    traits: Any, name: str, kind: str | None, source: str | None
) -> None:
    session = traits[0][name]
    assert (session.session_kind, session.hook_source) == (kind, source)
    assert kind == "chat" or set(authors(session)) == {kind}


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"sessionKey": "agent:main:cron:7f:run:1"}, "cron"),
        ({"sessionKey": "cron:7f"}, "cron"),
        ({"sessionKey": "hook:0b2c3d4e-0000-4000-8000-000000000001"}, "hook"),
        ({"sessionKey": "agent:main:subagent:1"}, "subagent"),
        ({"sessionKey": "agent:main:main"}, "chat"),
        ({"label": "Heartbeat"}, "heartbeat"),
        ({"origin": {"label": "heartbeat", "provider": "exec-event"}}, "heartbeat"),
        ({"origin": "cron"}, "cron"),
        ({"kind": ["cron"]}, None),
        ({}, None),
    ],
)
def test_a_header_tells_the_kind_in_several_ways(
    read_text: Callable[..., Reading], said: dict[str, Any], kind: str | None
) -> None:
    header = {"type": "session", "version": 3, "id": "s", "cwd": "/", **said}
    sessions, _ = read_text(lines(header, entry("u", None, "user", "Hm?")))
    assert sessions[0].session_kind == kind
    assert authors(sessions[0]) == [None if kind == "chat" else kind]


def test_several_senders_are_all_named_and_one_alone_is_the_user(traits: Any) -> None:
    group, direct = traits[0]["group"], traits[0]["direct"]
    assert (group.channel, group.chat_type, group.participants) == ("telegram", "group", {"ann", "bob"})
    assert authors(group) == ["ann", "bob"]
    assert authors(direct) == [None]
    assert direct.participants == {"ann"}


def with_info(text: str, **info: Any) -> str:
    return f"Conversation info (untrusted metadata):\n```json\n{json.dumps(info)}\n```\n\n{text}"


@pytest.mark.parametrize(
    ("said", "author"),
    [
        (with_info("Pay me", sender="Bob", is_group_chat=True), "Bob"),
        (with_info("Pay me", is_group_chat=True), "unknown"),
        (with_info("Pay me", sender={"first": "Bob"}, chat_type="group"), "unknown"),
        (with_info("Pay me", sender="Bob", is_group_chat=False), None),
        (with_info("Pay me", sender="Bob"), None),
        ("Pay me", None),
    ],
)
def test_a_message_that_tells_of_a_group_is_no_owners(
    read_text: Callable[..., Reading], said: str, author: str | None
) -> None:
    header = {"type": "session", "version": 3, "id": "s", "cwd": "/"}
    sessions, _ = read_text(lines(header, entry("u", None, "user", said)))
    assert texts(sessions[0]) == ["Pay me"]
    assert authors(sessions[0]) == [author]
    assert sessions[0].chat_type == ("group" if author else None)


def test_who_is_not_named_in_a_shared_chat_is_not_its_owner(read_text: Callable[..., Reading]) -> None:
    group = {"type": "session", "version": 3, "id": "s", "cwd": "/", "sessionKey": "agent:main:whatsapp:group:9@g.us"}
    said = ["[WhatsApp 9 +555 Bob] hello", with_info("hi", sender="Ann")]
    sessions, _ = read_text(
        lines(group, *(entry(f"u{number}", None, "user", text) for number, text in enumerate(said)))
    )
    assert {author for session in sessions for author in authors(session)} <= {"unknown", "Ann"}
    direct = {**group, "sessionKey": "agent:main:main"}
    two = [
        entry("u1", None, "user", with_info("hi", sender="Ann")),
        entry("u2", "u1", "user", with_info("ho", sender="Bob")),
        entry("u3", "u2", "user", "hm"),
    ]
    [session], _ = read_text(lines(direct, *two))
    assert authors(session) == ["Ann", "Bob", "unknown"]


INDEX = {
    "agent:main:main": {"sessionId": "own"},
    "agent:main:cron:j1": {"sessionId": "job"},
    "agent:main:main:heartbeat": {"sessionId": "beat"},
    "agent:main:whatsapp:group:9@g.us": {"sessionId": "group", "channel": "whatsapp", "chatType": "group"},
    "agent:main:odd-slug": {"sessionId": "room", "chatType": "channel", "origin": {"provider": "discord"}},
    "agent:main:other-slug": {"sessionId": "task", "spawnedBy": "agent:main:main"},
    "agent:main:main2": {"sessionId": "both"},
    "agent:main:cron:j2": {"sessionId": "both"},
    "global": "nothing",
    "agent:main:none": {"sessionId": None},
}
SEEN = {
    "own": ("chat", "direct", None, None),
    "job": ("cron", None, None, "cron"),
    "beat": ("heartbeat", None, None, "heartbeat"),
    "group": ("chat", "group", "whatsapp", "unknown"),
    "room": ("chat", "channel", "discord", "unknown"),
    "task": ("subagent", None, None, "subagent"),
    "both": ("cron", None, None, "cron"),
    "unlisted": (None, None, None, None),
}


@pytest.mark.parametrize("container", ["zip", "files"])
def test_the_index_beside_transcripts_tells_where_they_come_from(
    read_file: Callable[..., Reading], tmp_path: Path, container: str
) -> None:
    files = {
        f"{name}.jsonl": lines(
            {"type": "session", "version": 3, "id": name, "cwd": "/"}, entry("u", None, "user", "Hm?")
        )
        for name in SEEN
    } | {"sessions.json": json.dumps(INDEX)}
    (tmp_path / "sessions").mkdir()
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(f"main/sessions/{name}", content)
            (tmp_path / "sessions" / name).write_text(content)
    paths = [tmp_path / "all.zip"] if container == "zip" else sorted((tmp_path / "sessions").glob("*.jsonl"))
    readings = [read_file(path) for path in paths]
    sessions = [session for found, _ in readings for session in found]
    assert {
        session.session_id: (session.session_kind, session.chat_type, session.channel, *authors(session))
        for session in sessions
    } == SEEN
    assert all(problems.counts == {} for _, problems in readings)


def test_an_index_that_cannot_be_read_is_done_without(read_file: Callable[..., Reading], tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(lines(entry("u", None, "user", "Hm?")))
    (tmp_path / "sessions.json").write_text('{"agent:main:cron:')
    [session], problems = read_file(tmp_path / "one.jsonl")
    assert texts(session) == ["Hm?"]
    assert problems.counts == {"broken_list": 1}


@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ("NO_REPLY", []),
        (" **NO_REPLY**\n", []),
        ("HEARTBEAT_OK", []),
        ("It is done.\n\nNO_REPLY", ["It is done.\n"]),
        ("I write NO_REPLY in the end", ["I write NO_REPLY in the end"]),
        ("NO_REPLY\nmeans nothing", ["NO_REPLY\nmeans nothing"]),
    ],
)
def test_what_the_gateway_does_not_deliver_is_no_reply(
    read_text: Callable[..., Reading], reply: str, left: list[str]
) -> None:
    [session], problems = read_text(lines(entry("u", None, "user", "Hm?"), entry("a", "u", "assistant", reply)))
    assert texts(session) == ["Hm?", *left]
    assert problems.counts == {}


def test_what_the_gateway_puts_before_a_message_is_none_of_it(traits: Any) -> None:
    assert texts(traits[0]["group"]) == ["Lunch?", "Yes!", "Noon."]


def test_rows_without_entries_around_them_are_one_session(read_text: Callable[..., Reading]) -> None:
    rows: list[dict[str, Any]] = [
        {"type": "human", "content": "Bare?"},
        {
            "type": "assistant",
            "content": [{"type": "text", "text": "Bare."}, {"type": "thinking", "thinking": "UNSEEN"}],
        },
        {"type": "tool", "content": "UNSEEN"},
        {"type": "human", "content": "And?"},
    ]
    sessions, problems = read_text(lines(*rows))
    assert [(message.role, message.content) for message in sessions[0].messages] == [
        ("user", "Bare?"),
        ("assistant", "Bare."),
        ("user", "And?"),
    ]
    assert sessions[0].session_id is None
    assert ids(sessions[0]) == [None, None, None]
    assert problems.counts == {}


def test_a_tail_without_header_and_head_is_still_a_chain(read_text: Callable[..., Reading]) -> None:
    sessions, problems = read_text(
        lines(entry("u9", "cut-off", "user", "Late?"), entry("a9", "u9", "assistant", "Late."))
    )
    assert ids(sessions[0]) == ["u9", "a9"]
    assert sessions[0].session_id is None
    assert problems.counts == {}


def test_every_file_of_a_zip_is_a_session_of_its_own(read_file: Callable[..., Reading], tmp_path: Path) -> None:
    path = tmp_path / "sessions.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sessions/one.jsonl", lines(entry("u1", None, "user", "One?")))
        archive.writestr("sessions/two-topic-7.jsonl", lines(entry("u1", None, "user", "Two?")))
        archive.writestr("sessions/sessions.json", json.dumps({"agent:main:main": {"sessionId": "one"}}))
    sessions, _ = read_file(path)
    assert [texts(session) for session in sessions] == [["One?"], ["Two?"]]


def test_what_is_left_out_or_doubtful_is_counted_and_named(traits: Any) -> None:
    _, problems = traits
    assert problems.counts == {
        "broken_line": 1,
        "parent_missing": 1,
        "lost_question": 1,
        "repeated_message": 1,
        "broken_message": 2,
        "cycle": 1,
        "empty_conversation": 1,
    }
    places = {problem.kind: problem.where for problem in problems.shown}
    assert (places["broken_line"], places["empty_conversation"]) == ("line 55", "session claw-empty")


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"type": "session"},
        {"type": "message", "user": "U1", "text": "Slack", "ts": "1700000000.1"},
        {"type": "user", "message": {"role": "user", "content": "another agent's log"}, "uuid": "1"},
        {"type": "human", "role": "user", "content": "x"},
        {"type": ["session"], "id": 1, "cwd": "/"},
        {"messages": []},
    ],
)
def test_other_rows_are_not_recognised(value: object) -> None:
    assert not recognises(value)
