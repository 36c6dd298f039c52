"""Columns as arrays for a statement's parameters, in PostgreSQL's wire form: that of ``array_send``.

psycopg's own lists ask of each item what it is and quote it, which takes longer than the server to look the items up.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import polars as pl
import psycopg
from psycopg.adapt import Buffer, Dumper

FEW = 1_000
"""So many items are packed faster one by one than as a column."""

_NULL = (-1).to_bytes(4, signed=True)


class _Type(NamedTuple):
    name: str
    element_oid: int
    array_oid: int
    encode: Callable[[Any], bytes]


_TYPES: dict[Any, _Type] = {
    pl.String: _Type("text", 25, 1009, str.encode),
    pl.Binary: _Type("bytea", 17, 1001, bytes),
    pl.Int64: _Type("int8", 20, 1016, struct.Struct(">q").pack),
    pl.Int32: _Type("int4", 23, 1007, struct.Struct(">i").pack),
    pl.Boolean: _Type("bool", 16, 1000, struct.Struct(">?").pack),
}


class WireArray:
    """An array in wire form."""

    data: Buffer

    def __init__(self, data: Buffer) -> None:
        """Take what ``array_send`` would give."""
        self.data = data


_CLASSES: dict[_Type, type[WireArray]] = {
    kind: type(f"{kind.name.title()}Array", (WireArray,), {}) for kind in _TYPES.values()
}


class _WireArrayDumper(Dumper):
    format = psycopg.pq.Format.BINARY

    def dump(self, obj: WireArray) -> Buffer:
        return obj.data


for _kind, _class in _CLASSES.items():
    psycopg.adapters.register_dumper(
        _class, type(f"{_class.__name__}Dumper", (_WireArrayDumper,), {"oid": _kind.array_oid})
    )


def as_array(column: pl.Series) -> list[Any] | WireArray:
    """Return a column as a parameter that is an array: a list where its type has no wire form here."""
    kind = _TYPES.get(column.dtype)
    if kind is None:
        items: list[Any] = column.to_list()
        return items
    if not len(column):
        return _CLASSES[kind](struct.pack(">iii", 0, 0, kind.element_oid))
    head = struct.pack(">iiiii", 1, int(column.null_count() > 0), kind.element_oid, len(column), 1)
    return _CLASSES[kind](head + (_pack_few(column, kind) if len(column) < FEW else _pack_many(column, kind)))


def _pack_few(column: pl.Series, kind: _Type) -> bytes:
    return b"".join(
        _NULL if item is None else len(value := kind.encode(item)).to_bytes(4) + value for item in column.to_list()
    )


def _pack_many(column: pl.Series, kind: _Type) -> bytes:
    # Arrow, which packs, is not imported by a process that never has many.
    from orbit_pipelines.database.binary_copy import pack_column  # noqa: PLC0415

    return bytes(pack_column(column, kind.name))
