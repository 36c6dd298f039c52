"""The chat export of Open WebUI: a list of chats, each with a tree of messages and a pointer to the one in view.

Only ``parentId`` and ``currentId`` are believed, and the pointer only where it points at a message: it may be left on a
stub. ``childrenIds`` is often empty, and the flat copy of the branch beside the tree is often stale. Reasoning and the
results of tools are written into a reply's text, in ``<details>`` elements of a type of their own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from orbit_pipelines.history.formats.branches import UNREAD, claimed_children, named_parent
from orbit_pipelines.history.formats.content import (
    as_list,
    as_object,
    as_word,
    content_text,
    is_no_turn,
    turn_role,
    without_reasoning,
)
from orbit_pipelines.history.formats.turns import Entries, Turn, branch_in_view, first_sent, is_told_whole, split_branch
from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Problems, Role
from orbit_pipelines.history.text import storable, usable_id
from orbit_pipelines.history.times import read_time

_ROOTS = frozenset({""})
_BROKEN = ("broken_message", "no object")
_DETAILS = re.compile(r"<(?:details\b([^<>]*)|/details\s*)>", re.IGNORECASE)
_CODE_OR_DETAILS = re.compile(
    r"(?:^|(?<=</details>))[ >]*(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})"
    r"|(?<!`)(?P<tick>`++)[^`\n]++(?P=tick)(?!`)"
    r"|<details\b(?P<opening>[^<>]*)>",
    re.IGNORECASE | re.MULTILINE,
)
_HIDDEN_DETAILS = re.compile(r"""\btype\s*=\s*["']?(?:reasoning|tool_calls|code_interpreter)\b""", re.IGNORECASE)


def recognises(value: object) -> bool:
    """Say whether ``value`` is a chat as Open WebUI exports it, with or without the record around it."""
    if not isinstance(value, dict):
        return False
    chat = _chat(value)
    if isinstance(as_object(chat.get("history")).get("messages"), dict):
        return True
    return chat is not value and isinstance(chat.get("messages"), list)


def read(rows: Iterable[Row], problems: Problems) -> Iterator[ParsedSession]:
    """Yield each chat's active branch; one that has nothing to show is reported instead."""
    for row in rows:
        if not recognises(row.value) or not isinstance(row.value, dict):
            problems.add("broken_conversation", row.where, "no chat with messages; skipped")
            continue
        session = _read_chat(row.value, row.where, problems)
        if session is not None:
            yield session


def _read_chat(record: Mapping[str, object], where: str, problems: Problems) -> ParsedSession | None:
    chat = _chat(record)
    session_id = usable_id(record.get("id")) or usable_id(chat.get("id"))
    if session_id is not None:
        where = f"conversation {session_id}"
    nodes = _nodes(chat, where, problems)
    entries = _entries(nodes, where, problems)
    leaf = usable_id(as_object(chat.get("history")).get("currentId"))
    if leaf not in nodes or as_word(nodes[leaf].get("role")) is None:
        leaf = None
        if nodes and "history" in chat:
            problems.add("current_node_missing", where, "currentId is not a usable message; the newest leaf was taken")
    branch = branch_in_view(entries, leaf, where, problems)
    messages, left_behind = split_branch(entries, branch, where, problems)
    if not messages:
        problems.add("empty_conversation", where, "no message of the user or the assistant on its branch")
    if not messages and not left_behind:
        return None
    title = as_word(record.get("title")) or as_word(chat.get("title"))
    return ParsedSession(
        session_id=session_id,
        messages=messages,
        title=storable(title, f"title of {where}", problems) if title else None,
        started_at=_started_at(record, messages, where, problems),
        left_behind=left_behind,
        is_whole=is_told_whole(entries, messages),
    )


def _chat(record: Mapping[str, object]) -> Mapping[str, object]:
    chat = record.get("chat")
    return chat if isinstance(chat, dict) else record


def _nodes(chat: Mapping[str, object], where: str, problems: Problems) -> dict[str, dict[str, object]]:
    """Return the messages by id, without stubs; those of the flat copy only where there is no tree.

    What is no object is an empty one.
    """
    tree = as_object(as_object(chat.get("history")).get("messages"))
    written = list(tree.items()) or [("", message) for message in as_list(chat.get("messages"))]
    nodes: dict[str, dict[str, object]] = {}
    for number, (name, value) in enumerate(written, start=1):
        message = as_object(value)
        # A stub says nothing and stands nowhere; in a list everything has its place.
        if name and message and as_word(message.get("role")) is None and "parentId" not in message:
            continue
        # A usable id holds no NUL, so that the last one is nobody's parent.
        key = usable_id(name) or usable_id(message.get("id")) or f"\0{number}"
        if key in nodes:
            problems.add("repeated_message", f"message {number} of {where}", "its id stands twice; taken once")
            continue
        nodes[key] = message
    return nodes


