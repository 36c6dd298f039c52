"""The server's own files of some tables, read through the server: only a role that may read them can."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement

_SEGMENT = 1 << 30
"""PostgreSQL cuts a relation into files of this size (unless it was built otherwise)."""

_BLOCK = 8 << 20


@dataclass(frozen=True, slots=True)
class RelationFile:
    """One relation: ``part`` is heap, TOAST or an index of either; ``path`` is below the data folder."""

    table: str
    part: str
    path: str
    size: int


def why_unreadable(connection: psycopg.Connection[Any]) -> str | None:
    """Return why this connection's role can't look into the server's files; None when it can."""
    row = connection.execute(
        "select has_function_privilege('pg_read_binary_file(text,bigint,bigint,boolean)', 'execute'),"
        "       (select rolsuper from pg_roles where rolname = current_user)"
        "       or (current_setting('server_version_num')::int >= 150000"
        "           and pg_has_role(current_user, 'pg_checkpoint', 'usage'))"
    ).fetchone()
    if row is None or not row[0]:
        return "this role may not read the server's files (execute on pg_read_binary_file)"
    if not row[1]:
        return "this role may not have the server write its buffers to the files first (pg_checkpoint)"
    return None


def flush(connection: psycopg.Connection[Any]) -> None:
    """Have the server write what it holds in memory to its files, so that they can be looked at."""
    connection.execute("checkpoint")


def list_files(connection: psycopg.Connection[Any], tables: Sequence[str]) -> list[RelationFile]:
    """Return the files of some tables (schema-qualified), of their partitions, TOAST tables and indexes."""
    rows = connection.execute(statement("list_relation_files"), {"tables": list(tables)}).fetchall()
    return [RelationFile(*row) for row in rows]


def read_blocks(connection: psycopg.Connection[Any], file: RelationFile) -> Iterator[bytes]:
    """Yield a relation's bytes in order."""
    with connection.cursor(binary=True) as cursor:
        for offset in range(0, file.size, _BLOCK):
            segment, within = divmod(offset, _SEGMENT)
            path = file.path if segment == 0 else f"{file.path}.{segment}"
            row = cursor.execute(
                "select pg_read_binary_file(%s, %s::bigint, %s::bigint, true)", [path, within, _BLOCK]
            ).fetchone()
            if row is not None and row[0] is not None:
                yield bytes(row[0])
