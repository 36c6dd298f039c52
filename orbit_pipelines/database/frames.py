"""Query results as frames, in batches of bounded size."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.database.wire_arrays import WireArray, as_array

_FETCHED_AT_ONCE = 2_000
"""Rows that are held three times for a moment: as the server sent them, as Python's objects, and in a frame."""


def read_frame(
    connection: psycopg.Connection[Any], query: bytes, parameters: Mapping[str, Any], schema: pl.Schema
) -> pl.DataFrame:
    """Return all rows of a query; its columns stand in the order of ``schema``, lists as JSON in a text.

    Polars makes a series of each list it is given, which takes twenty times as long as decoding it.
    """
    with connection.cursor(binary=True) as cursor:
        rows = cursor.execute(query, parameters).fetchall()
    lists = [name for name, dtype in schema.items() if isinstance(dtype, pl.List)]
    frame = pl.DataFrame(rows, schema={**schema, **dict.fromkeys(lists, pl.String())}, orient="row")
    return frame.with_columns(pl.col(name).str.json_decode(schema[name]) for name in lists) if lists else frame


def arrays(frame: pl.DataFrame, prefix: str = "") -> dict[str, list[Any] | WireArray]:
    """Return the columns of a frame as parallel arrays, for statements that unnest them.

    The planner knows how many rows come, which it doesn't of a temporary table. Memory is Python's: see ``slices``.
    """
    return {f"{prefix}{name}": as_array(column) for name, column in frame.to_dict().items()}


def slices(frame: pl.DataFrame, rows: int = 20_000) -> Iterator[dict[str, list[Any] | WireArray]]:
    """Yield ``arrays`` of so many rows at a time; none for an empty frame."""
    for part in frame.iter_slices(rows):
        if part.height:
            yield arrays(part)


def read_batches(
    connection: psycopg.Connection[Any],
    query: bytes,
    parameters: Mapping[str, Any],
    schema: pl.Schema,
    *,
    batch_rows: int,
    whole: Sequence[str],
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a query in batches of about ``batch_rows``, never cutting a group.

    Args:
        connection: in a transaction; a server-side cursor reads through it.
        query: its result is sorted by ``whole`` first.
        parameters: of the query.
        schema: the columns, in the query's order.
        batch_rows: how many rows a batch has; a group larger than that is one batch.
        whole: columns that are equal within a group.
    """
    read = [pl.DataFrame(schema=schema)]
    height = 0
    with connection.cursor(name="frames", binary=True) as cursor:
        cursor.execute(query, parameters)
        while rows := cursor.fetchmany(min(batch_rows, _FETCHED_AT_ONCE)):
            read.append(pl.DataFrame(rows, schema=schema, orient="row"))
            height += len(rows)
            if height < batch_rows:
                continue
            batch = pl.concat(read, rechunk=True)
            last = batch.select(*whole).row(-1)
            is_last = pl.all_horizontal(
                pl.col(name).eq_missing(pl.lit(value)) for name, value in zip(whole, last, strict=True)
            )
            ready, carried = batch.filter(~is_last), batch.filter(is_last)
            read, height = [carried], carried.height
            if ready.height:
                yield ready
    if height:
        yield pl.concat(read, rechunk=True)
