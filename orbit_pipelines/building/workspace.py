"""The files a run's steps hand to one another: private, registered, gone when the run ends.

A frame is a folder of Parquet *parts*; a part holds whole sessions of stores that share a hash, so that every step
works part by part in bounded memory, and a forget touches just the files that hold its store. Message text lies
here while a build runs, so folders are 0700, and nothing is written under a name that a reader could half read.

A forget replaces each file that holds one of its stores by one without that store's rows, and leaves a marker by which
what the build writes later leaves them out too. The publish leaves marked people to the next build.
"""

import fcntl
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from orbit_pipelines.errors import UnreadableFile
from orbit_pipelines.model import Store

MOST_SHARDS = 16
_ROWS_PER_SHARD = 2_500
_COMPLETE = "_complete"
_FORGOTTEN = ".forgotten"
_LOCK = ".lock"
_MOST_KEPT = 32
_KEPT_BYTES = 1 << 18
_OF_KEYS = frozenset({"extent", "sources", "stores", "quarantined"})
"""Frames that hold keys only; every other may hold texts or vectors."""

_Mark = tuple[int, int, int]
"""Inode, time of change and size: no two files of one name share them."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """One run's folder.

    ``_written``: small parts as this object wrote them, each with its file's mark: reading a file back costs a small
    build more than what is done with its rows. A file that a forget replaced is read again.
    """

    root: Path
    _written: dict[Path, tuple[_Mark, pl.DataFrame]] = field(default_factory=dict, compare=False, repr=False)

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
        """Delete every frame, for a build that starts over from an extraction that sees what was forgotten."""
        self._written.clear()
        with self._held():
            for path in self.root.iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name != _LOCK:
                    path.unlink()

    def write(self, frame: str, part: str, rows: pl.DataFrame) -> None:
        """Store one part of a frame, whole or not at all; without the stores that were forgotten from meanwhile.

        Where a frame holds keys only, a part without rows is none.
        """
        folder = self.root / frame
        draft, path = folder / f".{part}.draft", folder / f"{part}.parquet"
        if rows.is_empty() and frame in _OF_KEYS:
            path.unlink(missing_ok=True)
            return
        folder.mkdir(mode=0o700, exist_ok=True)
        left_out = frozenset() if frame in _OF_KEYS else self.forgotten_stores()
        while True:
            kept = _without(rows, left_out)
            try:
                _write(kept, draft)
                mark = _mark_of(draft)
                os.replace(draft, path)
            except FileNotFoundError:
                # A forget removes drafts, because it can't read them.
                if not folder.is_dir():
                    raise
            else:
                if frame in _OF_KEYS or left_out == (left_out := self.forgotten_stores()):
                    self._keep(path, mark, kept)
                    return

    def read(self, frame: str, part: str, columns: list[str] | None = None) -> pl.DataFrame:
        """Return one part of a frame."""
        path = self.root / frame / f"{part}.parquet"
        mark, rows = self._written.get(path, (None, None))
        if rows is not None and _mark_of(path) == mark:
            return rows if columns is None else rows.select(columns)
        return _read(path, columns)

    def _keep(self, path: Path, mark: _Mark, rows: pl.DataFrame) -> None:
        self._written.pop(path, None)
        if rows.estimated_size() <= _KEPT_BYTES:
            self._written[path] = mark, rows
            if len(self._written) > _MOST_KEPT:
                del self._written[next(iter(self._written))]

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

    def forgotten_stores(self) -> frozenset[Store]:
        """Return the stores that a forget took out of this workspace: what is left of their people is not whole."""
        markers = (self.root / _FORGOTTEN).glob("*.json")
        return frozenset(Store(**json.loads(marker.read_text())) for marker in markers)

    def parts_with(self, stores: frozenset[Store], *, with_unreadable: bool = False) -> list[str]:
        """Return the files that hold texts or vectors of some stores, as ``frame/part``; drafts can't be told.

        Raises:
            UnreadableFile: unless ``with_unreadable`` counts such a file as one that holds them.
        """
        held = []
        for path in self._files_with_text():
            with suppress(FileNotFoundError):
                try:
                    is_held = _holds(path, stores)
                except UnreadableFile:
                    if not with_unreadable:
                        raise
                    is_held = True
                if is_held:
                    held.append(f"{path.parent.name}/{path.stem}")
        return held

    def forget(self, stores: frozenset[Store]) -> list[str]:
        """Take some stores out of every file, and out of what will be written yet; return the files that held them.

        Harmless for a folder that vanishes meanwhile: its run has ended.

        Raises:
            UnreadableFile: what a file holds can't be told.
        """
        replaced = []
        with suppress(FileNotFoundError), self._held():
            for store in sorted(stores):
                self._mark(store)
            for draft in self.root.glob("*/.*.draft"):
                if draft.parent.name not in _OF_KEYS and draft.stem != f".{_COMPLETE}":
                    draft.unlink(missing_ok=True)
            for path in self._files_with_text():
                if _holds(path, stores):
                    fresh = path.with_suffix(".without")
                    _write(_without(_read(path), stores), fresh)
                    os.replace(fresh, path)
                    replaced.append(f"{path.parent.name}/{path.stem}")
        return replaced

    def _mark(self, store: Store) -> None:
        folder = self.root / _FORGOTTEN
        folder.mkdir(mode=0o700, exist_ok=True)
        name = hashlib.sha256(f"{store.user_id}\0{store.agent_id}".encode()).hexdigest()[:32]
        fresh = folder / f"{name}.new"
        fresh.write_text(json.dumps({"user_id": store.user_id, "agent_id": store.agent_id}))
        os.replace(fresh, folder / f"{name}.json")

    def _files_with_text(self) -> list[Path]:
        return sorted(path for path in self.root.glob("*/*.parquet") if path.parent.name not in _OF_KEYS)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keep a forget and a build that starts over from working on the folder at once."""
        descriptor = os.open(self.root / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

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


def _write(rows: pl.DataFrame, path: Path) -> None:
    # The streaming engine, which write_parquet() takes, costs a small frame three times as much.
    rows.lazy().sink_parquet(path, compression="uncompressed", statistics=False, engine="in-memory")


def _read(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    """Read a file that a build or a forget may replace just then: again, where it is another one than it was before."""
    while True:
        mark = _mark_of(path)
        try:
            return pl.read_parquet(path, columns=columns)
        except pl.exceptions.PolarsError:
            if _mark_of(path) == mark:
                raise


def _mark_of(path: Path) -> _Mark:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _holds(path: Path, stores: frozenset[Store]) -> bool:
    try:
        held = _read(path, ["user_id", "agent_id"]).unique().iter_rows()
    except pl.exceptions.PolarsError as error:
        advice = "Remove its folder when no build works there; what a dead build left, the next build removes."
        raise UnreadableFile(path, error, advice) from error
    return any(Store(*key) in stores for key in held)


def _without(rows: pl.DataFrame, stores: frozenset[Store]) -> pl.DataFrame:
    if not stores:
        return rows
    keys = [(store.user_id, store.agent_id) for store in stores]
    gone = pl.DataFrame(keys, schema={"user_id": pl.String, "agent_id": pl.String}, orient="row")
    return rows.join(gone, on=("user_id", "agent_id"), how="anti", maintain_order="left")
