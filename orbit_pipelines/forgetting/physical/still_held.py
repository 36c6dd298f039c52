"""What of a server may hold deleted bytes for a while after its tables no longer do, and until when."""

from typing import Any

import psycopg


def may_still_hold(connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    """Return sentences; never none."""
    settings = dict(
        connection.execute(
            "select name, setting from pg_settings where name = any(%s)",
            [["checkpoint_timeout", "archive_mode", "wal_keep_size", "max_wal_size"]],
        ).fetchall()
    )
    minutes = int(settings.get("checkpoint_timeout") or 300) / 60
    keeps = int(settings.get("wal_keep_size") or 0)
    told = [
        "write-ahead log: the deleted rows stand in segments written until now; a segment is recycled after the second "
        f"checkpoint from now (one at least every {minutes:g} minutes while there are writes)"
        + (f", later where wal_keep_size ({keeps} MB) keeps it" if keeps else "")
        + ", and its old bytes stay until it is written over",
    ]
    if settings.get("archive_mode") not in (None, "off"):
        told.append("archived write-ahead log: for as long as the archive is kept; this program can't see it")
    told += _replicas(connection)
    told.append("backups and copies of the data folder: until they are removed; this program can't see them")
    told.append("free blocks of the file system, and the storage below it: until they are written over")
    return tuple(told)


def _replicas(connection: psycopg.Connection[Any]) -> list[str]:
    told = []
    row = connection.execute("select count(*) from pg_stat_replication").fetchone()
    if row and row[0]:
        told.append(f"{row[0]} replicas: until they have replayed this, and their own log was recycled")
    slots = connection.execute(
        "select slot_name::text, restart_lsn::text from pg_replication_slots where restart_lsn is not null order by 1"
    ).fetchall()
    if slots:
        names = ", ".join(f"{name} (from {lsn})" for name, lsn in slots)
        told.append(f"write-ahead log held for replication slots: {names}; until they advance or are dropped")
    return told or ["replicas: none is connected now; one that was keeps what it had until it replays this"]
