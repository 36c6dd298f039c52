"""The JSON export of LibreChat: one conversation, its messages in a flat list or nested in each other.

An export without branches is the branch that was in view; one with branches has no pointer to it, so the newest leaf
decides. Replies come as plain text, or as blocks of text, reasoning and calls to tools.
"""

from collections.abc import Iterable, Iterator, Mapping

from orbit_pipelines.history.formats.branches import UNREAD, UNSAID, named_parent
from orbit_pipelines.history.formats.citation_marks import without_citation_marks
from orbit_pipelines.history.formats.content import as_list, as_word, content_text, without_reasoning
from orbit_pipelines.history.formats.turns import Entries, Turn, branch_in_view, first_sent, is_told_whole, split_branch
from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedSession, Problems, Role
from orbit_pipelines.history.text import storable, usable_id
from orbit_pipelines.history.times import read_time

_ROOTS = frozenset({"", "00000000-0000-0000-0000-000000000000"})
_MESSAGE_KEYS = frozenset({"isCreatedByUser", "messageId", "parentMessageId", "sender"})


def recognises(value: object) -> bool:
    """Say whether ``value`` is a conversation as LibreChat exports it."""
    if not isinstance(value, dict) or "conversationId" not in value:
        return False
    messages = value.get("messagesTree", value.get("messages"))
    if not isinstance(messages, list):
        return False
    return not messages or any(isinstance(message, dict) and message.keys() & _MESSAGE_KEYS for message in messages)


def read(rows: Iterable[Row], problems: Problems) -> Iterator[ParsedSession]:
    """Yield each conversation's active branch; one that has nothing to show is reported instead."""
    for row in rows:
        conversation = row.value
        if not isinstance(conversation, dict) or _messages(conversation) is None:
            problems.add("broken_conversation", row.where, "no list or tree of messages; skipped")
            continue
        session = _read_conversation(conversation, row.where, problems)
        if session is not None:
            yield session


def _read_conversation(conversation: Mapping[str, object], where: str, problems: Problems) -> ParsedSession | None:
    session_id = usable_id(conversation.get("conversationId"))
    if session_id is not None:
        where = f"conversation {session_id}"
    entries = Entries()
    for number, (key, message, nested_in) in enumerate(_walk(conversation), start=1):
        if message is None:
            problems.add("broken_message", f"message {number} of {where}", "no object; skipped")
            entries.lose(key, UNREAD if nested_in == UNSAID else nested_in)
            continue
        if key in entries.turns:
            problems.add("repeated_message", f"message {number} of {where}", "its id stands twice; taken once")
            continue
        role = _role(message)
        parent = nested_in
        if parent == UNSAID:
            parent = named_parent(message, "parentMessageId", _ROOTS, is_reply=role == "assistant")
        if role is None:
            problems.add(
                "unknown_role", f"message {number} of {where}", "neither of the user nor of an assistant; skipped"
            )
            entries.lose(key, parent)
        elif message.get("error") is not True:
            entries.add(key, parent, _turn(message, role, f"message {number} of {where}", problems))
        elif role == "user":
            entries.lose(key, parent, is_question=True)
        else:
            entries.add(key, parent, None)
    if conversation.get("branches") is False and not _is_chain(entries.named.values()):
        entries.named = dict.fromkeys(entries.named, UNSAID)
    branch = branch_in_view(entries, None, where, problems)
    messages, left_behind = split_branch(entries, branch, where, problems)
    if not messages:
        problems.add("empty_conversation", where, "no message of the user or the assistant on its branch")
    if not messages and not left_behind:
        return None
    title = as_word(conversation.get("title"))
    return ParsedSession(
        session_id=session_id,
        messages=messages,
        title=storable(title, f"title of {where}", problems) if title else None,
        started_at=read_time(where, problems, conversation.get("createdAt")) or first_sent(messages),
        left_behind=left_behind,
        is_whole=is_told_whole(entries, messages),
    )


def _messages(conversation: Mapping[str, object]) -> list[object] | None:
    for name in ("messagesTree", "messages"):
        messages = conversation.get(name)
        if isinstance(messages, list):
            return messages
    return None


def _walk(conversation: Mapping[str, object]) -> Iterator[tuple[str, dict[str, object] | None, str | None]]:
    """Yield every message with a key and the key it is nested in, parents first; ``UNSAID`` in a flat list.

    A stack of its own, since a conversation is nested as deeply as it is long.
    """
    outermost = None if isinstance(conversation.get("messagesTree"), list) else UNSAID
    waiting: list[tuple[object, str | None]] = [(message, outermost) for message in _messages(conversation) or ()]
    waiting.reverse()
    number = 0
    while waiting:
        message, nested_in = waiting.pop()
        number += 1
        # A usable id holds no NUL, so that this one is nobody's parent.
        key = f"\0{number}"
        if not isinstance(message, dict):
            yield key, None, nested_in
            continue
        key = usable_id(message.get("messageId")) or key
        yield key, message, nested_in
        waiting.extend((child, key) for child in reversed(as_list(message.get("children"))))


def _is_chain(parents: Iterable[str | None]) -> bool:
    """Say whether the links lead from one root through all messages that can be read, but for gaps."""
    said = [parent for parent in parents if parent != UNREAD]
    return len(set(said)) == len(said) and None in said and UNSAID not in said


def _turn(message: Mapping[str, object], role: Role, where: str, problems: Problems) -> Turn:
    text = content_text(message.get("content"), where, problems)
    if not text.strip():
        text = content_text(message.get("text"), where, problems)
    if role == "assistant":
        text = without_citation_marks(without_reasoning(text), where, problems)
    return Turn(
        role=role,
        message_id=usable_id(message.get("messageId")),
        text=text,
        sent_at=read_time(where, problems, message.get("createdAt")),
        is_partial=message.get("unfinished") is True or message.get("finish_reason") == "incomplete",
    )


def _role(message: Mapping[str, object]) -> Role | None:
    is_users = message.get("isCreatedByUser")
    sender = as_word(message.get("sender"))
    if not isinstance(is_users, bool) and sender is not None:
        is_users = sender.lower() == "user"
    if not isinstance(is_users, bool):
        return None
    return "user" if is_users else "assistant"
