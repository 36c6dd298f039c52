"""Neighbours: the exact nearest stored vector to each forgotten one, whatever key, model or session its row names."""

from collections.abc import Callable

import numpy as np
import polars as pl

from orbit_pipelines.database.vectors import from_wire
from orbit_pipelines.forgetting.roads.own_words import is_own
from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, place

SAME = 0.9995
"""Cosine similarity from which two vectors are of one text: two bytes a dimension round less than that away."""

UNDECIDED = "?"
"""In place of a place: nobody can tell whether the vector is the row's own."""

_BATCH = 5_000
_CHUNKS = (
    "select halfvec_send(embedding), agent_id, source_key, source_id, session_id, chunk_index, content"
    "  from memory.chunk where user_id = %(user_id)s"
)
_CACHE = (
    "select halfvec_send(embedding), agent_id, model, content_hash"
    "  from memory.embedding_cache where user_id = %(user_id)s"
)


def look_at_neighbours(sight: Sight) -> Look:
    """Compare every stored vector of the person's with every forgotten one."""
    if not sight.traces.vectors:
        return look([], 0, "no vector of the selection was at hand: none was stored, and none was computed again")
    wanted = {dimensions: _unit(from_wire(wires)) for dimensions, wires in _by_dimensions(sight.traces.vectors)}
    found: list[str] = []
    looked_at = 0
    judges: tuple[tuple[str, Callable[..., str | None]], ...] = ((_CHUNKS, _judge_chunk), (_CACHE, _judge_cached))
    for query, judge in judges:
        with sight.connection.transaction(), sight.connection.cursor(name="neighbours", binary=True) as cursor:
            cursor.execute(query.encode(), {"user_id": sight.selection.user_id})
            near = []
            while rows := cursor.fetchmany(_BATCH):
                looked_at += len(rows)
                near += [
                    row
                    for row, is_near in zip(rows, _nearest([row[0] for row in rows], wanted), strict=True)
                    if is_near >= SAME
                ]
        found += [left for row in near if (left := judge(sight, *row)) is not None]
    undecided = found.count(UNDECIDED)
    return look(
        [each for each in found if each != UNDECIDED],
        looked_at,
        f"{undecided:,} rows of other texts have a forgotten vector, and the embedder that could tell why isn't at hand"
        if undecided
        else None,
    )


def _judge_chunk(
    sight: Sight,
    wire: bytes,
    agent_id: str,
    source_key: str,
    source_id: str,
    session_id: str | None,
    chunk_index: int,
    content: str,
) -> str | None:
    """Return the place of a chunk that has a forgotten vector; None when it has it in its own right."""
    key = (agent_id, source_key, source_id, session_id)
    if not sight.is_selected(agent_id, session_id, source_key, source_id) and is_own(
        sight.connection, sight.selection.user_id, key, content
    ):
        explained = _explains(sight, content, wire)
        if explained is not False:
            return None if explained else UNDECIDED
    return place("memory.chunk", agent_id, source_key, source_id, chunk_index)


def _judge_cached(sight: Sight, wire: bytes, agent_id: str, model: str, content_hash: bytes) -> str | None:
    """Return the place of a cached vector that was forgotten; None when it is that of a text that stays in memory."""
    kept = sight.connection.execute(
        "select content from memory.chunk where (user_id, agent_id, content_hash) = (%s, %s, %s) limit 1",
        [sight.selection.user_id, agent_id, content_hash],
    ).fetchone()
    explained = False if kept is None else _explains(sight, kept[0], wire)
    if explained is not False:
        return None if explained else UNDECIDED
    return place("memory.embedding_cache", agent_id, model)


def _explains(sight: Sight, content: str, wire: bytes) -> bool | None:
    """Whether a text is why its row has a vector: it is a forgotten one's text too, or embedding it gives the same.

    Models may make the same of texts that differ, in case or beyond what they read, so that a text of its own is
    embedded before anything is said against it. None where the embedder doesn't answer, or makes other vectors.
    """
    if _bare(content) in {_bare(each) for each in sight.traces.contents}:
        return True
    own = sight.embed(content)
    if own is None or len(own) != len(wire):
        return None
    return _nearest([own], {len(wire): _unit(from_wire(pl.Series([wire], dtype=pl.Binary)))})[0] >= SAME


def _bare(text: str) -> str:
    return "".join(text.split()).casefold()


def _by_dimensions(wires: tuple[bytes, ...]) -> list[tuple[int, pl.Series]]:
    lengths = sorted({len(wire) for wire in wires})
    return [(length, pl.Series([wire for wire in wires if len(wire) == length], dtype=pl.Binary)) for length in lengths]


def _nearest(wires: list[bytes], wanted: dict[int, np.ndarray]) -> list[float]:
    """Return the similarity of each vector to the nearest wanted one; -1 where none has its dimensions."""
    nearest = np.full(len(wires), -1.0)
    for length, forgotten in wanted.items():
        rows = [row for row, wire in enumerate(wires) if len(wire) == length]
        if rows:
            stored = _unit(from_wire(pl.Series([bytes(wires[row]) for row in rows], dtype=pl.Binary)))
            nearest[rows] = (stored @ forgotten.T).max(axis=1)
    return [float(each) for each in nearest]


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)
