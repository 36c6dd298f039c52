"""The data export of ChatGPT: a list of conversations, each a tree of nodes with a pointer to the one in view.

Only ``parent`` and ``current_node`` are believed: ``children`` is wrong or empty in many files, the order of the nodes
means nothing, and times can be missing. What the product doesn't show (system and tool messages, context, reasoning,
calls to tools) isn't a turn, but stays a link of the chain.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from orbit_pipelines.history.formats.content import as_list, as_object, as_word, join_parts, turn_role
from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Problems, Role
from orbit_pipelines.history.text import storable, usable_id
from orbit_pipelines.history.times import to_utc

_HIDDEN_CONTENT = frozenset(
    {
        "execution_output",
        "model_editable_context",
        "reasoning_recap",
        "sonic_webpage",
        "system_error",
        "tether_browsing_code",
        "tether_browsing_display",
        "tether_quote",
        "thoughts",
        "user_editable_context",
    }
)
_SPOKEN = frozenset({"audio_transcription", "text"})
_UNFINISHED = frozenset({"in_progress", "finished_partial_completion"})
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One node that the product shows as a message of the user or the assistant."""

    role: Role
    message_id: str | None
    message: Mapping[str, object]


def recognises(value: object) -> bool:
    """Say whether ``value`` is a conversation as ChatGPT exports it."""
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


def read(rows: Iterable[Row], problems: Problems) -> Iterator[ParsedSession]:
    """Yield each conversation's active branch; one that has nothing to show is reported instead."""
    for row in rows:
        if not isinstance(row.value, dict):
            problems.add("broken_conversation", row.where, "no conversation but another JSON value; skipped")
            continue
        session = _read_conversation(row.value, row.where, problems)
        if session is not None:
            yield session


def _read_conversation(conversation: Mapping[str, object], where: str, problems: Problems) -> ParsedSession | None:
    session_id = usable_id(conversation.get("conversation_id")) or usable_id(conversation.get("id"))
    if session_id is not None:
        where = f"conversation {session_id}"
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        problems.add("broken_conversation", where, "no mapping of nodes; skipped")
        return None
    nodes = {key: as_object(node) for key, node in mapping.items()}
    branch = _active_branch(nodes, conversation.get("current_node"), where, problems)
    messages = _messages(nodes, branch, where, problems)
    if not messages:
        problems.add("empty_conversation", where, "no message of the user or the assistant on its branch")
    kept = {message.message_id for message in messages}
    on_branch = set(branch)
    turns = [_turn(key, node) for key, node in nodes.items() if key not in on_branch]
    left_behind = frozenset(turn.message_id for turn in turns if turn and turn.message_id) - kept
    if not messages and not left_behind:
        return None
    title = conversation.get("title")
    return ParsedSession(
        session_id=session_id,
        messages=messages,
        title=storable(title, f"title of {where}", problems) if isinstance(title, str) and title else None,
        started_at=_started_at(conversation, messages),
        left_behind=left_behind,
        do_not_remember=conversation.get("is_do_not_remember") in (True, "true"),
    )


# ---------------------------------------------------------------- the tree


def _active_branch(
    nodes: Mapping[str, Mapping[str, object]], current: object, where: str, problems: Problems
) -> list[str]:
    """Return the keys from the root to the node in view, or to the newest leaf where none is in view."""
    key = current if isinstance(current, str) and current in nodes else None
    if key is None and nodes:
        problems.add("current_node_missing", where, "current_node not found; its newest leaf was taken")
        key = _newest_leaf(nodes)
    branch: list[str] = []
    seen: set[str] = set()
    while key is not None:
        seen.add(key)
        branch.append(key)
        key = _parent(nodes, key)
        if key in seen:
            problems.add("cycle", where, "the parent links form a cycle; cut where they close")
            break
    branch.reverse()
    return branch


def _parent(nodes: Mapping[str, Mapping[str, object]], key: str) -> str | None:
    parent = nodes[key].get("parent")
    return parent if isinstance(parent, str) and parent in nodes else None


