"""Slack's export: a folder a channel, a file a day, a list of messages a file; a conversation is a thread.

A thread goes on in the files of later days, so a channel is put together before its threads are told apart. A message
outside any thread begins one of its own. In a direct chat, where nobody needs threads, what the assistant says outside
any belongs to what it was asked before.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby

from orbit_pipelines.errors import UnknownAssistant
from orbit_pipelines.history.formats.content import as_list, as_object, as_word
from orbit_pipelines.history.formats.lost_questions import A_QUESTION, LostQuestions
from orbit_pipelines.history.formats.slack_blocks import blocks_text
from orbit_pipelines.history.formats.slack_workspace import Channel, Workspace
from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Problems, Role
from orbit_pipelines.history.text import storable, usable_id
from orbit_pipelines.history.times import to_utc

_TS = re.compile(r"[0-9]{9,11}(?:\.[0-9]{1,9})?", re.ASCII)
_SPOKEN = frozenset({None, "bot_message", "file_share", "me_message", "thread_broadcast"})
"""The subtypes of messages that somebody wrote; the others tell of joining, renaming, pinning and the like."""

_BOTS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Post:
    """One message of a channel; ``unread`` counts what couldn't be read before it in its thread, or outside any."""

    ts: str
    thread_ts: str | None
    role: Role
    author: str
    text: str
    names_assistant: bool
    unread: int

    @property
    def order(self) -> Decimal:
        """Its place in the channel."""
        return Decimal(self.ts)


@dataclass(slots=True)
class _Reading:
    """One export on its way: what is known of it, and which bots were met."""

    workspace: Workspace
    problems: Problems
    owner: str | None
    assistant_ids: set[str]
    bots: Counter[str] = field(default_factory=Counter)
    has_assistant: bool = False


def recognises(value: object) -> bool:
    """Say whether ``value`` is a message as Slack exports it."""
    if not isinstance(value, dict) or _ts(value.get("ts")) is None:
        return False
    return value.get("type") == "message" or any(key in value for key in ("user", "bot_id", "thread_ts"))


def read(rows: Iterable[Row], problems: Problems, workspace: Workspace | None = None) -> Iterator[ParsedSession]:
    """Yield a session for each thread in which the assistant speaks or is called.

    Raises:
        UnknownAssistant: nobody said which bot it is, or that bot says nothing at all.
    """
    workspace = workspace or Workspace()
    reading = _Reading(workspace, problems, workspace.owner_id(), workspace.assistant_ids())
    if workspace.users and reading.owner not in (None, *workspace.users):
        problems.add("unknown_owner", workspace.name, f"no user of it is {reading.owner!r}; everybody is somebody else")
    for channel, of_channel in groupby(rows, key=lambda row: workspace.channel_of(row.document)):
        posts: dict[str, _Post] = {}
        for post in _posts(of_channel, channel, reading):
            if (known := posts.get(post.ts)) is not None and known.text != post.text:
                where = f"message {post.ts} of {channel.name}" if channel else f"message {post.ts}"
                problems.add("repeated_message", where, "its ts stands twice; the later message was taken")
            posts[post.ts] = post
        yield from _sessions(sorted(posts.values(), key=lambda post: post.order), channel, reading)
    if not reading.has_assistant:
        raise UnknownAssistant(_ask_for_bot(reading))


def _ask_for_bot(reading: _Reading) -> str:
    bot = reading.workspace.speakers.bot
    seen = ", ".join(f"{bot} ({count:,} messages)" for bot, count in reading.bots.most_common(_BOTS_SHOWN))
    what = "it isn't said which of its bots is the assistant" if bot is None else f"the bot {bot!r} says nothing in it"
    return (
        f"{reading.workspace.name} holds Slack messages, but {what}. "
        f"Bots that speak in it: {seen or 'none'}. Name the assistant's with --bot ID or ORBIT_SLACK_BOT."
    )


# ---------------------------------------------------------------- messages


