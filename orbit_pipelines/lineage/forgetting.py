"""What a forget does to the mirror: forgotten rows keep their ids and lose their hash; an account's rows go whole.

PostgreSQL first: whoever calls this has committed the same change to ``memory.change``, so that no mirroring brings a
hash back. Then every file that is there is rewritten, merged parts' pieces too, and whatever interrupted writings left
goes. A file is replaced at once, so that a forget that was stopped anywhere is simply done again.
"""

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from orbit_pipelines.errors import UnreadableFile
from orbit_pipelines.lineage.mirror import BATCH_ROWS, mirroring, write_forgets
from orbit_pipelines.lineage.parts import commit_part, remove_leftovers, rewrite_companion, seed_tables, stored_parts
from orbit_pipelines.lineage.tables import BUILDS, CHANGES, COMPANIONS, MirroredTable
from orbit_pipelines.lineage.views import write_views
from orbit_pipelines.model import CHAT_HISTORY, Store

RecordKey = tuple[str, str]
"""A record of another source than chat history: its ``source_key`` and ``source_id``."""

_KEYS = ("user_id", "agent_id", "source_key", "source_id", "content_hash")


@dataclass(frozen=True, slots=True)
class RewrittenMirror:
    """What was rewritten: rows that lost their hash or went, and the files they lay in."""

    rows: int = 0
    files: int = 0


def blank_hashes(
    connection: psycopg.Connection[Any],
    folder: Path,
    store: Store,
    sessions: Collection[str] = (),
    records: Collection[RecordKey] = (),
) -> RewrittenMirror:
    """Take the hashes of forgotten sessions' pairs and of forgotten records out of every file of the mirror.

    Brings the ``forgets`` view up to date too. Again it finds nothing and rewrites nothing. Waits for mirrorings.

    Args:
        connection: to the mirrored database, whose ``memory.change`` has lost these hashes already, committed.
        folder: the mirror's; nothing happens where there is none yet.
        store: whose.
        sessions: session ids, exact.
        records: records of other sources, such as those caught from a forgotten session.
    """

    def blank(rows: pl.DataFrame) -> pl.DataFrame:
        hash_ = pl.when(_is_of(store, sessions, records)).then(None).otherwise(pl.col("content_hash"))
        return rows.with_columns(hash_.alias("content_hash"))

    done = RewrittenMirror()
    with _whole_mirror(connection, folder) as is_there:
        if is_there:
            for path, rows in _hashes(folder, store, sessions, records):
                rewrite_companion(path, CHANGES, _rewritten(path, CHANGES, blank))
                done = RewrittenMirror(done.rows + rows, done.files + 1)
    return done


def find_hashes(
    folder: Path, store: Store, sessions: Collection[str] = (), records: Collection[RecordKey] = ()
) -> dict[Path, int]:
    """Return the mirror's files that still hold a hash of these sessions or records, with how many rows do.

    Looks into every file that is there, whether or not a view reads it.
    """
    return dict(_hashes(folder, store, sessions, records))


