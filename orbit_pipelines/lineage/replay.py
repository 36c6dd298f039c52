"""Replay: what memory holds, worked out from the changes alone.

Changes apply in the order in which builds published. Within a build a key that is both removed and added has changed
its text: the removal comes first. The index is sound when the replay ends in the stored keys, hash for hash.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import polars as pl
import psycopg
from psycopg.rows import tuple_row

from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import Action

KEY = ("user_id", "agent_id", "source_key", "source_id", "chunk_index")


def replay(changes: pl.DataFrame, up_to: int | None = None) -> pl.DataFrame:
    """Return the keys memory holds once the changes have been applied, with their hashes.

    Args:
        changes: the key columns, ``publish_order``, ``action`` and ``content_hash``; in any order of rows.
        up_to: the ``publish_order`` to stop after; None applies everything.

    Returns:
        The key columns and ``content_hash``, ordered by key.
    """
    applied = changes if up_to is None else changes.filter(pl.col("publish_order") <= up_to)
    return (
        applied.sort(*KEY, "publish_order", pl.col("action") != Action.REMOVED)
        .unique(KEY, keep="last", maintain_order=True)
        .filter(pl.col("action") != Action.REMOVED)
        .select(*KEY, "content_hash")
    )


class Difference(StrEnum):
    """How the index can differ from its replay."""

    MISSING = "missing"
    EXTRA = "extra"
    HASH_DIFFERS = "hash_differs"


@dataclass(frozen=True, slots=True)
class DifferingChunk:
    """A key that lineage and the index disagree about."""

    difference: Difference
    user_id: str
    agent_id: str
    source_key: str
    source_id: str
    chunk_index: int


@dataclass(frozen=True, slots=True)
class ReplayDifferences:
    """How many keys differ, by kind, and the first of each kind.

    ``missing``: lineage says it is in memory, and it isn't. ``extra``: in memory, and no build put it there.
    ``hash_differs``: in memory with another text than the one a build put there.
    """

    missing: int
    extra: int
    hash_differs: int
    first: tuple[DifferingChunk, ...]

    @property
    def is_sound(self) -> bool:
        """Whether the index is exactly what lineage replays to."""
        return not (self.missing or self.extra or self.hash_differs)


def replay_differences(
    connection: psycopg.Connection[Any],
    users: Sequence[str] = (),
    *,
    build_id: int | None = None,
    shown: int = 10,
) -> ReplayDifferences:
    """Compare ``memory.chunk`` with the replay of ``memory.change``, inside PostgreSQL.

    Args:
        connection: to the database whose index is compared.
        users: whose memory to compare; everyone's when empty.
        build_id: compare only keys that this build changed or whose row it wrote.
        shown: how many keys of each kind to return.
    """
    name = "find_replay_differences" if build_id is None else "find_replay_differences_of_build"
    with connection.cursor(row_factory=tuple_row) as cursor:
        cursor.execute(statement(name), {"users": list(users) or None, "build": build_id, "shown": shown})
        rows = cursor.fetchall()
    counts = {Difference(row[0]): row[1] for row in rows}
    return ReplayDifferences(
        missing=counts.get(Difference.MISSING, 0),
        extra=counts.get(Difference.EXTRA, 0),
        hash_differs=counts.get(Difference.HASH_DIFFERS, 0),
        first=tuple(DifferingChunk(Difference(row[0]), *row[2:]) for row in rows),
    )
