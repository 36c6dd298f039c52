import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.errors import UnknownAssistant, UnreadableExport
from orbit_pipelines.history.formats.registry import read_sessions
from orbit_pipelines.history.formats.slack import recognises
from orbit_pipelines.history.formats.slack_workspace import Speakers
from orbit_pipelines.history.reading import open_export
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]
Export = dict[str, Any]

ANA = Speakers(bot="B1", owner="U1")
USERS: list[dict[str, Any]] = [
    {"id": "U1", "name": "ana", "profile": {"display_name": "Ana"}},
    {"id": "U2", "name": "bo", "profile": {"real_name": "Bo Lee"}},
    {"id": "U9", "name": "orbit", "is_bot": True, "profile": {"bot_id": "B1", "real_name": "Orbit"}},
    {"id": "U8", "name": "deploys", "is_bot": True, "profile": {"bot_id": "B2"}},
]
CHANNELS = [{"id": "C1", "name": "kitchen", "members": ["U1", "U2"]}]
DIRECT = [{"id": "D1", "members": ["U1", "U9"]}]


def post(user: str, ts: str, text: str, thread: str | None = None, **fields: Any) -> dict[str, Any]:
    speaker = {"bot_id": user} if user.startswith("B") else {"user": user}
    return {"type": "message", "ts": ts, "text": text, **speaker, **({"thread_ts": thread} if thread else {}), **fields}


def at(number: int) -> str:
    return f"17000000{number:02}.000100"


@pytest.fixture
def workspace() -> Export:
    """A thread over two days, a direct chat without threads, and talk that the assistant has no part in."""
    thread = at(1)
    return {
        "users.json": USERS,
        "channels.json": CHANNELS,
        "dms.json": DIRECT,
        "integration_logs.json": [],
        "kitchen/2023-11-15.json": [
            post("U1", at(30), "And now?", thread),
            post("B1", at(31), "Now it is done.", thread),
        ],
        "kitchen/2023-11-14.json": [
            post("U2", at(4), "I say 20.", thread),
            post("U1", at(1), "<@U9> how long do eggs take?", thread),
            post("B1", at(2), "Ten minutes.", thread, subtype="bot_message"),
            post("U2", at(5), "UNSEEN lunch?"),
            post("U2", at(6), "UNSEEN has joined", subtype="channel_join"),
            post("B2", at(7), "UNSEEN deployed", thread),
        ],
        "D1/2023-11-14.json": [
            post("U1", at(10), "Note: &lt;tea&gt; &amp; jam at <https://shop.example|the shop>"),
            post("B1", at(11), "Noted."),
            post("U1", at(12), ""),
            post("B1", at(13), "", attachments=[{"text": "A nice picture."}]),
            post("U1", at(14), "No answer yet"),
        ],
    }


@pytest.fixture
def read_export(tmp_path: Path) -> Callable[..., Reading]:
    """Write an export as a folder or a zip, and read it."""

    def read(export: Export, speakers: Speakers | None = ANA, *, as_zip: bool = False) -> Reading:
        path = tmp_path / "slack"
        if as_zip:
            with zipfile.ZipFile(path, "w") as packed:
                for name, content in export.items():
                    packed.writestr(name, json.dumps(content))
        else:
            for name, content in export.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_text(json.dumps(content))
        problems = Problems()
        with open_export(path) as opened:
            return list(read_sessions(opened, problems, speakers=speakers)), problems

    return read


RICH = [
    {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_section",
                "elements": [
                    {"type": "user", "user_id": "U9"},
                    {"type": "text", "text": " is <b> & "},
                    {"type": "link", "url": "https://a.example", "text": "there"},
                    {"type": "emoji", "name": "tea"},
                ],
            },
            {
                "type": "rich_text_list",
                "elements": [
                    {"type": "rich_text_section", "elements": [{"type": "text", "text": "one"}]},
                    {"type": "rich_text_section", "elements": [{"type": "text", "text": "two"}]},
                ],
            },
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x = 1\n  y"}]},
            {"type": "rich_text_quote", "elements": [{"type": "broadcast", "range": "here"}]},
        ],
    },
    {
        "type": "section",
        "text": {"type": "mrkdwn", "text": "&lt;more&gt;"},
        "fields": [{"type": "plain_text", "text": "<f>"}],
    },
    {"type": "context", "elements": [{"type": "image"}, {"type": "plain_text", "text": "aside"}]},
    {"type": "markdown", "text": "last"},
    {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "UNSEEN"}}]},
]


def test_a_message_of_blocks_alone_has_their_words(read_export: Any) -> None:
    question, reply = post("U1", at(1), "", blocks=RICH), post("B1", at(2), "Yes.", at(1))
    sessions, problems = read_export(
        {"users.json": USERS, "channels.json": CHANNELS, "kitchen/2023-11-14.json": [question, reply]}
    )
    assert sessions[0].messages[0].content == (
        "@Orbit is <b> & there (https://a.example):tea:\none\ntwo\nx = 1\n  y\n@here\n<more>\n<f>\naside\nlast"
    )
    assert problems.counts == {}