def _posts(rows: Iterable[Row], channel: Channel | None, reading: _Reading) -> Iterator[_Post]:
    gaps = _Gaps()
    for row in rows:
        entry = as_object(row.value)
        gaps.everywhere += row.lost_lines
        ts = _ts(entry.get("ts"))
        speaker = _speaker(entry, reading)
        is_spoken = entry and _is_spoken(entry)
        if ts is None or (speaker is None and is_spoken and not _is_any_bot(entry, reading)):
            what = "no message with a time" if ts is None else "a message of nobody"
            reading.problems.add("broken_message", row.where, f"{what}; skipped")
            if not entry:
                gaps.everywhere += 1
            elif is_spoken and (speaker is None or speaker[0] == "user"):
                gaps.note(_ts(entry.get("thread_ts")), A_QUESTION if speaker else 1)
            continue
        if speaker is None:
            continue
        where = f"message {ts} of {channel.name}" if channel else f"message {ts}"
        role, author = speaker
        said = _text(entry)
        text = storable(_readable(said, reading.workspace), where, reading.problems)
        # A user's message without words may be a picture, and the reply that follows is to it.
        if role == "assistant" and not text.strip():
            continue
        thread_ts = _ts(entry.get("thread_ts"))
        yield _Post(
            ts=ts,
            thread_ts=thread_ts,
            role=role,
            author=author,
            text=text,
            names_assistant=any(f"<@{each}" in said for each in reading.assistant_ids),
            unread=gaps.before(ts, thread_ts),
        )


@dataclass(slots=True)
class _Gaps:
    """The messages of a channel that couldn't be read, by the thread they stand in; nobody knows it of some."""

    everywhere: int = 0
    _noted: Counter[str | None] = field(default_factory=Counter)
    _known: dict[str | None, int] = field(default_factory=dict)

    def note(self, thread_ts: str | None, messages: int) -> None:
        """Note messages of a thread, or outside any."""
        self._noted[thread_ts] += messages

    def before(self, ts: str, thread_ts: str | None) -> int:
        """Return how many may stand right before a message in its thread, or outside any."""
        thread = None if thread_ts in (None, ts) else thread_ts
        unread = self._noted.pop(thread, 0) + self.everywhere - self._known.get(thread, 0)
        self._known[thread] = self._known[thread_ts or ts] = self.everywhere
        return unread


def _is_spoken(entry: Mapping[str, object]) -> bool:
    return as_word(entry.get("subtype")) in _SPOKEN and entry.get("hidden") is not True


def _is_any_bot(entry: Mapping[str, object], reading: _Reading) -> bool:
    user_id = usable_id(entry.get("user"))
    is_bot = usable_id(entry.get("bot_id")) is not None or entry.get("subtype") == "bot_message"
    return is_bot or reading.workspace.is_bot(user_id)


def _speaker(entry: Mapping[str, object], reading: _Reading) -> tuple[Role, str] | None:
    """Return who wrote a message and in which role; None for what nobody wrote, and for other bots."""
    if not _is_spoken(entry):
        return None
    user_id = usable_id(entry.get("user"))
    bot_id = usable_id(entry.get("bot_id"))
    if {user_id, bot_id} & reading.assistant_ids:
        reading.assistant_ids.update(each for each in (user_id, bot_id) if each)
        reading.has_assistant = True
        return "assistant", user_id or bot_id or ""
    if _is_any_bot(entry, reading):
        reading.bots[bot_id or user_id or "a bot without an id"] += 1
        return None
    return None if user_id is None else ("user", user_id)


def _ts(value: object) -> str | None:
    return value if isinstance(value, str) and _TS.fullmatch(value) else None


# ---------------------------------------------------------------- threads


