"""The mirror's files: how they are named, which of them count, and how one is written.

    builds/empty.parquet                          no rows: gives the columns where nothing is mirrored yet
    builds/month=2026-11/part-000007.parquet      what the seventh writing mirrored
    changes/month=2026-11/part-000007.parquet     the changes of those builds
    builds/month=2026-11/part-000001-000006.parquet   six writings merged
    forgets/all.parquet                           what was forgotten, as it is now: written anew when that changed

There is no ledger beside the files: a part counts when its ``builds`` file is there and names no companion that is
missing. That file is written last, so its rename is the commit of its part: whatever a crash leaves behind does not
count. A part that lies within a merged one no longer counts either; it stays for a while, for readers that began
before the merge. Parts are numbered by writing, not by build, because builds end in another order than they begin.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orbit_pipelines.lineage.tables import BUILDS, COMPANIONS, FORGETS, TABLES, MirroredTable

ROW_GROUP = 50_000
"""About how many rows are held in memory at a time, and lie together in a file."""

_ROWS = b"orbit_pipelines.rows"
_NAME = re.compile(r"part-(\d+)(?:-(\d+))?\.parquet")


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """The files of one writing, or of several that were merged: one a table that has rows."""

    month: str
    first: int
    last: int

    @property
    def file_name(self) -> str:
        """The name its files have in every table's folder."""
        return (
            f"part-{self.first:06}.parquet"
            if self.first == self.last
            else f"part-{self.first:06}-{self.last:06}.parquet"
        )

    def path(self, folder: Path, table: MirroredTable) -> Path:
        """Return where the part's file of one table lies."""
        return folder / table.name / f"month={self.month}" / self.file_name

    def lies_within(self, other: "Part") -> bool:
        """Whether the other part holds everything this one does, and more."""
        return self != other and self.month == other.month and other.first <= self.first and self.last <= other.last


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part that was written to its end, with its rows a table."""

    part: Part
    rows: dict[str, int]

    @property
    def size(self) -> int:
        """Its rows in all tables together."""
        return sum(self.rows.values())

    def files(self, folder: Path) -> list[tuple[MirroredTable, Path]]:
        """Return the files it has: a table without rows has none."""
        return [(table, self.part.path(folder, table)) for table in TABLES if self.rows.get(table.name)]


def name_part(path: Path) -> Part | None:
    """Return the part a file's path names, None where it is no part's."""
    name = _NAME.fullmatch(path.name)
    if name is None or not path.parent.name.startswith("month="):
        return None
    return Part(path.parent.name.removeprefix("month="), int(name[1]), int(name[2] or name[1]))


def stored_parts(folder: Path) -> list[StoredPart]:
    """Return the parts that were written to their end, superseded ones too, in order of month and writing."""
    stored = []
    for path in (folder / BUILDS.name).glob("month=*/part-*.parquet"):
        part = name_part(path)
        rows = _rows_of(path)
        if part is None or rows is None:
            continue
        if all(part.path(folder, table).exists() for table in COMPANIONS if rows.get(table.name)):
            stored.append(StoredPart(part, rows))
    return sorted(stored, key=lambda each: each.part)


def _rows_of(path: Path) -> dict[str, int] | None:
    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowInvalid, FileNotFoundError):
        return None
    rows = (metadata.metadata or {}).get(_ROWS)
    return None if rows is None else json.loads(rows)


def live_parts(stored: Iterable[StoredPart]) -> list[StoredPart]:
    """Return the parts that count: those that lie within no other. Together they hold every row once."""
    parts = list(stored)
    return [each for each in parts if not any(each.part.lies_within(other.part) for other in parts)]


def next_number(folder: Path) -> int:
    """Return the number of the next writing: higher than any that was ever begun and left a file."""
    parts = (name_part(path) for table in TABLES for path in (folder / table.name).glob("month=*/part-*.parquet"))
    return max((part.last for part in parts if part is not None), default=0) + 1


def remove_leftovers(folder: Path, stored: Iterable[StoredPart]) -> int:
    """Remove what interrupted writings left, and return how many files that were."""
    known = {path for each in stored for _, path in each.files(folder)}
    files = [path for table in TABLES for path in (folder / table.name).glob("month=*/part-*") if path not in known]
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path; what was written there takes the place of ``path`` at once, and outlives a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_companion(folder: Path, table: MirroredTable, part: Part, batches: Iterable[pa.RecordBatch]) -> int:
    """Write a part's file of a companion table, unless it has no rows; return how many it has."""
    remaining = iter(batches)
    first = next(remaining, None)
    if first is None:
        return 0
    return _write(part.path(folder, table), table.schema, chain([first], remaining))


def rewrite_companion(path: Path, table: MirroredTable, batches: Iterable[pa.RecordBatch]) -> None:
    """Put other rows in the place of a stored companion's; it stays a file even when none is left."""
    _write(path, table.schema, batches)


def commit_part(folder: Path, part: Part, rows: dict[str, int], builds: Iterable[pa.RecordBatch]) -> StoredPart:
    """Write a part's ``builds`` file, which makes the part count; its companions must lie on the disk already."""
    counts = dict(rows)
    path = part.path(folder, BUILDS)
    with replacing(path) as temporary, pq.ParquetWriter(temporary, BUILDS.schema, compression="zstd") as writer:
        counts[BUILDS.name] = _write_batches(writer, builds)
        writer.add_key_value_metadata({_ROWS: json.dumps(counts)})
    return StoredPart(part, counts)


def _write(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    with replacing(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        return _write_batches(writer, batches)


def _write_batches(writer: pq.ParquetWriter, batches: Iterable[pa.RecordBatch]) -> int:
    rows = 0
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= ROW_GROUP:
            rows += _write_group(writer, waiting)
            waiting = []
    return rows + _write_group(writer, waiting)


def _write_group(writer: pq.ParquetWriter, batches: list[pa.RecordBatch]) -> int:
    # Merging many small builds must not keep their row groups: a reader pays for each.
    if batches:
        writer.write_table(pa.Table.from_batches(batches))
    return sum(batch.num_rows for batch in batches)


def seed_tables(folder: Path) -> None:
    """Write the empty files that give each table its columns, where they are missing or of an older shape."""
    for table in (*TABLES, FORGETS):
        path = folder / table.name / "empty.parquet"
        if not path.exists() or not pq.read_schema(path).equals(table.schema):
            with replacing(path) as temporary:
                pq.write_table(table.schema.empty_table(), temporary)
