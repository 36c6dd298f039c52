"""Whether a chunk that holds a forgotten text says so in its own right: two sessions may hold the same words."""

from collections.abc import Iterable
from typing import Any

import psycopg

from orbit_pipelines.forgetting.snippets import cut_snippets

ChunkKey = tuple[str, str, str, str | None]
"""agent_id, source_key, source_id, session_id."""


def is_own(connection: psycopg.Connection[Any], user_id: str, key: ChunkKey, content: str) -> bool:
    """Whether the session or record that a chunk names holds, in its own original, what the chunk says."""
    originals = _without_blanks(_originals(connection, user_id, key))
    said = cut_snippets([content]) or {content}
    return all(_without_blanks([line]) in originals for line in said)


def _originals(connection: psycopg.Connection[Any], user_id: str, key: ChunkKey) -> list[str]:
    agent_id, source_key, source_id, session_id = key
    of_record = connection.execute(
        "select concat_ws(' ', title, content) from orbitpilot.record"
        " where (user_id, agent_id, source_key, source_id) = (%s, %s, %s, %s)",
        [user_id, agent_id, source_key, source_id],
    ).fetchall()
    if of_record:
        return [row[0] for row in of_record]
    rows = connection.execute(
        "select content from orbitpilot.message where (user_id, agent_id, session_id) = (%s, %s, %s)",
        [user_id, agent_id, session_id if session_id is not None else source_id.rpartition(":")[0]],
    ).fetchall()
    return [row[0] for row in rows]


def _without_blanks(texts: Iterable[str]) -> str:
    # Cutting a text may join or drop blanks, and nothing else.
    return "\0".join("".join(text.split()) for text in texts)
