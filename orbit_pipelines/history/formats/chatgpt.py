"""The data export of ChatGPT: a list of conversations, each a tree of nodes with a pointer to the one in view.

Only ``parent`` and ``current_node`` are believed: ``children`` is wrong or empty in many files, the order of the nodes
means nothing, and times can be missing. What the product doesn't show (system and tool messages, context, reasoning,
calls to tools) isn't a turn, but stays a link of the chain.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from orbit_pipelines.history.formats.branches import claimed_children, climb, newest_leaf
from orbit_pipelines.history.formats.citation_marks import without_citation_marks
from orbit_pipelines.history.formats.content import (
    as_object,
    as_word,
    content_text,
    is_marked,
    is_no_turn,
    join_parts,
    turn_role,
)
from orbit_pipelines.history.formats.lost_questions import A_QUESTION
from orbit_pipelines.history.formats.turns import (
    Entries,
    Turn,
    first_sent,
    is_told_whole,
    leave_out_orphans,
    shows_anything,
    split_branch,
)
from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Problems
from orbit_pipelines.history.text import storable, usable_id
from orbit_pipelines.history.times import read_time

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
_POINTER = "_asset_pointer"
"""How the kinds of images, sounds and films end."""

_MOST_GAPS = 20
"""Behind more gaps than that, what stands before is left out: each takes a look at the whole conversation."""

_UNFINISHED = frozenset({"in_progress", "finished_partial_completion"})


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
    entries, cut = _entries({key: as_object(node) for key, node in mapping.items()}, where, problems)
    branch, is_cycle = _active_branch(entries, conversation.get("current_node"), where, problems)
    has_gap = bool(branch) and branch[0] in cut
    if has_gap:
        connected = _connected(entries, branch[0])
        branch = _across_gaps(branch, entries, cut, where, problems)
    if entries.lost:
        leave_out_orphans(branch, entries, (), where, problems, names_questions=False)
    if has_gap:
        # What a gap parts from the branch, and doesn't stand before it for all that is known, has not left it.
        shown = connected.keys() | set(branch)
        entries.turns = {key: turn for key, turn in entries.turns.items() if key in shown}
    messages, left_behind = split_branch(entries, branch, where, problems)
    if not messages:
        problems.add("empty_conversation", where, "no message of the user or the assistant on its branch")
    if not messages and not left_behind:
        return None
    title = conversation.get("title")
    return ParsedSession(
        session_id=session_id,
        messages=messages,
        title=storable(title, f"title of {where}", problems) if isinstance(title, str) and title else None,
        started_at=_started_at(conversation, messages, where, problems),
        left_behind=left_behind,
        is_whole=not has_gap and not is_cycle and is_told_whole(entries, messages),
        do_not_remember=is_marked(conversation.get("is_do_not_remember")),
    )


# ---------------------------------------------------------------- the tree


def _entries(nodes: Mapping[str, Mapping[str, object]], where: str, problems: Problems) -> tuple[Entries, set[str]]:
    """Return the nodes with their parents, and those whose parent nobody knows; they begin a branch like a root.

    A node that can't be read has no link; the lists of children, which aren't believed otherwise, may tell its parent.
    """
    entries = Entries()
    claimed: Mapping[str, str] | None = None
    cut: set[str] = set()
    for key, node in nodes.items():
        parent = as_word(node.get("parent"))
        if parent not in nodes and (parent is not None or "parent" not in node):
            if claimed is None:
                claimed = claimed_children((each, other.get("children")) for each, other in nodes.items())
            if (claimant := claimed.get(key)) is None and (parent is not None or not node):
                cut.add(key)
            parent = claimant
        turn = _turn(key, node, where, problems)
        fault = None if turn else _fault(node)
        if fault is None:
            entries.add(key, parent, turn)
        else:
            problems.add(fault, f"node {usable_id(key)} of {where}", "it can't be read; skipped")
            entries.lose(key, parent, is_question=fault == "broken_question")
        if key in cut:
            entries.lost.setdefault(key, 1)
    return entries, cut


def _active_branch(entries: Entries, current: object, where: str, problems: Problems) -> tuple[list[str], bool]:
    """Return the keys from the root to the node in view, or to the newest leaf that shows anything.

    And whether a cycle had to be cut.
    """
    entries.parents = parents = entries.named
    turns = entries.turns
    leaf = current if isinstance(current, str) and current in parents else None
    if leaf is None:
        shown = [key for key, turn in turns.items() if shows_anything(turn)]
        leaf = newest_leaf(parents, {key: turn.sent_at for key, turn in turns.items() if turn}.get, shown or None)
        if leaf is None:
            return [], False
        problems.add("current_node_missing", where, "current_node not found; its newest leaf was taken")
    branch, is_cut = climb(parents, leaf)
    if is_cut:
        problems.add("cycle", where, "the parent links form a cycle; cut where they close")
    return branch, is_cut


def _across_gaps(branch: list[str], entries: Entries, cut: set[str], where: str, problems: Problems) -> list[str]:
    """Return a branch whose beginning hangs in the air, with what seems to stand before it: the newest leaf there.

    The order of the nodes means nothing, so that only times can tell what came before.
    """
    parents, turns = entries.named, entries.turns
    written = {key: turn.sent_at for key, turn in turns.items() if turn}
    for _ in range(_MOST_GAPS):
        first = branch[0]
        if first not in cut:
            break
        below = _connected(entries, first)
        since = next((moment for key in branch if (moment := written.get(key))), None)
        before = [
            key
            for key, turn in turns.items()
            if turn and key not in below and (since is None or (written.get(key) or since) <= since)
        ]
        leaf = newest_leaf(parents, written.get, before)
        if leaf is None:
            break
        head, _ = climb(parents, leaf)
        # A reply behind a gap answers something in it.
        turn = next((turn for key in branch if (turn := turns[key])), None)
        if turn is not None and turn.role == "assistant":
            entries.lost[first] = A_QUESTION
        parents[first] = leaf
        branch = [*head, *branch]
        problems.add("parent_missing", where, "a message names a parent that isn't there; it follows the one before it")
    return branch


def _connected(entries: Entries, root: str) -> dict[str, Turn | None]:
    """Return the turns of the nodes that lead to ``root``; no link is followed twice."""
    leads = {root: True}
    for key in entries.named:
        path: list[str] = []
        at: str | None = key
        while at is not None and at not in leads:
            leads[at] = False
            path.append(at)
            at = entries.named[at]
        leads.update(dict.fromkeys(path, at is not None and leads[at]))
    return {key: turn for key, turn in entries.turns.items() if leads[key]}


# ---------------------------------------------------------------- messages


def _turn(key: str, node: Mapping[str, object], where: str, problems: Problems) -> Turn | None:
    """Return the node's turn, or None where the product shows none."""
    message = as_object(node.get("message"))
    content = message.get("content")
    if isinstance(content, str | list):
        content = {"content_type": "text", "parts": content}
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
    message_id = usable_id(message.get("id")) or usable_id(key)
    place = f"message {message_id} of {where}"
    text = _text(content, place, problems)
    return Turn(
        role=role,
        message_id=message_id,
        text=without_citation_marks(text, place, problems) if role == "assistant" else text,
        sent_at=read_time(place, problems, message.get("create_time")),
        is_partial=_is_partial(message),
        is_open=message.get("end_turn") is False,
    )


