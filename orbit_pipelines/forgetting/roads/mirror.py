"""The lineage mirror: every Parquet file that is there, read by a view or not, and what the views show of them."""

from pathlib import Path

import duckdb
import polars as pl

from orbit_pipelines.forgetting.physical.needles import swap_halves
from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, spellings, texts_with
from orbit_pipelines.lineage.views import FILE_NAME

_KEYS = ("agent_id", "source_key", "source_id")


def look_at_mirror(sight: Sight) -> Look:
    """Look for hashes of the selection's rows, and for its texts in any column."""
    folder = sight.settings.lineage
    needles = spellings(sight.traces.needles)
    found: list[str] = []
    unreadable: list[str] = []
    looked_at = 0
    for path in sorted(folder.rglob("*.parquet*")) if folder.is_dir() else ():
        name = str(path.relative_to(folder))
        try:
            rows = pl.read_parquet(path, hive_partitioning=False)
        except FileNotFoundError:  # merged away meanwhile
            continue
        except (pl.exceptions.PolarsError, OSError):
            # What an interrupted writing left, or no Parquet: texts in its bytes are looked for as in any other file.
            unreadable.append(name)
            continue
        looked_at += rows.height
        found += [name] * (_with_hash(sight, rows) + _with_text(rows, needles) + _with_stray(sight, rows))
    views = folder / FILE_NAME
    if views.exists():
        found += ["view changes"] * _in_view(sight, views)
    return look(found, looked_at, f"could not be read: {', '.join(unreadable)}" if unreadable else None)


def _with_hash(sight: Sight, rows: pl.DataFrame) -> int:
    if not {"user_id", "content_hash", *_KEYS} <= set(rows.columns):
        return 0
    held = rows.filter((pl.col("user_id") == sight.selection.user_id) & pl.col("content_hash").is_not_null())
    return sum(sight.is_selected(agent, None, source, key) for agent, source, key in held.select(_KEYS).iter_rows())


def _with_text(rows: pl.DataFrame, needles: list[str]) -> int:
    texts = [texts_with(rows[name], needles) for name, dtype in rows.schema.items() if dtype == pl.String]
    return sum(int(each.sum()) for each in texts)


def _with_stray(sight: Sight, rows: pl.DataFrame) -> int:
    """Count what holds a forgotten hash or vector under another key, or in a column that isn't for it.

    The mirror repeats what lineage in PostgreSQL tells: a hash that a build has there is explained.
    """
    if not sight.traces.hashes:
        return 0
    hashes = [each.hex() for each in sight.traces.hashes]
    raw = [*sight.traces.hashes, *sight.traces.vectors, *map(swap_halves, sight.traces.vectors)]
    found = 0
    for name, dtype in rows.schema.items():
        if dtype == pl.Binary:
            found += rows.filter(pl.any_horizontal(pl.col(name).bin.contains(each) for each in raw)).height
        elif dtype == pl.String and name != "content_hash":
            found += int(texts_with(rows[name], hashes).sum())
    if {"build_id", "user_id", "chunk_index", "content_hash", *_KEYS} <= set(rows.columns):
        held = rows.filter(pl.col("content_hash").is_in(hashes) & (pl.col("user_id") == sight.selection.user_id))
        for build_id, chunk_index, content_hash, *key in held.select(
            "build_id", "chunk_index", "content_hash", *_KEYS
        ).iter_rows():
            agent_id, source_key, source_id = key
            if not sight.is_selected(agent_id, None, source_key, source_id):
                found += not _is_told(sight, build_id, chunk_index, content_hash)
    return found


def _is_told(sight: Sight, build_id: int, chunk_index: int, content_hash: str) -> bool:
    # Not by its key, for sessions move.
    told = sight.connection.execute(
        "select from memory.change where (build_id, chunk_index, content_hash) = (%s, %s, %s) limit 1",
        [build_id, chunk_index, bytes.fromhex(content_hash)],
    )
    return bool(told.rowcount)


def _in_view(sight: Sight, views: Path) -> int:
    try:
        with duckdb.connect(views, read_only=True) as database:
            rows = database.execute(
                "select agent_id, source_key, source_id from changes where user_id = ? and content_hash is not null",
                [sight.selection.user_id],
            ).fetchall()
    except duckdb.Error:  # opened for writing by somebody, or of an older program; its files were read above
        return 0
    return sum(sight.is_selected(agent, None, source, key) for agent, source, key in rows)
