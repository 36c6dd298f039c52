"""The files a run's steps hand to one another: private, registered, gone when the run ends.

A frame is a folder of Parquet *parts*; a part holds whole sessions of stores that share a hash, so that every step
works part by part in bounded memory, and a forget can delete just the files that hold its store. Message text lies
here while a build runs, so folders are 0700, and nothing is written under a name that a reader could half read.
"""

import json
import os
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

MOST_SHARDS = 16
_ROWS_PER_SHARD = 2_500
_COMPLETE = "_complete"


@dataclass(frozen=True, slots=True)
class Workspace:
    """One run's folder."""

    root: Path

    @classmethod
    def create(cls, parent: Path, name: str) -> "Workspace":
        """Make (or find again) the folder of one run, readable by its owner only."""
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        root = parent / name
        root.mkdir(mode=0o700, exist_ok=True)
        return cls(root)

    def remove(self) -> None:
        """Delete the folder and all it holds."""
        shutil.rmtree(self.root, ignore_errors=True)

    def clear(self) -> None:
        """Delete every frame, for a build that starts over."""
        for path in self.root.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def write(self, frame: str, part: str, rows: pl.DataFrame) -> None:
        """Store one part of a frame, whole or not at all."""
        folder = self.root / frame
        folder.mkdir(mode=0o700, exist_ok=True)
        draft = folder / f".{part}.draft"
        rows.write_parquet(draft, compression="uncompressed", statistics=False)
        os.replace(draft, folder / f"{part}.parquet")

    def read(self, frame: str, part: str, columns: list[str] | None = None) -> pl.DataFrame:
        """Return one part of a frame."""
        return pl.read_parquet(self.root / frame / f"{part}.parquet", columns=columns)

    def has_part(self, frame: str, part: str) -> bool:
        """Whether a part is (still) there: a forget may have deleted it."""
        return (self.root / frame / f"{part}.parquet").exists()

    def parts(self, frame: str) -> list[str]:
        """Return the names of a frame's parts, in order."""
        return sorted(path.stem for path in (self.root / frame).glob("*.parquet"))

    def read_all(self, frame: str, schema: pl.Schema, columns: list[str] | None = None) -> pl.DataFrame:
        """Return all parts of a frame in one; with ``columns``, only those. Meant for keys, not for texts."""
        wanted = pl.Schema({name: schema[name] for name in columns or schema})
        frames = [self.read(frame, part, list(wanted)) for part in self.parts(frame)]
        return pl.concat(frames) if frames else pl.DataFrame(schema=wanted)

    def finish(self, frame: str, facts: dict[str, Any] | None = None) -> None:
        """Say that a frame has all its parts, with what the step found (counts, never text)."""
        folder = self.root / frame
        folder.mkdir(mode=0o700, exist_ok=True)
        draft = folder / f".{_COMPLETE}.draft"
        draft.write_text(json.dumps(facts or {}))
        os.replace(draft, folder / _COMPLETE)

    def facts(self, frame: str) -> dict[str, Any] | None:
        """Return what ``finish`` was told, or None while the frame is not finished."""
        try:
            facts: dict[str, Any] = json.loads((self.root / frame / _COMPLETE).read_text())
        except FileNotFoundError:
            return None
        return facts


def split_by_store(frame: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    """Return the rows of each store hash apart, with the hash's number.

    A small frame is one part: every part costs each step some milliseconds, and a forget that deletes it leaves few
    other stores to the next build.
    """
    shards = min(MOST_SHARDS, max(1, frame.height // _ROWS_PER_SHARD))
    if shards == 1:
        yield 0, frame
        return
    stores = frame.select("user_id", "agent_id").unique()
    hashes = [zlib.crc32(f"{user}\x00{agent}".encode()) % shards for user, agent in stores.iter_rows()]
    sharded = frame.join(
        stores.with_columns(pl.Series("shard", hashes, dtype=pl.UInt8)),
        on=("user_id", "agent_id"),
        how="left",
        maintain_order="left",
    )
    for (shard,), rows in sharded.partition_by("shard", as_dict=True, include_key=False).items():
        yield int(shard), rows