def said(session: ParsedSession) -> list[tuple[str, str, str | None]]:
    return [(message.role, message.content, message.author) for message in session.messages]


def test_a_thread_is_one_session_across_the_files_of_days(workspace: Export, read_export: Any) -> None:
    sessions, problems = read_export(workspace)
    [thread] = [session for session in sessions if session.channel == "kitchen"]
    assert thread.session_id == f"C1:{at(1)}"
    assert said(thread) == [
        ("user", "@Orbit how long do eggs take?", None),
        ("assistant", "Ten minutes.", None),
        ("user", "I say 20.", "U2"),
        ("user", "And now?", None),
        ("assistant", "Now it is done.", None),
    ]
    assert [message.message_id for message in thread.messages] == [at(1), at(2), at(4), at(30), at(31)]
    assert (thread.title, thread.chat_type, thread.participants) == ("#kitchen", "channel", {"U1", "U2"})
    assert thread.started_at == datetime(2023, 11, 14, 22, 13, 21, 100, tzinfo=UTC)
    assert problems.counts == {}


def test_in_a_direct_chat_what_the_assistant_says_answers_what_was_asked_before(
    workspace: Export, read_export: Any
) -> None:
    sessions, _ = read_export(workspace)
    chats = [session for session in sessions if session.chat_type == "direct"]
    assert [session.session_id for session in chats] == [f"D1:{at(10)}", f"D1:{at(12)}", f"D1:{at(14)}"]
    assert [[content for _, content, _ in said(session)] for session in chats] == [
        ["Note: <tea> & jam at the shop (https://shop.example)", "Noted."],
        ["", "A nice picture."],
        ["No answer yet"],
    ]


def test_a_message_keeps_its_session_when_it_becomes_a_thread_later(workspace: Export, read_export: Any) -> None:
    before = read_export(workspace)[0]
    [asked, *others] = workspace["D1/2023-11-14.json"]
    workspace["D1/2023-11-14.json"] = [asked | {"thread_ts": at(10)}, *others, post("B1", at(40), "PS", at(10))]
    after = read_export(workspace)[0]
    assert [session.session_id for session in before] == [session.session_id for session in after]
    [chat] = [session for session in after if session.session_id == f"D1:{at(10)}"]
    assert [content for _, content, _ in said(chat)][1:] == ["Noted.", "PS"]


def test_talk_in_which_the_assistant_has_no_part_is_left_out(workspace: Export, read_export: Any) -> None:
    sessions, _ = read_export(workspace)
    assert not any("UNSEEN" in content for session in sessions for _, content, _ in said(session))


def test_a_question_that_calls_the_assistant_is_kept_before_it_answers(workspace: Export, read_export: Any) -> None:
    workspace["kitchen/2023-11-16.json"] = [post("U1", at(50), "<@U9> still there?")]
    assert f"C1:{at(50)}" in [session.session_id for session in read_export(workspace)[0]]


def test_a_folder_and_its_zip_are_the_same(workspace: Export, read_export: Any, tmp_path: Path) -> None:
    from_folder = read_export(workspace)
    (tmp_path / "slack").rename(tmp_path / "folder")
    assert read_export(workspace, as_zip=True) == from_folder


@pytest.mark.parametrize("bot", ["B1", "U9"])
def test_the_assistant_may_be_named_as_bot_or_as_user(bot: str, workspace: Export, read_export: Any) -> None:
    assert read_export(workspace, Speakers(bot, "U1")) == read_export(workspace)


@pytest.mark.parametrize(("bot", "seen"), [(None, "isn't said"), ("B7", "'B7' says nothing in it")])
def test_without_the_assistant_s_id_the_bots_that_speak_are_named(
    bot: str | None, seen: str, workspace: Export, read_export: Any
) -> None:
    with pytest.raises(UnknownAssistant, match=seen) as raised:
        read_export(workspace, Speakers(bot))
    assert "B1 (4 messages), B2 (1 messages)" in str(raised.value)
    assert "--bot" in str(raised.value)


@pytest.mark.parametrize(
    ("speakers", "others"),
    [
        (Speakers("B1", "U1"), {"U2"}),
        (Speakers("B1", "U2"), {"U1"}),
        (Speakers("B1", account="U1"), {"U2"}),
        (Speakers("B1", account="ana"), {"U1", "U2"}),
        (Speakers("B1"), {"U1", "U2"}),
    ],
)
def test_everybody_but_the_account_s_user_is_the_author_of_their_messages(
    speakers: Speakers, others: set[str], workspace: Export, read_export: Any
) -> None:
    sessions, _ = read_export(workspace, speakers)
    assert {author for session in sessions for _, _, author in said(session)} - {None} == others


