"""The lineage mirror: every Parquet file that is there, read by a view or not, and what the views show of them."""

from pathlib import Path

import duckdb
import polars as pl

from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, spellings, texts_with
from orbit_pipelines.lineage.views import FILE_NAME

_KEYS = ("agent_id", "source_key", "source_id")


def look_at_mirror(sight: Sight) -> Look:
    """Look for hashes of the selection's rows, and for its texts in any column."""
    folder = sight.settings.lineage
    needles = spellings(sight.traces.needles)
    found: list[str] = []
    looked_at = 0
    for path in sorted(folder.rglob("*.parquet*")) if folder.is_dir() else ():
        try:
            rows = pl.read_parquet(path, hive_partitioning=False)
        except FileNotFoundError:  # merged away meanwhile
            continue
        except pl.exceptions.ComputeError:
            # What an interrupted writing left, or no Parquet: its bytes are looked at as any other file's.
            continue
        looked_at += rows.height
        name = str(path.relative_to(folder))
        found += [name] * _with_hash(sight, rows) + [name] * _with_text(rows, needles)
    views = folder / FILE_NAME
    if views.exists():
        found += ["view changes"] * _in_view(sight, views)
    return look(found, looked_at)


def _with_hash(sight: Sight, rows: pl.DataFrame) -> int:
    if not {"user_id", "content_hash", *_KEYS} <= set(rows.columns):
        return 0
    held = rows.filter((pl.col("user_id") == sight.selection.user_id) & pl.col("content_hash").is_not_null())
    return sum(sight.is_selected(agent, None, source, key) for agent, source, key in held.select(_KEYS).iter_rows())


def _with_text(rows: pl.DataFrame, needles: list[str]) -> int:
    texts = [texts_with(rows[name], needles) for name, dtype in rows.schema.items() if dtype == pl.String]
    return sum(int(each.sum()) for each in texts)


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