def _fault(node: Mapping[str, object]) -> str | None:
    """Return what is wrong with a node that is no turn; None where it only isn't shown, and lets the chain pass."""
    message = node.get("message")
    if not node or not isinstance(message, dict):
        return "broken_message" if not node or message is not None else None
    metadata = as_object(message.get("metadata"))
    if metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message"):
        return None
    if message.get("weight") == 0:
        return None
    role = as_object(message.get("author")).get("role")
    if turn_role(role) is None:
        return None if is_no_turn(role) else "unknown_role"
    content = message.get("content")
    if isinstance(content, str | list | dict):
        return None
    if turn_role(role) == "assistant":
        return None if content is None else "broken_message"
    return "broken_question"


def _text(content: Mapping[str, object], where: str, problems: Problems) -> str:
    kind = content.get("content_type")
    if kind in (None, "code", "text", "multimodal_text"):
        parts = content.get("parts")
        said = join_parts(_part_texts(parts if isinstance(parts, list) else [parts], where, problems))
        return said if said.strip() else content_text(content.get("text"), where, problems)
    problems.add("unknown_content", where, "a kind of content that isn't known here; its text was left out")
    return ""


def _part_texts(parts: Iterable[object], where: str, problems: Problems) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and (kind := as_word(part.get("content_type"))) in _SPOKEN:
            yield content_text({"text": part.get("text")}, where, problems)
        elif not (isinstance(part, dict) and kind is not None and kind.endswith(_POINTER)):
            # Whatever tells its kind in another way, or not at all.
            yield content_text([{**part, "type": kind} if isinstance(part, dict) and kind else part], where, problems)


def _is_partial(message: Mapping[str, object]) -> bool:
    finish = as_object(as_object(message.get("metadata")).get("finish_details"))
    return as_word(message.get("status")) in _UNFINISHED or finish.get("type") == "interrupted"


def _started_at(
    conversation: Mapping[str, object], messages: Iterable[ParsedMessage], where: str, problems: Problems
) -> datetime | None:
    """Return when the conversation began, as far as anything in it tells."""
    created = read_time(where, problems, conversation.get("create_time"))
    return created or first_sent(messages) or read_time(where, problems, conversation.get("update_time"))
