"""Frames into PostgreSQL by binary COPY, packed a column at a time.

Row-by-row writers spend most of their time on formatting; here every field of a batch becomes one Arrow array of bytes
and the rows are joined in bulk. The layout is that of PostgreSQL's documentation of COPY, "Binary Format".
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.compute as pc

Item = TypeVar("Item")

_SIGNATURE = b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_SLICE_BYTES = 1 << 19
_BATCH_ROWS = 20_000
_POSTGRES_EPOCH_US = 946_684_800_000_000
_TEXT_OID = 25


def copy_frame(connection: psycopg.Connection[Any], table: str, frame: pl.DataFrame, types: Mapping[str, str]) -> int:
    """Copy one frame, as ``copy_frames`` does; an empty one asks nothing of the server."""
    return copy_frames(connection, table, [frame], types) if frame.height else 0


def copy_frames(
    connection: psycopg.Connection[Any], table: str, frames: Iterable[pl.DataFrame], types: Mapping[str, str]
) -> int:
    """Copy the columns named in ``types`` of some frames into the same columns of a table; return the number of rows.

    Args:
        connection: in a transaction of the caller's; ``frames`` may not use it.
        table: name as SQL writes it; never from outside.
        frames: each has one column for each key of ``types``. The next is made and packed, in a thread, while the
            server takes the one before.
        types: column → ``text``, ``text[]``, ``int4``, ``int8``, ``bool``, ``bytea``, ``timestamptz``, ``jsonb`` or
            ``halfvec`` (a Binary column holding the type's wire form, see ``database.vectors``).
    """
    batches = (batch for frame in frames for batch in frame.select(*types).iter_slices(_BATCH_ROWS) if batch.height)
    packed = ((batch.height, pack_rows(batch, types)) for batch in batches)
    rows = 0
    with (
        connection.cursor() as cursor,
        cursor.copy(f"copy {table} ({', '.join(types)}) from stdin (format binary)".encode()) as copy,
    ):
        copy.write(_SIGNATURE)
        for height, body in one_ahead(packed):
            view = memoryview(body)
            for start in range(0, len(view), _SLICE_BYTES):
                copy.write(view[start : start + _SLICE_BYTES])
            rows += height
        copy.write(_TRAILER)
    return rows


def one_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield what an iterator yields; from the third on, each is made in a thread while those before are used."""
    head = list(islice(items, 2))
    if len(head) < 2:
        yield from head
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead") as pool:
        coming = pool.submit(next, items, None)
        yield from head
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item


def pack_rows(frame: pl.DataFrame, types: Mapping[str, str]) -> pa.Buffer | bytes:
    """Return the rows of a frame as the body of a binary COPY, without signature and trailer."""
    fields: list[Any] = [_scalar(struct.pack(">h", len(types)))]
    for name, type_name in types.items():
        fields.extend(_PACKERS[type_name](frame[name]))
    return _join(fields)


def pack_column(series: pl.Series, type_name: str) -> pa.Buffer | bytes:
    """Return the values of a column one behind the other, each after its length; a null is the length -1."""
    return _join(_PACKERS[type_name](series))


def _join(fields: list[Any]) -> pa.Buffer | bytes:
    rows = pc.binary_join_element_wise(*fields, _NOTHING)
    if isinstance(rows, pa.ChunkedArray):
        rows = rows.combine_chunks()
    return rows.buffers()[2] or b""


# Python values and NumPy arrays reach Arrow through Polars and buffers: Arrow's own conversions import pandas, which
# would cost every build half a second. What is done to every column is Arrow's: a Polars expression has to be planned
# first, which costs a small frame more than its rows do.


@cache
def _scalar(value: bytes) -> pa.Scalar:
    return pl.Series([value], dtype=pl.Binary).to_arrow().cast(pa.large_binary())[0]


_NOTHING = _scalar(b"")


def _fixed(matrix: np.ndarray) -> pa.Array:
    """(n, width) uint8 as n byte strings, without copying."""
    count, width = matrix.shape
    offsets = pa.py_buffer(np.arange(0, (count + 1) * width, width, dtype="i8") if width else np.zeros(count + 1, "i8"))
    return pa.Array.from_buffers(pa.large_binary(), count, [None, offsets, pa.py_buffer(np.ascontiguousarray(matrix))])


def _lengths(values: np.ndarray) -> pa.Array:
    return _fixed(values.astype(">i4").view("u1").reshape(-1, 4))


def _is_null(values: pa.Array) -> np.ndarray:
    """Return which of an array's values are null, as booleans."""
    bits = np.frombuffer(pc.is_null(values).buffers()[1], "u1")
    return np.unpackbits(bits, bitorder="little", count=len(values)).view(bool)


def _varying(series: pl.Series, prefix: bytes = b"") -> list[Any]:
    values = series.to_arrow().cast(pa.large_binary())
    count, first = len(values), values.offset
    offsets = np.frombuffer(values.buffers()[1], "i8")[first : first + count + 1]
    lengths = np.diff(offsets) + len(prefix)
    if values.null_count:
        lengths[_is_null(values)] = -1
        heads = pc.if_else(pc.is_null(values), _NOTHING, _scalar(prefix))
        values = pc.fill_null(values, _NOTHING)
    else:
        heads = _scalar(prefix)
    return [_lengths(lengths), heads, values] if prefix else [_lengths(lengths), values]


def _number(dtype: str, convert: Callable[[pl.Series], pl.Series]) -> Callable[[pl.Series], list[Any]]:
    width = np.dtype(dtype).itemsize

    def pack(series: pl.Series) -> list[Any]:
        numbers = convert(series)
        if not numbers.null_count():
            body = numbers.to_numpy().astype(dtype)
            return [_scalar(struct.pack(">i", width)), _fixed(body.view("u1").reshape(-1, width))]
        is_null = numbers.is_null()
        body = _fixed(numbers.fill_null(0).to_numpy().astype(dtype).view("u1").reshape(-1, width))
        lengths = _lengths(np.where(is_null.to_numpy(), -1, width))
        return [lengths, pc.if_else(is_null.to_arrow(), _NOTHING, body)]

    return pack


def _text_array(series: pl.Series) -> list[Any]:
    empty = struct.pack(">iii", 0, 0, _TEXT_OID)

    def encode(texts: list[str] | None) -> bytes | None:
        if texts is None:
            return None
        if not texts:
            return empty
        items = [text.encode() for text in texts]
        body = b"".join(struct.pack(">i", len(item)) + item for item in items)
        return struct.pack(">iiiii", 1, 0, _TEXT_OID, len(items), 1) + body

    return _varying(pl.Series([encode(texts) for texts in series.to_list()], dtype=pl.Binary))


_PACKERS: dict[str, Callable[[pl.Series], list[Any]]] = {
    "text": _varying,
    "bytea": _varying,
    "halfvec": _varying,
    "jsonb": lambda series: _varying(series, b"\x01"),
    "int4": _number(">i4", lambda series: series.cast(pl.Int64)),
    "int8": _number(">i8", lambda series: series.cast(pl.Int64)),
    "bool": _number("u1", lambda series: series.cast(pl.UInt8)),
    "timestamptz": _number(">i8", lambda series: series.cast(pl.Datetime("us")).to_physical() - _POSTGRES_EPOCH_US),
    "text[]": _text_array,
}