def remove_account(connection: psycopg.Connection[Any], folder: Path, user_id: str) -> RewrittenMirror:
    """Take an account's rows out of every file of the mirror, and its name out of the builds made for it.

    As ``blank_hashes``: after ``memory``'s own rows of the account have gone, committed.
    """

    def others(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.filter(pl.col("user_id") != user_id)

    def unnamed(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(_without_user(user_id))

    done = RewrittenMirror()
    with _whole_mirror(connection, folder) as is_there:
        for part in stored_parts(folder) if is_there else ():
            for table, path in part.files(folder):
                rows = _rows_of_account(path, table, user_id)
                if not rows:
                    continue
                if table is BUILDS:
                    commit_part(folder, part.part, part.rows, _rewritten(path, table, unnamed))
                else:
                    rewrite_companion(path, table, _rewritten(path, table, others))
                done = RewrittenMirror(done.rows + rows, done.files + 1)
    return done


def find_account(folder: Path, user_id: str) -> dict[Path, int]:
    """Return the mirror's files that name an account, with how many rows do."""
    found = {}
    for table in (BUILDS, *COMPANIONS):
        for path in _files(folder, table):
            if rows := _rows_of_account(path, table, user_id):
                found[path] = rows
    return found


def refresh_forgets(connection: psycopg.Connection[Any], folder: Path) -> None:
    """Have the ``forgets`` view say what is forgotten now, where there is a mirror."""
    with _whole_mirror(connection, folder):
        pass


@contextmanager
def _whole_mirror(connection: psycopg.Connection[Any], folder: Path) -> Iterator[bool]:
    """Hold the mirror, rid it of leftovers, and bring its views up to date afterwards; say whether there is one."""
    with mirroring(connection):
        is_there = folder.is_dir()
        if is_there:
            seed_tables(folder)
            remove_leftovers(folder, stored_parts(folder))
        yield is_there
        if is_there:
            write_forgets(connection, folder)
            write_views(folder)


def _hashes(
    folder: Path, store: Store, sessions: Collection[str], records: Collection[RecordKey]
) -> Iterator[tuple[Path, int]]:
    for path in _files(folder, CHANGES):
        # The statistics of its row groups spare most of a file that hardly knows the store.
        with _naming(path):
            found = pq.read_table(
                path,
                columns=list(_KEYS),
                filters=(pc.field("user_id") == store.user_id)
                & (pc.field("agent_id") == store.agent_id)
                & pc.field("content_hash").is_valid(),
                partitioning=None,
            )
        rows = pl.DataFrame(found).filter(_is_of(store, sessions, records)).height
        if rows:
            yield path, rows


def _is_of(store: Store, sessions: Collection[str], records: Collection[RecordKey]) -> pl.Expr:
    # A session id may hold anything, colons and line breaks too; the number is what follows the last colon.
    session = pl.col("source_id").str.extract(r"(?s)^(.*):[0-9]+$", 1)
    is_chat = pl.col("source_key") == CHAT_HISTORY
    of_record = [(pl.col("source_key") == source) & (pl.col("source_id") == record) for source, record in records]
    return (
        (pl.col("user_id") == store.user_id)
        & (pl.col("agent_id") == store.agent_id)
        & pl.any_horizontal(is_chat & session.is_in(list(sessions)), *of_record)
    ).fill_null(value=False)


def _without_user(user_id: str) -> pl.Expr:
    def unnamed(scope: str) -> str:
        people = json.loads(scope)
        return json.dumps({"users": [user for user in people["users"] if user != user_id]})

    is_named = _is_named(user_id)
    return (
        pl.when(is_named)
        .then(pl.when(is_named).then("scope").map_elements(unnamed, return_dtype=pl.String))
        .otherwise("scope")
        .alias("scope")
    )


def _is_named(user_id: str) -> pl.Expr:
    users = pl.col("scope").str.json_path_match("$.users").str.json_decode(pl.List(pl.String))
    return users.list.contains(user_id).fill_null(value=False)


def _rows_of_account(path: Path, table: MirroredTable, user_id: str) -> int:
    with _naming(path):
        if table is BUILDS:
            scopes = pl.DataFrame(pq.read_table(path, columns=["scope"], partitioning=None))
            return scopes.filter(_is_named(user_id)).height
        named = pq.read_table(path, columns=["user_id"], filters=pc.field("user_id") == user_id, partitioning=None)
        return int(named.num_rows)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except pa.ArrowInvalid as error:
        advice = "Move the folder of lineage away; the next build mirrors everything anew."
        raise UnreadableFile(path, error, advice) from error


def _files(folder: Path, table: MirroredTable) -> list[Path]:
    return sorted((folder / table.name).glob("month=*/part-*"))


def _rewritten(
    path: Path, table: MirroredTable, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_ROWS):
            yield from change(pl.DataFrame(batch)).to_arrow().cast(table.schema).to_batches()