def test_the_only_person_of_a_workspace_is_the_account_s_user(workspace: Export, read_export: Any) -> None:
    workspace["users.json"] = [user for user in USERS if user["id"] != "U2"]
    for name, posts in workspace.items():
        if name.startswith("kitchen"):
            workspace[name] = [each for each in posts if each.get("user") != "U2"]
    sessions, _ = read_export(workspace, Speakers("B1"))
    assert {author for session in sessions for _, _, author in said(session)} == {None}


def test_an_owner_whom_nobody_knows_is_reported(workspace: Export, read_export: Any) -> None:
    _, problems = read_export(workspace, Speakers("B1", "U77"))
    assert problems.counts == {"unknown_owner": 1}


def test_the_lists_may_be_missing_or_broken(workspace: Export, read_export: Any) -> None:
    del workspace["channels.json"]
    del workspace["dms.json"]
    workspace["users.json"] = "nothing"
    sessions, _ = read_export(workspace)
    assert [(session.session_id, session.chat_type) for session in sessions] == [
        (f"D1:{at(10)}", "direct"),
        (f"D1:{at(12)}", "direct"),
        (f"D1:{at(14)}", "direct"),
        (f"kitchen:{at(1)}", None),
    ]


def test_one_day_s_file_alone_has_no_channel(read_text: Callable[..., Reading], tmp_path: Path) -> None:
    path = tmp_path / "day.json"
    path.write_text(json.dumps([post("U1", at(1), "Hi", at(1)), post("B1", at(2), "Hello.", at(1))]))
    with open_export(path) as opened:
        [session] = read_sessions(opened, Problems(), speakers=ANA)
    assert (session.session_id, session.channel, session.title) == (at(1), None, None)
    with pytest.raises(UnknownAssistant):
        read_text(path.read_bytes())


def test_broken_messages_are_counted_and_repeated_ones_taken_once(workspace: Export, read_export: Any) -> None:
    workspace["kitchen/2023-11-16.json"] = [{"type": "message", "text": "no time"}, post("B1", at(2), "Ten.", at(1))]
    sessions, problems = read_export(workspace)
    assert problems.counts == {"broken_message": 1, "repeated_message": 1}
    assert [message.message_id for message in sessions[-1].messages].count(at(2)) == 1


def test_a_day_cut_short_refuses_the_export(workspace: Export, read_export: Any, tmp_path: Path) -> None:
    read_export(workspace)
    (tmp_path / "slack" / "kitchen" / "2023-11-15.json").write_text('[{"type": "message", ')
    with (
        pytest.raises(UnreadableExport, match=r"2023-11-15\.json is cut short"),
        open_export(tmp_path / "slack") as one,
    ):
        list(read_sessions(one, Problems(), speakers=ANA))


@pytest.mark.parametrize(
    "value", [None, [], {}, {"ts": 1}, {"ts": "soon", "user": "U1"}, {"messages": []}, {"ts": "1700000000.1"}]
)
def test_other_rows_are_not_recognised(value: Any) -> None:
    assert not recognises(value)


@pytest.mark.parametrize("lost", [{"ts": "soon"}, {"ts": None}, {"user": None}], ids=["ts", "no ts", "nobody"])
@pytest.mark.parametrize("where", ["thread", "direct"])
def test_a_reply_behind_a_message_that_cannot_be_read_answers_none_before_it(
    read_export: Any, lost: dict[str, Any], where: str
) -> None:
    thread = at(1) if where == "thread" else None
    told = [
        post("U1", at(1), "First?", thread),
        post("B1", at(2), "First.", thread),
        post("U1", at(3), "UNSEEN", thread) | lost,
        post("B1", at(4), "Answers the lost one.", thread),
        post("U1", at(5), "Third?", thread),
        post("B1", at(6), "Third.", thread),
    ]
    folder = "kitchen" if where == "thread" else "D1"
    export = {"users.json": USERS, "channels.json": CHANNELS, "dms.json": DIRECT, f"{folder}/2023-11-14.json": told}
    sessions, problems = read_export(export)
    texts = [content for session in sessions for _, content, _ in said(session)]
    assert texts == ["First?", "First.", "Third?", "Third."]
    assert problems.counts == {"broken_message": 1, "lost_question": 1}


def test_what_is_no_message_may_have_stood_in_any_thread(read_export: Any) -> None:
    one, two = at(1), at(2)
    told = [
        post("U1", one, "<@U9> one?"),
        post("U1", two, "<@U9> two?"),
        post("B1", at(3), "One.", one),
        None,
        post("B1", at(4), "More of one.", one),
        post("B1", at(5), "Two.", two),
        post("B1", at(6), "More of two.", two),
    ]
    sessions, problems = read_export({"users.json": USERS, "channels.json": CHANNELS, "kitchen/2023-11-14.json": told})
    assert [[content for _, content, _ in said(session)] for session in sessions] == [
        ["@Orbit one?", "One."],
        ["@Orbit two?", "Two.", "More of two."],
    ]
    assert problems.counts == {"broken_message": 1, "lost_question": 1}
