"""The data export of Claude: a list of conversations, each a tree of messages in one flat list.

The export has no pointer to the branch in view, so the newest leaf decides; what tools save from the product's own
interface is a single conversation of the same shape with such a pointer. Words stand in blocks of ``content``, or, in
old exports, in a flat ``text`` that may hold stand-ins for blocks that can't be shown; pasted and uploaded text is in
the attachments.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from orbit_pipelines.history.formats.branches import named_parent
from orbit_pipelines.history.formats.content import as_list, as_object, as_word, content_text
from orbit_pipelines.history.formats.turns import Entries, Turn, branch_in_view, first_sent, is_told_whole, split_branch
from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedSession, Problems, Role
from orbit_pipelines.history.text import storable, usable_id
from orbit_pipelines.history.times import read_time

_ROLES: dict[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}
_ROOTS = frozenset({"", "00000000-0000-4000-8000-000000000000", "00000000-0000-0000-0000-000000000000"})
_TOOL_BLOCKS = frozenset({"tool_use", "tool_result"})
_CUT_SHORT = frozenset({"error", "max_tokens", "message_limit", "user_canceled", "user_cancelled"})
_STAND_IN = re.compile(r"(?:```\s*)?This block is not supported on your current device yet\.(?:\s*```)?\n?")


def recognises(value: object) -> bool:
    """Say whether ``value`` is a conversation as Claude exports it."""
    return isinstance(value, dict) and isinstance(value.get("chat_messages"), list)


def read(rows: Iterable[Row], problems: Problems) -> Iterator[ParsedSession]:
    """Yield each conversation's active branch; one that has nothing to show is reported instead."""
    for row in rows:
        if not isinstance(row.value, dict) or not isinstance(row.value.get("chat_messages"), list):
            problems.add("broken_conversation", row.where, "no list of messages; skipped")
            continue
        session = _read_conversation(row.value, row.where, problems)
        if session is not None:
            yield session


def _read_conversation(conversation: Mapping[str, object], where: str, problems: Problems) -> ParsedSession | None:
    session_id = usable_id(conversation.get("uuid"))
    if session_id is not None:
        where = f"conversation {session_id}"
    entries = Entries()
    for number, message in enumerate(as_list(conversation.get("chat_messages")), start=1):
        if not isinstance(message, dict):
            problems.add("broken_message", f"message {number} of {where}", "no object; skipped")
            entries.lose(f"\0{number}")
            continue
        turn = _turn(message, f"message {number} of {where}", problems)
        # A usable id holds no NUL, so that this one is nobody's parent.
        key = usable_id(message.get("uuid")) or f"\0{number}"
        if key in entries.turns:
            problems.add("repeated_message", f"message {number} of {where}", "its id stands twice; taken once")
            continue
        is_reply = turn is not None and turn.role == "assistant"
        parent = named_parent(message, "parent_message_uuid", _ROOTS, is_reply=is_reply)
        if turn is None:
            entries.lose(key, parent)
        else:
            entries.add(key, parent, turn)
    leaf = usable_id(current) if (current := conversation.get("current_leaf_message_uuid")) else None
    if leaf is not None and leaf not in entries.turns:
        problems.add("current_node_missing", where, "current_leaf_message_uuid not found; the newest leaf was taken")
        leaf = None
    branch = branch_in_view(entries, leaf, where, problems)
    messages, left_behind = split_branch(entries, branch, where, problems)
    if not messages:
        problems.add("empty_conversation", where, "no message of the user or the assistant on its branch")
    if not messages and not left_behind:
        return None
    title = as_word(conversation.get("name"))
    return ParsedSession(
        session_id=session_id,
        messages=messages,
        title=storable(title, f"title of {where}", problems) if title else None,
        started_at=read_time(where, problems, conversation.get("created_at")) or first_sent(messages),
        left_behind=left_behind,
        is_whole=is_told_whole(entries, messages),
    )


def _turn(message: Mapping[str, object], where: str, problems: Problems) -> Turn | None:
    role = _ROLES.get((as_word(message.get("sender")) or "").strip().lower())
    if role is None:
        problems.add("unknown_role", where, "a sender that is neither human nor assistant; skipped")
        return None
    text = "\n\n".join(
        part for part in (_words(message, where, problems), *_attached(message, where, problems)) if part.strip()
    )
    is_bare = not as_list(message.get("attachments")) and not as_list(message.get("files"))
    return Turn(
        role=role,
        message_id=usable_id(message.get("uuid")),
        text=text,
        sent_at=read_time(where, problems, message.get("created_at")),
        is_partial=message.get("truncated") is True or as_word(message.get("stop_reason")) in _CUT_SHORT,
        is_void=role == "user" and not text and is_bare and not _other_blocks(message),
    )


def _words(message: Mapping[str, object], where: str, problems: Problems) -> str:
    """Return the text of the blocks; the flat text only where no block has any and none is a tool's."""
    text = content_text(message.get("content"), where, problems)
    if text.strip():
        return text
    if any(as_word(as_object(block).get("type")) in _TOOL_BLOCKS for block in as_list(message.get("content"))):
        return ""
    return _STAND_IN.sub("", as_word(message.get("text")) or "")


def _attached(message: Mapping[str, object], where: str, problems: Problems) -> Iterator[str]:
    """Yield the text of what was pasted or uploaded; most attachments are a name alone."""
    for attachment in as_list(message.get("attachments")):
        if extracted := as_object(attachment).get("extracted_content"):
            yield content_text(extracted, f"attachment of {where}", problems)


def _other_blocks(message: Mapping[str, object]) -> bool:
    return any(as_object(block).get("type") != "text" for block in as_list(message.get("content")))
