"""From a path to stored sessions: one file, or one folder that is an export as a whole; all of it or nothing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.history.formats.registry import AUTO, read_sessions
from orbit_pipelines.history.formats.slack_workspace import Speakers
from orbit_pipelines.history.importing import ImportResult, import_sessions
from orbit_pipelines.history.reading import Export, Progress, open_export
from orbit_pipelines.history.stream import Problems
from orbit_pipelines.model import Store


def import_file(
    conn: psycopg.Connection[Any],
    store: Store,
    path: str | Path,
    *,
    hash_key: bytes,
    problems: Problems,
    format_name: str = AUTO,
    creates_account: bool = False,
    mirror: bool = False,
    batch_messages: int = 20_000,
    speakers: Speakers | None = None,
    on_open: Callable[[Export], None] = lambda _export: None,
    on_bytes: Progress = lambda _count: None,
) -> ImportResult:
    """Store the sessions of one file, and return what changed.

    Args:
        conn: in autocommit, so that the file is one transaction; otherwise it is a savepoint of the caller's.
        store: whose sessions they are.
        path: the file, or the folder that is an export as a whole; ``-`` is standard input.
        hash_key: the installation's key; sessions without an id are named with it.
        problems: collects what was skipped or replaced.
        format_name: one of ``FORMATS``, or ``AUTO`` to look into the file.
        creates_account: make the store's account, on the default plan, if it is missing: only with a file that can be
            imported.
        mirror: delete messages that the file lacks, in the sessions it holds.
        batch_messages: about how many messages are staged at a time.
        speakers: who is who, for exports that only name their users.
        on_open: told what the path holds, before it is read.
        on_bytes: told how many bytes were just read.

    Raises:
        ImportFailed: the file can't be read, or is none of the formats; nothing of it was stored.
        UnknownAccount: nobody has the store's user id.
    """
    with conn.transaction():
        if creates_account:
            create_account(conn, store.user_id)
        with open_export(path, progress=on_bytes) as export:
            on_open(export)
            return import_sessions(
                conn,
                store,
                read_sessions(
                    export,
                    problems,
                    format_name=format_name,
                    speakers=replace(speakers or Speakers(), account=store.user_id),
                ),
                hash_key=hash_key,
                mirror=mirror,
                batch_messages=batch_messages,
            )
