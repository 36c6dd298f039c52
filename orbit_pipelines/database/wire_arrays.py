"""Columns as arrays for a statement's parameters, in PostgreSQL's wire form, packed a column at a time.

psycopg formats a list item by item, which for a first build's 50,000 keys costs more than the server takes to look them
up. The layout is that of ``array_send``.
"""

import struct
from typing import Any, NamedTuple

import polars as pl
import psycopg
from psycopg.adapt import Buffer, Dumper

FEW = 500
"""So many items a list is as fast for."""


class _Type(NamedTuple):
    name: str
    element_oid: int
    array_oid: int


_TYPES: dict[Any, _Type] = {
    pl.String: _Type("text", 25, 1009),
    pl.Binary: _Type("bytea", 17, 1001),
    pl.Int64: _Type("int8", 20, 1016),
    pl.Int32: _Type("int4", 23, 1007),
    pl.Boolean: _Type("bool", 16, 1000),
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
    """Return a column as a parameter that is an array: a list where it is short or of another type than has a form."""
    kind = _TYPES.get(column.dtype)
    if kind is None or len(column) < FEW:
        items: list[Any] = column.to_list()
        return items
    # Arrow, which packs, is not imported by a process that never has many.
    from orbit_pipelines.database.binary_copy import pack_column  # noqa: PLC0415

    packed = pack_column(column, kind.name)
    head = struct.pack(">iiiii", 1, int(column.null_count() > 0), kind.element_oid, len(column), 1)
    return _CLASSES[kind](head + bytes(packed))
