"""Chunks with their full-text and vector rows, and the whole embedding cache of the stores."""

from dataclasses import dataclass
from typing import Any

from orbit_pipelines.building.builds import ensure_change_partitions
from orbit_pipelines.database.statements import statement
from orbit_pipelines.forgetting.kinds import Absence, Depth, Scene, Stage, Touched
from orbit_pipelines.forgetting.turns import take_turn


@dataclass(frozen=True, slots=True)
class Chunks:
    """Pieces of pairs and records, as they are retrieved."""

    name: str = "chunks"
    stage: Stage = Stage.CHUNKS
    tables: tuple[str, ...] = ("memory.chunk",)
    folders: tuple[str, ...] = ()

    def touched(self, scene: Scene) -> Touched:
        """Return the chunks of the selected sessions and records; of an account all."""
        return _named(scene.connection.execute(statement("find_selected_chunks"), scene.selection.parameters()))

    def purge(self, scene: Scene) -> Touched:
        """Delete them, and have lineage say so in the same statement, under a build of its own."""
        ensure_change_partitions(scene.connection)
        with take_turn(scene):
            return _named(scene.connection.execute(statement("delete_selected_chunks"), scene.selection.parameters()))

    def verify(self, scene: Scene) -> Absence:
        """Count what is left."""
        return Absence(self.touched(scene).count, Depth.ROWS_DELETED)


@dataclass(frozen=True, slots=True)
class EmbeddingCache:
    """Embeddings by keyed hash of their text: the store's whole cache, for whose text a row is can't be told."""

    name: str = "embedding_cache"
    stage: Stage = Stage.CACHE
    tables: tuple[str, ...] = ("memory.embedding_cache",)
    folders: tuple[str, ...] = ()

    def touched(self, scene: Scene) -> Touched:
        """Count the cached embeddings of the stores; their names are hashes, so that none is told."""
        row = scene.connection.execute(
            "select count(*) from memory.embedding_cache where user_id = %(user_id)s and agent_id = any(%(agents)s)",
            scene.selection.parameters(),
        ).fetchone()
        return Touched(int(row[0]) if row else 0)

    def purge(self, scene: Scene) -> Touched:
        """Empty them; the revision keeps builds that began before from filling them again."""
        gone = scene.connection.execute(
            "delete from memory.embedding_cache where user_id = %(user_id)s and agent_id = any(%(agents)s)",
            scene.selection.parameters(),
        )
        return Touched(gone.rowcount)

    def verify(self, scene: Scene) -> Absence:
        """Count what is left."""
        return Absence(self.touched(scene).count, Depth.ROWS_DELETED)


def _named(rows: Any) -> Touched:
    ids, hashes = [], []
    for agent_id, source_key, source_id, chunk_index, content_hash in rows:
        ids.append(f"{agent_id}/{source_key}/{source_id}#{chunk_index}")
        hashes.append(content_hash)
    return Touched(len(ids), tuple(ids), fingerprint="".join(hashes))
