"""Neighbours: the exact nearest stored vector to each forgotten one, whatever key, model or session its row names."""

import numpy as np
import polars as pl

from orbit_pipelines.database.vectors import from_wire
from orbit_pipelines.forgetting.roads.own_words import is_own
from orbit_pipelines.forgetting.roads.sight import Look, Sight, look

SAME = 0.9995
"""Cosine similarity from which two vectors are of one text: two bytes a dimension round less than that away."""

_BATCH = 5_000
_CHUNKS = (
    "select halfvec_send(embedding), agent_id, source_key, source_id, session_id, content from memory.chunk"
    " where user_id = %(user_id)s"
)
_CACHE = (
    "select halfvec_send(embedding), agent_id, null, null, null, null from memory.embedding_cache as held"
    " where user_id = %(user_id)s"
    # A text that stays in memory keeps its cached vector.
    "   and not exists (select from memory.chunk as kept"
    "                    where (kept.user_id, kept.agent_id, kept.content_hash)"
    "                        = (held.user_id, held.agent_id, held.content_hash))"
)


def look_at_neighbours(sight: Sight) -> Look:
    """Compare every stored vector of the person's with every forgotten one."""
    if not sight.traces.vectors:
        return look(
            [], 0, "no vector of the selected sessions was at hand: none was stored, and none was computed again"
        )
    wanted = {dimensions: _unit(from_wire(wires)) for dimensions, wires in _by_dimensions(sight.traces.vectors)}
    found: list[str] = []
    looked_at = 0
    for table, query in (("memory.chunk", _CHUNKS), ("memory.embedding_cache", _CACHE)):
        with sight.connection.transaction(), sight.connection.cursor(name="neighbours", binary=True) as cursor:
            cursor.execute(query.encode(), {"user_id": sight.selection.user_id})
            near = []
            while rows := cursor.fetchmany(_BATCH):
                looked_at += len(rows)
                near += [
                    row[1:]
                    for row, is_near in zip(rows, _nearest([row[0] for row in rows], wanted), strict=True)
                    if is_near >= SAME
                ]
        found += [table for row in near if row[-1] is None or _is_left(sight, *row)]
    return look(found, looked_at)


def _is_left(
    sight: Sight, agent_id: str, source_key: str, source_id: str, session_id: str | None, content: str
) -> bool:
    if sight.is_selected(agent_id, session_id, source_key, source_id):
        return True
    return not is_own(sight.connection, sight.selection.user_id, (agent_id, source_key, source_id, session_id), content)


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
