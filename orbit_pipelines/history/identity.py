"""Ids for what an export names by none: from content and place, never from a path, a line or anything that grows.

A file that was moved, renamed or continued gives the same ids again, so that it appends instead of duplicating, and a
forgotten session doesn't return under another name.
"""

import hmac
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from orbit_pipelines.history.stream import ParsedMessage, ParsedSession

_LABEL = b"session id\0"
"""Sets these digests apart from content hashes under the same key: no stored text holds a NUL."""


def identify_sessions(sessions: Iterable[ParsedSession], hash_key: bytes) -> Iterator[ParsedSession]:
    """Yield the sessions of one file with every id in place.

    A session without an id is named by a keyed digest of its first user message (of its first message if it has
    none) and its ordinal among equals in the file. One without an id and without messages can't be named and is
    left out.
    """
    equals: Counter[str] = Counter()
    for session in sessions:
        session_id = session.session_id
        if not session_id:
            if not session.messages:
                continue
            digest = _session_digest(session.messages, hash_key)
            session_id = f"{digest}-{equals[digest]}"
            equals[digest] += 1
        messages = identify_messages(session.messages)
        yield replace(
            session,
            session_id=session_id,
            messages=messages,
            left_behind=session.left_behind.difference(message.message_id or "" for message in messages),
        )


def identify_messages(messages: tuple[ParsedMessage, ...]) -> tuple[ParsedMessage, ...]:
    """Return the messages of a branch with ids that are unique among them, and each with its parent.

    A message without an id is named by its place: ``m<index>``, or, after a message that has an id of its own, by
    that id and the distance (``<id>~1``), because an export that names some of its messages may later drop its head.
    A repeated id counts as none.
    """
    taken = {message.message_id for message in messages if message.message_id}
    used: set[str] = set()
    anchor, distance = "", 0
    named: list[ParsedMessage] = []
    for place, message in enumerate(messages):
        message_id = message.message_id
        if message_id and message_id not in used:
            anchor, distance = message_id, 0
        else:
            distance += 1
            message_id = f"{anchor}~{distance}" if anchor else f"m{place}"
            while message_id in taken:
                message_id += "~"
            taken.add(message_id)
        used.add(message_id)
        parent_id = message.parent_id or (named[-1].message_id if named else None)
        named.append(replace(message, message_id=message_id, parent_id=parent_id))
    return tuple(named)


def _session_digest(messages: tuple[ParsedMessage, ...], hash_key: bytes) -> str:
    opening = next((message for message in messages if message.role == "user"), messages[0])
    return hmac.digest(hash_key, _LABEL + opening.content.encode(), "sha256").hex()[:32]
