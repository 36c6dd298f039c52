"""Vectors for the chunks that need one: from the store's cache, from its live chunks, or from the embedder.

Nothing is embedded twice within a store: same text, same model, one embedding, until a forget empties the cache. What
is computed goes into the cache at once, so that a build that was stopped goes on where the cache ends. Every insert
into the cache holds on to the store's row and demands the ``forget_revision`` seen at extraction: a forget that comes
first makes the insert nothing, one that comes later finds the row.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.database.binary_copy import copy_frame
from orbit_pipelines.database.frames import arrays, read_frame, slices
from orbit_pipelines.database.statements import statement
from orbit_pipelines.database.vectors import to_wire
from orbit_pipelines.embedders.protocol import Embedder

TEXTS = ("user_id", "agent_id", "content_hash")
VECTORS = pl.Schema(
    {
        "user_id": pl.String(),
        "agent_id": pl.String(),
        "content_hash": pl.Binary(),
        "embedding": pl.Binary(),
        "is_new": pl.Boolean(),
        "is_fetched": pl.Boolean(),
    }
)
"""One row a distinct text of a part's stores: its vector in wire form, null unless ``is_fetched`` (publish then fetches
it, if it is needed at all). ``is_new``: this build embedded it.
"""

_CACHE_TYPES = {
    "user_id": "text",
    "agent_id": "text",
    "model": "text",
    "content_hash": "bytea",
    "embedding": "halfvec",
}
_FLUSH_TEXTS = 2_000
_FLUSH_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """How one build treats what it already has.

    ``fetch_known``: also bring the vectors that are known, for a publish that rewrites all rows. ``re_embed``: compute
    every vector again and replace the cached one. ``batch_texts``: how many texts the embedder is given at a time.
    """

    fetch_known: bool = False
    re_embed: bool = False
    batch_texts: int = 64


def embed_chunks(
    connection: psycopg.Connection[Any],
    chunks: pl.DataFrame,
    stores: pl.DataFrame,
    embedder: Embedder,
    options: EmbeddingOptions,
    on_progress: Callable[[int], None] = lambda _texts: None,
) -> pl.DataFrame:
    """Return ``VECTORS`` for the distinct texts of some chunks, embedding those that are new to their store.

    Args:
        connection: in autocommit; each flush of computed vectors is a transaction of its own.
        chunks: ``user_id``, ``agent_id``, ``content_hash``, ``content``.
        stores: ``user_id``, ``agent_id``, ``forget_revision`` as extraction saw them; a store missing here had none,
            that is 0.
        embedder: asked in one order, so that equal inputs give equal calls.
        options: see ``EmbeddingOptions``.
        on_progress: called with the number of texts embedded since the last call.

    Raises:
        EmbeddingFailed: as the embedder raises it; what was computed before is in the cache.
    """
    texts = chunks.unique(TEXTS, keep="first", maintain_order=True)
    known = texts.clear().select(*TEXTS, pl.lit(None, dtype=pl.Binary).alias("embedding"))
    if not options.re_embed:
        known = find_known(connection, texts, embedder.fingerprint, embedder.dimensions, fetch=options.fetch_known)
    missing = texts.join(known, on=TEXTS, how="anti", maintain_order="left")
    computed = _compute(connection, missing, stores, embedder, options, on_progress)
    return pl.concat(
        [
            rows.with_columns(
                pl.lit(is_new).alias("is_new"), pl.col("embedding").is_not_null().alias("is_fetched")
            ).match_to_schema(VECTORS)
            for rows, is_new in ((known, False), (computed, True))
        ]
    )


def find_known(
    connection: psycopg.Connection[Any], texts: pl.DataFrame, model: str, dimensions: int, *, fetch: bool
) -> pl.DataFrame:
    """Return the texts (``TEXTS``) that a store has a vector of, with it in wire form when ``fetch``, else null.

    A vector of another length than the model's is none of the model's, whatever is written beside it.
    """
    schema = pl.Schema({name: VECTORS[name] for name in (*TEXTS, "embedding")})
    if texts.is_empty():
        return pl.DataFrame(schema=schema)
    query = statement("find_known_embeddings")
    asked = {"model": model, "dimensions": dimensions, "fetch": fetch}
    return pl.concat(
        [read_frame(connection, query, {**asked, **rows}, schema) for rows in slices(texts.select(*TEXTS))]
    )


def _compute(
    connection: psycopg.Connection[Any],
    missing: pl.DataFrame,
    stores: pl.DataFrame,
    embedder: Embedder,
    options: EmbeddingOptions,
    on_progress: Callable[[int], None],
) -> pl.DataFrame:
    computed = []
    pending: list[pl.DataFrame] = []
    last_flush = time.monotonic()

    def flush() -> None:
        nonlocal last_flush
        if pending:
            _remember(connection, pl.concat(pending), stores, embedder.fingerprint, options)
            computed.extend(pending)
            pending.clear()
        last_flush = time.monotonic()

    try:
        for batch in missing.iter_slices(options.batch_texts):
            vectors = to_wire(embedder.embed_passages(batch["content"].to_list()))
            pending.append(batch.select(*TEXTS).with_columns(vectors.alias("embedding")))
            on_progress(batch.height)
            if sum(each.height for each in pending) >= _FLUSH_TEXTS or time.monotonic() - last_flush > _FLUSH_SECONDS:
                flush()
    finally:
        flush()
    if computed:
        return pl.concat(computed)
    return missing.select(*TEXTS, pl.lit(None, dtype=pl.Binary).alias("embedding")).clear()


def _remember(
    connection: psycopg.Connection[Any],
    vectors: pl.DataFrame,
    stores: pl.DataFrame,
    model: str,
    options: EmbeddingOptions,
) -> None:
    seen = (
        vectors.select("user_id", "agent_id")
        .unique()
        .join(stores, on=("user_id", "agent_id"), how="left")
        .with_columns(pl.col("forget_revision").fill_null(0))
    )
    with connection.transaction():
        connection.execute(statement("create_missing_stores"), arrays(seen.select("user_id", "agent_id")))
        held = connection.execute(statement("hold_stores"), arrays(seen)).fetchall()
        if len(held) < seen.height:
            allowed = pl.DataFrame(held, schema={"user_id": pl.String, "agent_id": pl.String}, orient="row")
            vectors = vectors.join(allowed, on=("user_id", "agent_id"), how="semi", maintain_order="left")
        # In one order, whatever their first occurrences: else two builds of one store could each wait for the other.
        rows = vectors.sort(TEXTS).with_columns(pl.lit(model).alias("model"))
        if options.re_embed:
            _merge(connection, rows, "replace_cached_embeddings")
            return
        try:
            with connection.transaction():
                copy_frame(connection, "memory.embedding_cache", rows, _CACHE_TYPES)
        except psycopg.errors.UniqueViolation:  # another build of these stores was faster
            _merge(connection, rows, "cache_embeddings")


def _merge(connection: psycopg.Connection[Any], rows: pl.DataFrame, how: str) -> None:
    connection.execute(
        'create temp table fresh_embedding (user_id text collate "C", agent_id text collate "C",'
        ' model text collate "C", content_hash bytea, embedding halfvec) on commit drop'
    )
    copy_frame(connection, "fresh_embedding", rows, _CACHE_TYPES)
    connection.execute(statement(how))
