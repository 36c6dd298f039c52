"""An exact vector search in one store. Which is a person's own: row-level security lets it be no other."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from pgvector import HalfVector
from psycopg.rows import class_row

from orbit_pipelines.database.statements import statement
from orbit_pipelines.embedders.protocol import Vectors
from orbit_pipelines.model import Store


@dataclass(frozen=True, slots=True)
class Recalled:
    """A chunk that was found; ``similarity`` is the cosine, ``build_id`` the build that put it there.

    ``spans`` are stretches of ``content``, each with its start, its end, and the class of who speaks there.
    """

    source_key: str
    source_id: str
    chunk_index: int
    session_id: str | None
    content: str
    spans: list[tuple[int, int, str]]
    origin_class: str
    sent_at: datetime | None
    build_id: int
    similarity: float


def search_memory(
    connection: psycopg.Connection[Any],
    store: Store,
    query: Vectors,
    model: str,
    *,
    limit: int,
    beside_session: str | None = None,
) -> tuple[Recalled, ...]:
    """Return the chunks nearest to a query, the nearest first.

    What an embedder of another fingerprint embedded isn't found: its vectors mean something else. Nor is what stems
    from a forgotten session, from the moment its tombstone commits.

    Args:
        connection: acting for the store's person.
        store: where to look.
        query: a unit vector.
        model: the fingerprint of the embedder that made it.
        limit: the most chunks to return.
        beside_session: a session whose own chunks aren't wanted, because its thread is at hand.
    """
    with connection.cursor(row_factory=class_row(Recalled)) as cursor:
        found = cursor.execute(
            statement("search_memory"),
            {
                "user_id": store.user_id,
                "agent_id": store.agent_id,
                "query": HalfVector(query),
                "model": model,
                "limit": limit,
                "beside_session": beside_session,
            },
        ).fetchall()
    return tuple(found)