def _sessions(posts: Sequence[_Post], channel: Channel | None, reading: _Reading) -> Iterator[ParsedSession]:
    threads: dict[str, list[_Post]] = {}
    asked: str | None = None
    for post in posts:
        thread = post.thread_ts or post.ts
        if thread == post.ts and channel is not None and channel.chat_type == "direct":
            if post.role == "user":
                asked = post.ts
            elif asked is not None:
                thread = asked
        threads.setdefault(thread, []).append(post)
    is_with_assistant = channel is not None and _is_chat_with_assistant(posts, channel, reading)
    for thread, members in threads.items():
        if is_with_assistant or any(post.role == "assistant" or post.names_assistant for post in members):
            kept = _without_orphans(members, thread, channel, reading)
            if kept:
                yield _session(thread, kept, channel, reading)


def _without_orphans(posts: Iterable[_Post], thread: str, channel: Channel | None, reading: _Reading) -> list[_Post]:
    """Leave out the assistant's messages in a thread that may answer one that couldn't be read."""
    kept: list[_Post] = []
    lost = LostQuestions()
    for post in posts:
        lost.pass_over(post.unread)
        if lost.loses(post.role, kept[-1].role if kept else None):
            where = f"thread {thread} of {channel.name}" if channel else f"thread {thread}"
            reading.problems.add("lost_question", where, "a reply whose question isn't there; left out")
        else:
            kept.append(post)
    return kept


def _is_chat_with_assistant(posts: Iterable[_Post], channel: Channel, reading: _Reading) -> bool:
    if channel.chat_type != "direct":
        return False
    return bool(channel.members & reading.assistant_ids) or any(post.role == "assistant" for post in posts)


def _session(thread: str, posts: Sequence[_Post], channel: Channel | None, reading: _Reading) -> ParsedSession:
    messages = tuple(
        ParsedMessage(
            message_id=post.ts,
            parent_id=posts[number - 1].ts if number else None,
            role=post.role,
            content=post.text,
            sent_at=to_utc(post.ts),
            author=post.author if post.role == "user" and post.author != reading.owner else None,
        )
        for number, post in enumerate(posts)
    )
    where = f"name of channel {channel.channel_id}" if channel else ""
    return ParsedSession(
        session_id=f"{channel.channel_id}:{thread}" if channel else thread,
        messages=messages,
        title=storable(f"#{channel.name}", where, reading.problems) if channel and channel.chat_type else None,
        started_at=messages[0].sent_at,
        channel=channel.name if channel else None,
        chat_type=channel.chat_type if channel else None,
        participants=frozenset(post.author for post in posts if post.role == "user"),
    )


# ---------------------------------------------------------------- text


def _text(entry: Mapping[str, object]) -> str:
    """Return what a message says: its text; where there is none, that of its blocks and attachments."""
    text = as_word(entry.get("text")) or ""
    if text.strip():
        return text
    said = [blocks_text(entry.get("blocks"))]
    for each in map(as_object, as_list(entry.get("attachments"))):
        texts = (as_word(each.get("text")), blocks_text(each.get("blocks")), as_word(each.get("fallback")))
        said.append(next((text for text in texts if text), ""))
    return "\n".join(text for text in said if text)


_MARKUP = re.compile(r"<([^<>\n]+)>")
_ESCAPES = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ESCAPED = re.compile("|".join(_ESCAPES))


def _readable(text: str, workspace: Workspace) -> str:
    """Return a text with its links, mentions and escapes as a reader of the chat sees them."""
    shown = _MARKUP.sub(_show_markup(workspace), text)
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], shown)


def _show_markup(workspace: Workspace) -> Callable[[re.Match[str]], str]:
    def show(match: re.Match[str]) -> str:
        target, _, label = match[1].partition("|")
        match target[:1]:
            case "@":
                return f"@{label or workspace.name_of(target[1:])}"
            case "#":
                return f"#{label or target[1:]}"
            case "!":
                return label or f"@{target[1:].partition('^')[0]}"
        address = target.removeprefix("mailto:")
        return f"{label} ({address})" if label and label != address else address

    return show
