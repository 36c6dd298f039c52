"""The mirror of lineage to Parquet: every finished build, once, whatever crashed in between.

The truth stays in PostgreSQL. Which builds are mirrored is what the files say (see ``parts``), so that a mirroring that
was stopped anywhere is simply done again by the next one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg.rows import tuple_row
from pyarrow import csv

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import InstallationMismatch
from orbit_pipelines.lineage.parts import (
    Part,
    StoredPart,
    commit_part,
    live_parts,
    next_number,
    remove_leftovers,
    rewrite_companion,
    seed_tables,
    stored_parts,
    write_companion,
)
from orbit_pipelines.lineage.tables import BUILDS, COMPANIONS, FORGETS, MirroredTable
from orbit_pipelines.lineage.views import forgets_file, write_views

BATCH_ROWS = 20_000
MERGE_AT = 16
"""How many parts a month may have before small ones are merged."""
KEEP_SUPERSEDED = timedelta(days=1)
"""How long a merged part's pieces stay, for readers that opened the mirror before."""


@dataclass(frozen=True, slots=True)
class FinishedBuild:
    """A build that will not change any more; ``month`` is the one it ended in, in UTC."""

    build_id: int
    started_at: datetime
    month: str
    is_published: bool


@dataclass(frozen=True, slots=True)
class MirrorResult:
    """What a mirroring added to the folder: its builds, and the rows a table."""

    folder: Path
    views: Path
    builds: int
    rows: dict[str, int] = field(default_factory=dict)
    merged_parts: int = 0


def mirror_lineage(
    connection: psycopg.Connection[Any], folder: Path, *, keep_superseded: timedelta = KEEP_SUPERSEDED
) -> MirrorResult:
    """Bring the mirror in ``folder`` up to the finished builds of the database, and its views with it.

    Nothing to mirror changes no file. Mirrorings of one database wait for each other.

    Raises:
        InstallationMismatch: the folder mirrors another database.
    """
    folder = folder.absolute()
    with mirroring(connection):
        seed_tables(folder)
        stored = stored_parts(folder)
        remove_leftovers(folder, stored)
        pending = _pending(connection, folder, live_parts(stored))
        rows: Counter[str] = Counter()
        for month in sorted({build.month for build in pending}):
            part = _write_builds(connection, folder, month, [build for build in pending if build.month == month])
            stored.append(part)
            rows.update(part.rows)
        merged = 0
        for group in parts_to_merge(live_parts(stored)):
            stored.append(_merge(folder, group))
            merged += len(group)
        write_forgets(connection, folder)
        views = write_views(folder, live_parts(stored))
        _remove_superseded(folder, stored, older_than=datetime.now(UTC) - keep_superseded)
    return MirrorResult(folder, views, len(pending), dict(rows), merged)