def _newest_leaf(nodes: Mapping[str, Mapping[str, object]]) -> str:
    """Return the leaf whose branch was written to last; among equals the one the file has last."""
    parents = {_parent(nodes, key) for key in nodes}
    leaves = [key for key in nodes if key not in parents] or list(nodes)
    newest_first = sorted(enumerate(leaves), key=lambda leaf: (_last_written(nodes, leaf[1]), leaf[0]))
    return newest_first[-1][1]


def _last_written(nodes: Mapping[str, Mapping[str, object]], leaf: str) -> datetime:
    """Return the time of the leaf, or of its nearest ancestor that has one."""
    key: str | None = leaf
    seen: set[str] = set()
    while key is not None and key not in seen:
        seen.add(key)
        moment = to_utc(as_object(nodes[key].get("message")).get("create_time"))
        if moment is not None:
            return moment
        key = _parent(nodes, key)
    return _LONG_AGO


# ---------------------------------------------------------------- messages


def _messages(
    nodes: Mapping[str, Mapping[str, object]], branch: Iterable[str], where: str, problems: Problems
) -> tuple[ParsedMessage, ...]:
    messages: list[ParsedMessage] = []
    taken: set[str] = set()
    for key in branch:
        turn = _turn(key, nodes[key])
        if turn is None:
            continue
        message_id = turn.message_id
        if message_id in taken:
            problems.add("repeated_message", where, f"message {message_id} stands twice on the branch; taken once")
            continue
        content = _text(turn.message, f"message {message_id or len(messages) + 1} of {where}", problems)
        # An empty user message is kept: it may be an image alone, and the reply that follows is to it.
        if turn.role == "assistant" and not content.strip():
            continue
        if message_id is not None:
            taken.add(message_id)
        messages.append(
            ParsedMessage(
                message_id=message_id,
                parent_id=messages[-1].message_id if messages else None,
                role=turn.role,
                content=content,
                sent_at=to_utc(turn.message.get("create_time")),
                is_partial=turn.role == "assistant" and _is_partial(turn.message),
            )
        )
    return tuple(messages)


def _turn(key: str, node: Mapping[str, object]) -> _Turn | None:
    """Return the node's turn, or None where the product shows none."""
    message = as_object(node.get("message"))
    content = message.get("content")
    role = turn_role(as_object(message.get("author")).get("role"))
    if not isinstance(content, dict) or role is None:
        return None
    metadata = as_object(message.get("metadata"))
    if metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message"):
        return None
    if as_word(content.get("content_type")) in _HIDDEN_CONTENT or message.get("weight") == 0:
        return None
    if role == "assistant" and (message.get("recipient") not in (None, "all") or message.get("channel") == "analysis"):
        return None
    return _Turn(role, usable_id(message.get("id")) or usable_id(key), message)


def _text(message: Mapping[str, object], where: str, problems: Problems) -> str:
    content = as_object(message.get("content"))
    kind = content.get("content_type")
    if kind == "code":
        text = content.get("text")
        joined = text if isinstance(text, str) else ""
    elif kind in (None, "text", "multimodal_text"):
        joined = join_parts(_part_texts(content))
    else:
        problems.add("unknown_content", where, "a kind of content that isn't known here; its text was left out")
        joined = ""
    return storable(joined, where, problems)


def _part_texts(content: Mapping[str, object]) -> Iterator[str]:
    for part in as_list(content.get("parts")):
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and as_word(part.get("content_type")) in _SPOKEN:
            text = part.get("text")
            if isinstance(text, str):
                yield text


def _is_partial(message: Mapping[str, object]) -> bool:
    finish = as_object(as_object(message.get("metadata")).get("finish_details"))
    return as_word(message.get("status")) in _UNFINISHED or finish.get("type") == "interrupted"


def _started_at(conversation: Mapping[str, object], messages: Iterable[ParsedMessage]) -> datetime | None:
    """Return when the conversation began, as far as anything in it tells."""
    created = to_utc(conversation.get("create_time"))
    sent = min((message.sent_at for message in messages if message.sent_at), default=None)
    return created or sent or to_utc(conversation.get("update_time"))
