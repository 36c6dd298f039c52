"""The floor under a build: its very rows by binary COPY into equal tables, with their keys and indexes, and a commit.

No program that stores these rows durably in this way does it faster; what a build takes more is what reading, pairing,
cutting, embedding, comparing and proving cost.
"""

import time
from dataclasses import dataclass
from typing import Any

import polars as pl
import psycopg
from psycopg import sql

from orbit_pipelines.database.binary_copy import copy_frame

_BATCH_ROWS = 20_000

# Which rows of memory's tables a build wrote. The floor's own cache tells which vectors are new since the last step.
_WRITTEN = {
    "chunk": "build_id = %(build_id)s",
    "embedding_cache": (
        "not exists (select from floor.embedding_cache as known"
        " where (known.user_id, known.agent_id, known.model, known.content_hash)"
        " = (written.user_id, written.agent_id, written.model, written.content_hash))"
    ),
    "change": "build_id = %(build_id)s",
}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A column's type: as ``copy_frame`` calls it, as a frame holds it, and how SQL makes it that."""

    name: str
    dtype: pl.DataType
    selected: str = "{}"


_KINDS = {
    "text": _Kind("text", pl.String()),
    "text[]": _Kind("text[]", pl.List(pl.String())),
    "integer": _Kind("int4", pl.Int32()),
    "bigint": _Kind("int8", pl.Int64()),
    "boolean": _Kind("bool", pl.Boolean()),
    "bytea": _Kind("bytea", pl.Binary()),
    "jsonb": _Kind("jsonb", pl.String(), "{}::text"),
    "halfvec": _Kind("halfvec", pl.Binary(), "halfvec_send({})"),
    "timestamp with time zone": _Kind("timestamptz", pl.Datetime("us", "UTC")),
}


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows one build wrote to one table, in memory; ``types`` as ``copy_frame`` wants them."""

    table: str
    frame: pl.DataFrame
    types: dict[str, str]


def make_floor_tables(connection: psycopg.Connection[Any]) -> None:
    """Make empty tables like memory's, indexes included."""
    connection.execute("create schema floor")
    for table in _WRITTEN:
        connection.execute(f"create table floor.{table} (like memory.{table} including all)".encode())


def rows_of_build(connection: psycopg.Connection[Any], build_id: int) -> list[Rows]:
    """Read what a build wrote: its chunks, the vectors it put into the cache, its changes."""
    return [_read(connection, table, condition, build_id) for table, condition in _WRITTEN.items()]


def measure_floor(connection: psycopg.Connection[Any], rows: list[Rows]) -> float:
    """Return the seconds of copying the rows and committing; rows of the same keys are removed before, untimed."""
    chunks = next(each.frame for each in rows if each.table == "chunk")
    connection.execute(
        "delete from floor.chunk as stored using unnest(%s::text[], %s::text[]) as fresh (user_id, source_id)"
        " where (stored.user_id, stored.source_id) = (fresh.user_id, fresh.source_id)",
        [chunks["user_id"].to_list(), chunks["source_id"].to_list()],
    )
    settle(connection)
    start = time.perf_counter()
    with connection.transaction():
        for each in rows:
            copy_frame(connection, f"floor.{each.table}", each.frame, each.types)
    return time.perf_counter() - start


def settle(connection: psycopg.Connection[Any]) -> None:
    """Have the server write out now what is due from before, where the user may ask that, so that it isn't measured."""
    try:
        connection.execute("checkpoint")
    except psycopg.errors.InsufficientPrivilege:
        return


def _read(connection: psycopg.Connection[Any], table: str, condition: str, build_id: int) -> Rows:
    columns = connection.execute(
        "select attname, format_type(atttypid, null) from pg_attribute"
        " where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum",
        [f"memory.{table}"],
    ).fetchall()
    kinds = {name: _KINDS[type_name] for name, type_name in columns}
    schema = pl.Schema({name: kind.dtype for name, kind in kinds.items()})
    query = sql.SQL("select {} from memory.{} as written where {}").format(
        sql.SQL(", ").join(sql.SQL(kind.selected).format(sql.Identifier(name)) for name, kind in kinds.items()),
        sql.Identifier(table),
        sql.SQL(condition),
    )
    frames = [pl.DataFrame(schema=schema)]
    with connection.transaction(), connection.cursor(name="floor", binary=True) as cursor:
        cursor.execute(query, {"build_id": build_id})
        while rows := cursor.fetchmany(_BATCH_ROWS):
            frames.append(pl.DataFrame(rows, schema=schema, orient="row"))
    return Rows(table, pl.concat(frames), {name: kind.name for name, kind in kinds.items()})
