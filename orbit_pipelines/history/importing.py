"""Importing: a file's sessions into the application's tables, as an upsert that touches only what differs.

A file is one transaction. Its sessions are staged batch by batch and merged by set-based statements; sql/ holds the
rules, each in the statement that keeps it, and this module their order. The same file twice changes no row.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import astuple, dataclass
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.history.accounts import require_account
from orbit_pipelines.history.identity import SessionNames, identify_messages
from orbit_pipelines.history.staging import batch_sessions, read_ahead, stage_batch
from orbit_pipelines.history.stream import ParsedSession
from orbit_pipelines.model import Reason, Store

_LOGGER = logging.getLogger(__name__)
Progress = Callable[[int], None]
"""Told how many messages were read so far, after every batch."""

_TABLES = (
    "incoming_session",
    "incoming_message",
    "incoming_left_behind",
    "stored_message",
    "former_pair",
    "merged_branch",
    "imported_session",
    "mirrored_message",
)


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import did.

    ``messages_changed`` counts what the file says otherwise, not messages that only moved along; a session is
    changed when anything in it was: grown by new messages, edited by anything else, or both. ``flagged`` counts user
    messages that this import set to not remembered, new ones and known ones. ``session_forgotten`` counts sessions of
    the file that are forgotten: they are stored like the others, as history, and stay out of memory. A session in
    several pieces counts once, its messages as often as the file holds them.
    """

    sessions_new: int = 0
    sessions_changed: int = 0
    sessions_grown: int = 0
    sessions_edited: int = 0
    sessions_unchanged: int = 0
    messages_new: int = 0
    messages_changed: int = 0
    messages_unchanged: int = 0
    messages_deactivated: int = 0
    messages_reactivated: int = 0
    messages_deleted: int = 0
    pairs_new: int = 0
    flagged: int = 0
    session_forgotten: int = 0

    @property
    def changed_anything(self) -> bool:
        """Whether any row came, went or differs."""
        return bool(self.sessions_new or self.sessions_changed)

    def __add__(self, other: "ImportResult") -> "ImportResult":
        """Return what two imports did together; a session that both held counts twice."""
        return ImportResult(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


def import_sessions(
    conn: psycopg.Connection[Any],
    store: Store,
    sessions: Iterable[ParsedSession],
    *,
    hash_key: bytes,
    mirror: bool = False,
    batch_messages: int = 20_000,
    on_progress: Progress | None = None,
) -> ImportResult:
    """Store one file's sessions, all or nothing, and return what changed.

    Needs READ COMMITTED: what another import of the same store committed while this one waited must be seen. Inside
    the caller's transaction it is a savepoint, and the caller commits.

    Args:
        conn: a connection nobody else uses meanwhile.
        store: whose sessions they are.
        sessions: one file's stream, read in a thread of its own; an exception from it leaves nothing stored.
        hash_key: the installation's key; sessions without an id are named with it.
        mirror: delete messages that the file lacks, in the sessions it holds. Sessions it doesn't hold are left
            alone: an export of one conversation must not empty a store.
        batch_messages: about how many messages are staged at a time; no result depends on it.
        on_progress: called after every batch.

    Raises:
        UnknownAccount: nobody has the store's user id.
    """
    with conn.transaction():
        require_account(conn, store.user_id)
        work = _Import(conn, store, mirror)
        work.begin()
        names = SessionNames(hash_key, work.find_known_sessions)
        with closing(read_ahead(batch_sessions(identify_messages(sessions), batch_messages))) as batches:
            for batch in batches:
                work.merge(names.identify(batch))
                if on_progress is not None:
                    on_progress(work.read)
        return work.finish()


class _Import:
    """One running import: its connection, its temporary tables and its counts."""

    def __init__(self, conn: psycopg.Connection[Any], store: Store, mirror: bool) -> None:
        self._conn = conn
        self._key = {"user_id": store.user_id, "agent_id": store.agent_id}
        self._mirror = mirror
        self.read = 0
        self._new = self._changed = self._reactivated = self._deactivated = self._deleted = 0
        self._pairs = self._flagged = 0

    def begin(self) -> None:
        """Take the store's turn and make the tables to work on."""
        self._run("lock_store_for_import")
        for table in _TABLES:
            self._conn.execute(statement(f"create_{table}"))

    def find_known_sessions(self, openings: Collection[str]) -> Mapping[str, Mapping[str, Mapping[str, bytes]]]:
        """Return what the store knows of sessions without an id of their own, for ``identity.SessionNames``."""
        known: dict[str, dict[str, dict[str, bytes]]] = {opening: {} for opening in openings}
        parameters = {**self._key, "openings": list(openings)}
        found = self._conn.execute(statement("find_known_sessions"), parameters, prepare=False)
        for opening, session_id, message_id, digest in found:
            outline = known[opening].setdefault(session_id, {})
            if message_id is not None:
                outline[message_id] = digest
        return known

    def merge(self, batch: list[ParsedSession]) -> None:
        """Store one batch. The order of the statements is the order of the rules; each one's file says its own."""
        stage_batch(self._conn, batch)
        self._run("insert_incoming_sessions")
        self._run("lock_incoming_sessions")
        [newly_marked] = self._counts("read_stored_sessions")
        self._run("update_incoming_sessions")
        self._run("insert_incoming_participants")
        replaced, deactivated = self._counts("read_stored_messages")
        if replaced:
            self._run("delete_replaced_messages")
        self._run("read_former_pairs")
        self._conn.execute("analyze stored_message (session_no, message_id)")
        self._conn.execute("analyze former_pair")
        new, flagged, pairs, changed, reactivated, differing = self._counts("merge_branches")
        self._conn.execute("analyze merged_branch (session_no, message_id)")
        if new:
            self._run("insert_new_messages")
            self._run("enter_pairs_in_ledger")
            self._run("advance_pair_numbers")
        if differing:
            self._run("update_known_messages")
        if deactivated:
            self._run("deactivate_left_behind")
        if newly_marked:
            [flagged_again] = self._counts("flag_marked_messages")
            flagged += flagged_again
            self._run("flag_marked_ledger")
        self._run("note_imported_sessions")
        if self._mirror:
            self._run("note_mirrored_messages")
        self._conn.execute(
            "truncate incoming_session, incoming_message, incoming_left_behind, stored_message, former_pair,"
            " merged_branch"
        )
        self.read += sum(len(session.messages) for session in batch)
        self._new += new
        self._changed += changed
        self._reactivated += reactivated
        self._deactivated += deactivated
        self._deleted += replaced
        self._pairs += pairs
        self._flagged += flagged

    def finish(self) -> ImportResult:
        """Delete what a mirror lacks, count, and drop the tables: a caller's transaction may go on."""
        if self._mirror:
            self._conn.execute("analyze mirrored_message")
            [deleted] = self._counts("delete_unmirrored_messages")
            self._deleted += deleted
        [(new, changed, grown, edited, unchanged, forgotten)] = self._run("count_imported_sessions").fetchall()
        for session_id in forgotten:
            key = "/".join((*self._key.values(), session_id))
            _LOGGER.info("%s: session %s is kept as history only", Reason.SESSION_FORGOTTEN, key)
        self._conn.execute(
            "drop table incoming_session, incoming_message, incoming_left_behind, stored_message, former_pair,"
            " merged_branch, imported_session, mirrored_message"
        )
        return ImportResult(
            sessions_new=new,
            sessions_changed=changed,
            sessions_grown=grown,
            sessions_edited=edited,
            sessions_unchanged=unchanged,
            messages_new=self._new,
            messages_changed=self._changed,
            messages_unchanged=self.read - self._new - self._changed - self._reactivated,
            messages_deactivated=self._deactivated,
            messages_reactivated=self._reactivated,
            messages_deleted=self._deleted,
            pairs_new=self._pairs,
            flagged=self._flagged,
            session_forgotten=len(forgotten),
        )

    def _run(self, name: str) -> psycopg.Cursor[Any]:
        # Never prepared: a plan made for the first, small batch would serve the large ones.
        return self._conn.execute(statement(name), self._key, prepare=False)

    def _counts(self, name: str) -> tuple[int, ...]:
        [counts] = self._run(name).fetchall()
        return tuple(counts)
