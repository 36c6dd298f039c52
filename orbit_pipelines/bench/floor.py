"""The floor under a build: its very rows by binary COPY into equal tables, with their keys and indexes, and a commit.

No program that stores these rows durably does it faster in this way; what a build takes more is what reading,
pairing, cutting, embedding, comparing and proving cost.
"""

import time
from dataclasses import dataclass
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.database.binary_copy import copy_frame

_TABLES = ("chunk", "embedding_cache", "change")
_TYPE_NAMES = {
    "text": "text",
    "integer": "int4",
    "bigint": "int8",
    "boolean": "bool",
    "bytea": "bytea",
    "halfvec": "halfvec",
    "jsonb": "jsonb",
    "text[]": "text[]",
    "timestamp with time zone": "timestamptz",
}
_READ_AS = {"halfvec": "halfvec_send({})", "jsonb": "{}::text"}
_POLARS = {
    "text": pl.String(),
    "int4": pl.Int32(),
    "int8": pl.Int64(),
    "bool": pl.Boolean(),
    "bytea": pl.Binary(),
    "halfvec": pl.Binary(),
    "jsonb": pl.String(),
    "text[]": pl.List(pl.String()),
    "timestamptz": pl.Datetime("us", "UTC"),
}


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows one build wrote to one table, in memory."""

    table: str
    frame: pl.DataFrame
    types: dict[str, str]


def make_floor_tables(connection: psycopg.Connection[Any]) -> None:
    """Make empty tables like memory's, indexes included."""
    connection.execute("create schema floor")
    for table in _TABLES:
        connection.execute(f"create table floor.{table} (like memory.{table} including all)".encode())


def rows_of_build(connection: psycopg.Connection[Any], build_id: int) -> list[Rows]:
    """Read what a build wrote: its chunks, the cache rows of their texts, its changes."""
    written = f"select * from memory.chunk where build_id = {build_id:d}"
    cached = (
        "select c.* from memory.embedding_cache as c"
        f" where c.used_at >= (select started_at from memory.build where build_id = {build_id:d})"
        "   and exists (select from memory.chunk as k where (k.user_id, k.agent_id, k.content_hash)"
        "                                               = (c.user_id, c.agent_id, c.content_hash))"
    )
    changed = f"select * from memory.change where build_id = {build_id:d}"
    queries = dict(zip(_TABLES, (written, cached, changed), strict=True))
    return [_read(connection, table, query) for table, query in queries.items()]


def _read(connection: psycopg.Connection[Any], table: str, query: str) -> Rows:
    columns = connection.execute(
        "select attname, format_type(atttypid, null) from pg_attribute"
        " where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum",
        [f"memory.{table}"],
    ).fetchall()
    types = {name: _TYPE_NAMES[kind] for name, kind in columns}
    selected = ", ".join(_READ_AS.get(kind, "{}").format(name) for name, kind in types.items())
    schema = pl.Schema({name: _POLARS[kind] for name, kind in types.items()})
    frames = [pl.DataFrame(schema=schema)]
    with connection.transaction(), connection.cursor(name="floor", binary=True) as cursor:
        cursor.execute(f"select {selected} from ({query}) as rows".encode())
        while rows := cursor.fetchmany(20_000):
            frames.append(pl.DataFrame(rows, schema=schema, orient="row"))
    return Rows(table, pl.concat(frames), types)


def measure_floor(connection: psycopg.Connection[Any], rows: list[Rows]) -> float:
    """Return the seconds of copying the rows and committing; rows of equal keys are removed before, untimed."""
    chunks = next(each for each in rows if each.table == "chunk").frame
    connection.execute(
        "delete from floor.chunk as c using unnest(%s::text[], %s::text[]) as n (user_id, source_id)"
        " where (c.user_id, c.source_id) = (n.user_id, n.source_id)",
        [chunks["user_id"].to_list(), chunks["source_id"].to_list()],
    )
    connection.execute("checkpoint")
    start = time.perf_counter()
    with connection.transaction():
        for each in rows:
            copy_frame(connection, f"floor.{each.table}", each.frame, each.types)
    return time.perf_counter() - start
