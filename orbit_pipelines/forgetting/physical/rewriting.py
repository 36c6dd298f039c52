"""Vacuum, and the rewriting of tables; what the server says of it decides what may be claimed."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from orbit_pipelines.database.connection import discreet_message
from orbit_pipelines.database.statements import statement

_DEAD = re.compile(r"(\d+) (?:are dead but not yet removable|dead row versions cannot be removed yet)")
_MISSED = re.compile(r"tuples missed: (\d+)")
_WAIT_FOR_LOCK = "60s"

CAN_CLEAR_STATISTICS = 180000
"""The first version of PostgreSQL that drops the statistics of a column when asked to."""


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """What a vacuum did to one table. ``problem``: why dead rows may still be in it; None when none are."""

    table: str
    problem: str | None = None


def vacuum(connection: psycopg.Connection[Any], tables: Sequence[str]) -> list[Vacuumed]:
    """Have dead rows removed from tables and all their indexes, and statistics gathered from the rows that stay.

    Readers and writers go on meanwhile. The statistics of an empty table would keep what its last rows said.

    Args:
        connection: in autocommit, outside a transaction.
        tables: schema-qualified.
    """
    _clear_statistics(connection, tables)
    command = "vacuum (verbose, analyze, index_cleanup on, truncate off) {}"
    return [_vacuum(connection, table, command) for table in tables]


def rewrite(connection: psycopg.Connection[Any], tables: Sequence[str]) -> list[Vacuumed]:
    """Have tables, their TOAST and indexes written anew, without dead rows; each is locked for everyone meanwhile.

    Args:
        connection: in autocommit, outside a transaction.
        tables: schema-qualified.
    """
    _clear_statistics(connection, tables)
    return [_vacuum(connection, table, "vacuum (full, verbose, analyze) {}") for table in tables]


def _clear_statistics(connection: psycopg.Connection[Any], tables: Sequence[str]) -> None:
    """Drop the sample values that the planner keeps of hashes; before PostgreSQL 18 only an analyze replaces them."""
    if connection.info.server_version >= CAN_CLEAR_STATISTICS:
        with suppress(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement("clear_hash_statistics"), {"tables": list(tables)})


def _vacuum(connection: psycopg.Connection[Any], table: str, command: str) -> Vacuumed:
    statement = sql.SQL(command).format(sql.Identifier(*table.split(".")))
    try:
        with _listening(connection) as said, _patience(connection):
            connection.execute(statement)
    except (psycopg.errors.LockNotAvailable, psycopg.errors.InsufficientPrivilege) as error:
        return Vacuumed(table, discreet_message(error) or type(error).__name__)
    return Vacuumed(table, judge(said))


def judge(said: Sequence[str]) -> str | None:
    """Return why dead rows may still be there, from what a verbose vacuum said; None when it says that none are. Pure.

    The server warns, and doesn't fail, when a role may not vacuum a table; and it speaks other languages too. So only
    what was understood counts.
    """
    counts = [int(count) for text in said for count in _DEAD.findall(text)]
    if not counts:
        return "the server did not say that it vacuumed the table: the role may have to own it"
    if any(counts):
        return f"{sum(counts):,} dead rows can't be removed yet: an older transaction may still read them"
    missed = sum(int(count) for text in said for count in _MISSED.findall(text))
    return f"{missed:,} dead rows lie in pages that others were using" if missed else None


@contextmanager
def _listening(connection: psycopg.Connection[Any]) -> Iterator[list[str]]:
    said: list[str] = []

    def hear(diagnostic: psycopg.errors.Diagnostic) -> None:
        said.append(f"{diagnostic.message_primary or ''}\n{diagnostic.message_detail or ''}")

    connection.add_notice_handler(hear)
    try:
        yield said
    finally:
        connection.remove_notice_handler(hear)


@contextmanager
def _patience(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Give up on a lock after a minute: whoever asks for the table meanwhile waits behind us."""
    connection.execute("select set_config('lock_timeout', %s, false)", [_WAIT_FOR_LOCK])
    try:
        yield
    finally:
        connection.execute("reset lock_timeout")
