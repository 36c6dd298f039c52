"""What a publish must do, as a value: keys to remove, rows to insert, rows whose description changed. Pure.

The diff key is ``(source_key, source_id, chunk_index, content_hash)`` within a store. It is taken over whole stores'
extent at once, so that the result doesn't depend on batches; applying it is ``building.publish``'s business.
"""

from dataclasses import dataclass

import polars as pl

PLACE = ("user_id", "agent_id", "source_key", "source_id", "chunk_index")
SOURCE = PLACE[:4]

_DESCRIPTION = pl.Schema(
    {
        "session_id": pl.String(),
        "message_id": pl.String(),
        "reply_message_ids": pl.List(pl.String()),
        "spans": pl.String(),
        "origin_class": pl.String(),
        "session_kind": pl.String(),
        "sent_at": pl.Datetime("us", "UTC"),
        "recipe": pl.String(),
    }
)

CHUNK_KEYS = pl.Schema(
    {
        **dict.fromkeys(SOURCE, pl.String()),
        "chunk_index": pl.Int32(),
        "content_hash": pl.Binary(),
        "model": pl.String(),
        **_DESCRIPTION,
    }
)
"""A chunk without its content and embedding: what is compared."""


SKIPS = pl.Schema({**dict.fromkeys(SOURCE, pl.String()), "reason": pl.String()})
"""A source that stays out of memory (or a pair whose reply does), and why."""


@dataclass(frozen=True, slots=True)
class SkipDiff:
    """Skips in force and fresh ones, told apart: ``SKIPS`` rows. One of another reason is in both."""

    ended: pl.DataFrame
    begun: pl.DataFrame


def diff_skips(stored: pl.DataFrame, fresh: pl.DataFrame) -> SkipDiff:
    """Compare the skips in force with those a build found, both ``SKIPS`` rows of the same reach."""
    if stored.is_empty() or fresh.is_empty():
        return SkipDiff(ended=stored, begun=fresh)
    return SkipDiff(
        ended=stored.join(fresh, on=list(SKIPS), how="anti"), begun=fresh.join(stored, on=list(SKIPS), how="anti")
    )


@dataclass(frozen=True, slots=True)
class ChunkDiff:
    """Stored rows and fresh ones, told apart. A row whose text changed is in ``removed`` and in ``inserted``.

    ``removed`` has the columns of the stored rows, ``inserted`` and ``updated`` those of the fresh ones.
    """

    inserted: pl.DataFrame
    removed: pl.DataFrame
    updated: pl.DataFrame
    unchanged: int


def diff_chunks(stored: pl.DataFrame, fresh: pl.DataFrame) -> ChunkDiff:
    """Compare stored chunks with freshly made ones, both ``CHUNK_KEYS`` rows of the same extent."""
    if stored.is_empty() or fresh.is_empty():
        return ChunkDiff(inserted=fresh, removed=stored, updated=fresh.clear(), unchanged=0)
    is_other_text = pl.col("content_hash").ne_missing(pl.col("content_hash_stored")) | pl.col("model").ne_missing(
        pl.col("model_stored")
    )
    is_described_otherwise = pl.any_horizontal(_differs(name, dtype) for name, dtype in _DESCRIPTION.items())
    met = fresh.join(stored, on=PLACE, how="inner", suffix="_stored", maintain_order="left").select(
        *CHUNK_KEYS,
        is_other_text.alias("is_other_text"),
        is_described_otherwise.alias("is_described_otherwise"),
    )
    kept = met.filter(~pl.col("is_other_text")).select(*PLACE)
    updated = met.filter(~pl.col("is_other_text") & pl.col("is_described_otherwise")).select(*CHUNK_KEYS)
    return ChunkDiff(
        inserted=fresh.join(kept, on=PLACE, how="anti", maintain_order="left"),
        removed=stored.join(kept, on=PLACE, how="anti", maintain_order="left"),
        updated=updated,
        unchanged=kept.height - updated.height,
    )


def _differs(name: str, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.List):
        # Ids hold no unit separator; comparing joined texts is comparing the lists.
        return pl.col(name).list.join("\x1f").ne_missing(pl.col(f"{name}_stored").list.join("\x1f"))
    return pl.col(name).ne_missing(pl.col(f"{name}_stored"))
