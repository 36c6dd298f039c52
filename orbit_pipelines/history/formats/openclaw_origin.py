"""Who wrote what an OpenClaw transcript keeps as a user's message, as far as the transcript tells.

The gateway puts scheduled prompts, heartbeats, hooks and messages of other sessions into a session in the user's role.
It tells them apart by the session's key, by a note of provenance on the message, or by words it puts around them. All
of these can only take trust away: somebody who types such words makes their own message count for less.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from orbit_pipelines.history.formats.content import as_object, as_word, is_marked
from orbit_pipelines.history.json_text import decode
from orbit_pipelines.history.text import usable_id

CHAT = "chat"

SHARED = frozenset({"channel", "group"})
"""The kinds of chats that people share."""

UNKNOWN_SENDER = "unknown"
"""Who wrote a message of a shared chat that names nobody: anyone but the account's user, for all that is known."""

_KINDS = {
    "cron": "cron",
    "cron-event": "cron",
    "exec-event": "heartbeat",
    "heartbeat": "heartbeat",
    "hook": "hook",
    "subagent": "subagent",
    "webhook": "hook",
}
_CHAT_TYPES = {"channel": "channel", "direct": "direct", "dm": "direct", "group": "group", "room": "group"}
_OTHERS = frozenset({"inter_session", "internal_system"})
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)

_HEARTBEAT = re.compile(r"\s*(?:Read HEARTBEAT\.md\b|.{0,200}\bHEARTBEAT\.md\b.{0,2000}\bHEARTBEAT_OK\b)", re.DOTALL)
_CRON = re.compile(r"\s*\[cron:[^\]\n]+\]")
_EVENT = re.compile(r"\s*System: \[")
_EXTERNAL = "<<<EXTERNAL_UNTRUSTED_CONTENT"

_INJECTED = re.compile(r"\s*[^\n:]{1,60} \(untrusted[^)\n]{0,60}\):\s*```json\s*(\{.*?\})\s*```\s*", re.DOTALL)
_CLOCK = re.compile(r"\s*\[[A-Z][a-z]{2} [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}[^\]\n]{0,20}\] ?")
_GROUP_KEYS = ("is_group_chat", "isGroupChat", "isGroup", "group_subject", "groupSubject", "groupId")
_SENDER_KEYS = ("id", "sender_id", "senderId", "e164", "username", "name", "senderName", "label", "sender")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a session comes from, in the words of ``ParsedSession``; None for what isn't told."""

    session_kind: str | None = None
    hook_source: str | None = None
    channel: str | None = None
    chat_type: str | None = None


def origin_of_entry(entry: Mapping[str, object]) -> Origin | None:
    """Return what a session's header, or the data of another entry, says of the session; None where nothing."""
    for holder in (entry, as_object(entry.get("data")), as_object(entry.get("origin"))):
        key = as_word(holder.get("sessionKey")) or as_word(holder.get("key"))
        origin = origin_of_key(key) if key else None
        if origin is not None:
            return origin
        for name in ("sessionKind", "kind", "trigger", "label", "provider", "origin"):
            kind = _KINDS.get((as_word(holder.get(name)) or "").lower())
            if kind is not None:
                return Origin(session_kind=kind, hook_source=usable_id(holder.get("hookSource")))
    return None


def author_of(message: Mapping[str, object], text: str) -> str | None:
    """Return who wrote a message in the user's role, if the gateway says that it wasn't the user; else None."""
    provenance = as_object(message.get("provenance"))
    kind = as_word(provenance.get("kind"))
    if kind in _OTHERS:
        if provenance.get("jobId"):
            return "cron"
        named = (usable_id(provenance.get(name)) for name in ("sourceSessionKey", "sourceTool"))
        return next((name for name in named if name is not None), kind)
    if _HEARTBEAT.match(text):
        return "heartbeat"
    if _EXTERNAL in text:
        return "hook"
    if _CRON.match(text):
        return "cron"
    return "system" if _EVENT.match(text) else None


def kind_of_authors(authors: Iterable[str | None]) -> str | None:
    """Return the kind of a session whose user messages have these authors: that of all of them, else a chat.

    None where nothing marks any of them: that no message bears a mark tells nothing of the session.
    """
    kinds = {_kind_of_author(author) for author in authors}
    if kinds <= {CHAT}:
        return None
    return kinds.pop() if len(kinds) == 1 else CHAT


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a message, as far as something in it tells, and whether it says that others may have."""

    name: str | None = None
    is_shared: bool = False

    def or_else(self, other: "Sender") -> "Sender":
        """Return what both tell together; the first name counts."""
        return Sender(self.name or other.name, self.is_shared or other.is_shared)


def without_injected(text: str) -> tuple[str, Sender]:
    """Return a user's text without what the gateway puts before it, and the sender that is named there."""
    sender = Sender()
    at = 0
    for block in _leading_blocks(text):
        at = block.end()
        sender = sender.or_else(_sender_in(block[1]))
    clock = _CLOCK.match(text, at)
    at = clock.end() if clock else at
    return text[at:] if at else text, sender


def sender_of(message: Mapping[str, object]) -> Sender:
    """Return the sender that is noted on a message."""
    return _sender(as_object(message.get("__openclaw")))


def chat_type_of(value: object) -> str | None:
    """Return the kind of a chat in this program's words; None for what names none."""
    return _CHAT_TYPES.get((as_word(value) or "").lower())


def origin_of_key(session_key: str) -> Origin | None:
    """Return what the gateway's key of a session says of it; None where nothing."""
    parts = [part for part in session_key.split(":") if part]
    rest = parts[2:] if len(parts) > 2 and parts[0].lower() == "agent" else parts
    words = [part.lower() for part in rest]
    if not words:
        return None
    if words[0] == "hook":
        source = rest[1] if len(rest) > 1 and not _UUID.fullmatch(rest[1]) else None
        return Origin(session_kind="hook", hook_source=usable_id(source))
    if words[0] in ("cron", "subagent"):
        return Origin(session_kind=words[0])
    if "heartbeat" in words:
        return Origin(session_kind="heartbeat")
    if words[0] == "main":
        return Origin(session_kind=CHAT, chat_type="direct")
    for place, word in enumerate(words[:3]):
        if word in _CHAT_TYPES:
            channel = usable_id(words[0]) if place else None
            return Origin(session_kind=CHAT, channel=channel, chat_type=_CHAT_TYPES[word])
    return None


def _kind_of_author(author: str | None) -> str:
    if author is None:
        return CHAT
    if author in ("cron", "heartbeat", "hook"):
        return author
    origin = origin_of_key(author)
    return (origin and origin.session_kind) or CHAT


def _leading_blocks(text: str) -> Iterator[re.Match[str]]:
    block = _INJECTED.match(text)
    while block:
        yield block
        block = _INJECTED.match(text, block.end())


def _sender_in(block: str) -> Sender:
    try:
        return _sender(as_object(decode(block)))
    except (ValueError, RecursionError):
        return Sender()


def _sender(holder: Mapping[str, object]) -> Sender:
    is_shared = any(is_marked(holder.get(key)) for key in _GROUP_KEYS) or any(
        chat_type_of(holder.get(key)) in SHARED for key in ("chat_type", "chatType")
    )
    name = next((name for key in _SENDER_KEYS if (name := usable_id(holder.get(key))) is not None), None)
    return Sender(name, is_shared)
