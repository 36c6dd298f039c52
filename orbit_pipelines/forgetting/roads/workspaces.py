"""Workspaces: the hand-over files of builds, by the keys in them, whoever left them."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from orbit_pipelines.forgetting.roads.files import as_bytes, is_held
from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, spellings

_OF_TEXT = ("messages", "records", "pairs", "chunks", "vectors")


def look_at_workspaces(sight: Sight) -> Look:
    """Look for rows of the selection in the frames that hold texts or vectors.

    A build that began after the tombstones reads the originals and drops them itself; what it holds isn't counted.
    """
    found: list[str] = []
    unreadable: list[str] = []
    looked_at = 0
    needles = as_bytes(spellings(sight.traces.needles))
    for folder in _folders(sight):
        for path in sorted(folder.glob("*/*")):
            if path.parent.name not in _OF_TEXT or not path.is_file() or path.name.startswith("_"):
                continue
            name = str(path.relative_to(sight.settings.workspaces))
            try:
                rows = pl.read_parquet(path, hive_partitioning=False)
            except FileNotFoundError:
                continue
            except (pl.exceptions.PolarsError, OSError):
                # Damaged, or never finished: a text may be seen in its bytes all the same.
                (found if is_held(path, needles) else unreadable).append(name)
                continue
            looked_at += rows.height
            found += [name] * _selected(sight, rows)
    return look(found, looked_at, f"could not be read: {', '.join(unreadable)}" if unreadable else None)


def _folders(sight: Sight) -> Iterator[Path]:
    parent = sight.settings.workspaces
    for folder in sorted(parent.iterdir()) if parent.is_dir() else ():
        began_later = sight.connection.execute(
            "select from memory.build as build"
            " where build.workspace = %(folder)s and build.status = 'running'"
            "   and build.started_at"
            "       > greatest((select max(forgotten_at) from memory.tombstone where user_id = %(user_id)s),"
            "                  (select max(forgotten_at) from memory.forgotten_record where user_id = %(user_id)s))",
            {"folder": str(folder), "user_id": sight.selection.user_id},
        ).rowcount
        if folder.is_dir() and not began_later:
            yield folder


def _selected(sight: Sight, rows: pl.DataFrame) -> int:
    if not {"user_id", "agent_id"} <= set(rows.columns):
        return 0
    held = rows.filter(pl.col("user_id") == sight.selection.user_id)
    if "content_hash" in rows.columns and "source_id" not in rows.columns:
        return held.filter(pl.col("content_hash").is_in(list(sight.traces.hashes))).height
    keys = [
        pl.col(name) if name in rows.columns else pl.lit(None, pl.String).alias(name)
        for name in ("agent_id", "session_id", "source_key", "source_id")
    ]
    return sum(sight.is_selected(*key) for key in held.select(keys).iter_rows())