@contextmanager
def mirroring(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Hold the mirror of a database, for the length of a transaction: nobody else writes its files meanwhile."""
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(hashtextextended('memory.lineage_mirror', 0))")
        yield


def write_forgets(connection: psycopg.Connection[Any], folder: Path) -> bool:
    """Bring the mirror's list of forgotten sessions up to date, and return whether it differed."""
    batches = list(_read_batches(connection, FORGETS, []))
    now = pa.Table.from_batches(batches, FORGETS.schema)
    path = forgets_file(folder)
    if path.exists() and pq.read_table(path, partitioning=None).equals(now):
        return False
    rewrite_companion(path, FORGETS, batches)
    return True


def _pending(connection: psycopg.Connection[Any], folder: Path, live: Iterable[StoredPart]) -> list[FinishedBuild]:
    mirrored: dict[int, datetime] = {}
    for part in live:
        columns = pq.read_table(part.part.path(folder, BUILDS), columns=["build_id", "started_at"])
        mirrored.update(zip(columns["build_id"].to_pylist(), columns["started_at"].to_pylist(), strict=True))
    with connection.cursor(row_factory=tuple_row) as cursor:
        finished = [FinishedBuild(*row) for row in cursor.execute(statement("list_finished_builds"))]
    for build in finished:
        if mirrored.get(build.build_id, build.started_at) != build.started_at:
            raise InstallationMismatch(
                f"The lineage in {folder} is of another database: its build {build.build_id} started at "
                f"{mirrored[build.build_id]:%Y-%m-%d %H:%M:%S}, the one of this database at "
                f"{build.started_at:%Y-%m-%d %H:%M:%S}. Move that folder away; the next build mirrors everything anew."
            )
    return [build for build in finished if build.build_id not in mirrored]


def _write_builds(
    connection: psycopg.Connection[Any], folder: Path, month: str, builds: list[FinishedBuild]
) -> StoredPart:
    number = next_number(folder)
    part = Part(month, number, number)
    published = [build.build_id for build in builds if build.is_published]
    rows = {
        table.name: write_companion(folder, table, part, _read_batches(connection, table, published))
        for table in COMPANIONS
        if published
    }
    every = [build.build_id for build in builds]
    return commit_part(folder, part, rows, _read_batches(connection, BUILDS, every))


def _read_batches(
    connection: psycopg.Connection[Any], table: MirroredTable, build_ids: list[int]
) -> Iterator[pa.RecordBatch]:
    # COPY is read as it comes, so that a build that touched a million chunks passes through in bounded memory.
    types = csv.ConvertOptions(column_types=table.schema, strings_can_be_null=True, quoted_strings_can_be_null=False)
    layout = csv.ReadOptions(column_names=table.schema.names, use_threads=False, block_size=1 << 25)
    quoting = csv.ParseOptions(newlines_in_values=True)
    copy_out = b"copy (" + statement(table.reader) + b") to stdout (format csv)"
    with connection.cursor() as cursor, cursor.copy(copy_out, {"builds": build_ids}) as copy:
        rows = iter(copy)
        while batch := list(islice(rows, BATCH_ROWS)):
            text = pa.BufferReader(b"".join(batch))
            yield from csv.read_csv(text, layout, quoting, types).to_batches()


def parts_to_merge(live: Iterable[StoredPart]) -> list[list[StoredPart]]:
    """Return the groups of parts to merge: a month that is over into one, the newest small ones of a full month.

    In the month that is being written an old part joins only when the newer ones together have half its rows, so that
    a row is rewritten a few times a month, not at each build.
    """
    months: dict[str, list[StoredPart]] = {}
    for part in sorted(live, key=lambda each: each.part):
        months.setdefault(part.part.month, []).append(part)
    groups = []
    for month, parts in months.items():
        if month != max(months):
            groups.append(parts)
        elif len(parts) >= MERGE_AT:
            groups.append(_small_tail(parts))
    return [group for group in groups if len(group) > 1]


def _small_tail(parts: list[StoredPart]) -> list[StoredPart]:
    tail = [parts[-1]]
    for part in reversed(parts[:-1]):
        if part.size > 2 * sum(each.size for each in tail):
            break
        tail.insert(0, part)
    return tail


def _merge(folder: Path, group: list[StoredPart]) -> StoredPart:
    part = Part(group[0].part.month, group[0].part.first, group[-1].part.last)
    rows = {
        table.name: write_companion(folder, table, part, _stored_batches(folder, table, group)) for table in COMPANIONS
    }
    return commit_part(folder, part, rows, _stored_batches(folder, BUILDS, group))


def _stored_batches(folder: Path, table: MirroredTable, parts: Iterable[StoredPart]) -> Iterator[pa.RecordBatch]:
    for part in parts:
        if part.rows.get(table.name):
            with pq.ParquetFile(part.part.path(folder, table)) as file:
                yield from file.iter_batches(BATCH_ROWS)


def _remove_superseded(folder: Path, stored: list[StoredPart], older_than: datetime) -> None:
    for part in stored:
        covers = [other.part.path(folder, BUILDS) for other in stored if part.part.lies_within(other.part)]
        if any(datetime.fromtimestamp(cover.stat().st_mtime, UTC) <= older_than for cover in covers):
            for _, path in part.files(folder):
                path.unlink(missing_ok=True)