def _entries(nodes: Mapping[str, Mapping[str, object]], where: str, problems: Problems) -> Entries:
    """Return the messages with their links; a link that leads nowhere is looked for among others' children."""
    entries = Entries()
    claimed = claimed_children((key, node.get("childrenIds")) for key, node in nodes.items())
    for number, (key, node) in enumerate(nodes.items(), start=1):
        role = turn_role(node.get("role"))
        parent = named_parent(node, "parentId", _ROOTS, is_reply=role == "assistant") if node else UNREAD
        if parent is not None and parent not in nodes:
            parent = claimed.get(key, parent)
        if role is not None:
            entries.add(key, parent, _turn(key, node, role, f"message {number} of {where}", problems))
        elif is_no_turn(node.get("role")):
            entries.add(key, parent, None)
        else:
            kind, what = ("unknown_role", "neither a turn nor a role known to be none") if node else _BROKEN
            problems.add(kind, f"message {number} of {where}", f"{what}; skipped")
            entries.lose(key, parent)
    return entries


def _turn(key: str, message: Mapping[str, object], role: Role, where: str, problems: Problems) -> Turn | None:
    text = content_text(message.get("content"), where, problems)
    if role == "assistant":
        text = _reply_text(text)
        if not text.strip():
            text = _reply_text(_output_text(message, where, problems))
        if not text.strip() and message.get("error"):
            return None
    return Turn(
        role=role,
        message_id=usable_id(message.get("id")) or (None if key.startswith("\0") else key),
        text=text,
        sent_at=read_time(where, problems, message.get("timestamp")),
        is_partial=message.get("done") is False or bool(message.get("error")),
    )


def _output_text(message: Mapping[str, object], where: str, problems: Problems) -> str:
    """Return what a reply says in its list of output items, which newer versions keep beside the text."""
    items = [as_object(item) for item in as_list(message.get("output"))]
    said = [item.get("content") for item in items if item.get("type") == "message"]
    return "\n\n".join(content_text(content, where, problems) for content in said)


def _reply_text(text: str) -> str:
    """Return a reply without the elements that hold reasoning and the results of tools, however they are nested.

    What is quoted as code is no element, also in a fence that isn't closed.
    """
    if "<" not in text:
        return without_reasoning(text)
    kept: list[str] = []
    at = 0
    for start, end in _hidden_elements(text):
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    if len(kept) == 1:
        return without_reasoning(text)
    # The line breaks that parted what was cut from the rest belonged to it.
    if not kept[0].strip():
        kept[0] = ""
        kept[1] = kept[1].lstrip("\n")
    if not kept[-1].strip():
        kept[-1] = ""
        kept[-2] = kept[-2].rstrip("\n")
    return without_reasoning("".join(kept))


def _hidden_elements(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each hidden element begins and ends; one that isn't closed ends with the text."""
    at = 0
    while mark := _CODE_OR_DETAILS.search(text, at):
        at = mark.end()
        if mark["fence"]:
            at = _end_of_fence(text, mark)
        elif mark["opening"] is not None and _HIDDEN_DETAILS.search(mark["opening"]):
            depth = 1
            while depth and (tag := _DETAILS.search(text, at)):
                depth += -1 if tag[1] is None else 1
                at = tag.end()
            if depth:
                at = len(text)
            yield mark.start(), at


def _end_of_fence(text: str, opening: re.Match[str]) -> int:
    fence = opening["fence"]
    closing = re.compile(rf"^[ >]*{fence[0]}{{{len(fence)},}}[ \t]*$", re.MULTILINE).search(text, opening.end())
    return closing.end() if closing else len(text)


def _started_at(
    record: Mapping[str, object], messages: Iterable[ParsedMessage], where: str, problems: Problems
) -> datetime | None:
    """Return when the chat began, as far as anything in it tells."""
    created = read_time(where, problems, record.get("created_at"), _chat(record).get("timestamp"))
    return created or first_sent(messages) or read_time(where, problems, record.get("updated_at"))
