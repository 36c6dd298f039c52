"""From judged records to chunks ready for embedding: cut, hashed, and described. Pure."""

import polars as pl

from orbit_pipelines.building.chunking import ChunkerSettings, chunk_records
from orbit_pipelines.building.diff import SOURCE
from orbit_pipelines.building.hashing import content_hashes
from orbit_pipelines.building.verdicts import parts_of_record

CHUNKS = pl.Schema(
    {
        **dict.fromkeys(SOURCE, pl.String()),
        "chunk_index": pl.Int32(),
        "content_hash": pl.Binary(),
        "session_id": pl.String(),
        "message_id": pl.String(),
        "reply_message_ids": pl.List(pl.String()),
        "content": pl.String(),
        "spans": pl.String(),
        "origin_class": pl.String(),
        "session_kind": pl.String(),
        "sent_at": pl.Datetime("us", "UTC"),
    }
)
"""A chunk as the workspace hands it over: all that is stored but embedding, recipe and build."""

CONTENT = ("content",)
"""The columns of ``CHUNKS`` that hold message text."""


def make_chunks(records: pl.DataFrame, settings: ChunkerSettings, hash_key: bytes) -> pl.DataFrame:
    """Return the chunks of the records that nothing stands against.

    Args:
        records: ``verdicts.JUDGED`` rows.
        settings: how texts are cut.
        hash_key: of the content hashes.
    """
    wanted = records.filter(pl.col("verdict").is_null())
    if wanted.is_empty():
        return pl.DataFrame(schema=CHUNKS)
    described = wanted.select(
        *SOURCE,
        "session_id",
        "message_id",
        # A reply that is skipped is none of the chunk's.
        pl.when(pl.col("reply_verdict").is_null())
        .then("reply_message_ids")
        .otherwise(pl.lit([], dtype=pl.List(pl.String)))
        .alias("reply_message_ids"),
        "session_kind",
        "sent_at",
    )
    chunks = chunk_records(wanted.select(*SOURCE, parts_of_record().alias("parts")), settings)
    return (
        chunks.with_columns(content_hashes(chunks["content"], hash_key).alias("content_hash"))
        .join(described, on=SOURCE, how="left", maintain_order="left")
        .match_to_schema(CHUNKS)
    )
