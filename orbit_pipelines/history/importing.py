"""Importing: a file's sessions into the application's tables, as an upsert that touches only what differs.

A file is one transaction. Its sessions are staged batch by batch and merged by set-based statements; sql/ holds the
rules, each in the statement that keeps it, and this module their order. The same file twice changes no row, also where
the file holds a session several times: what it says of it last counts, and is compared with what is stored.
"""

import hmac
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from itertools import zip_longest
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.history.accounts import require_account
from orbit_pipelines.history.alignment import realign
from orbit_pipelines.history.forgotten_accounts import restore_tombstones_of
from orbit_pipelines.history.identity import SessionNames, identify_messages
from orbit_pipelines.history.known_sessions import StoredSessions
from orbit_pipelines.history.put_aside import PutAside
from orbit_pipelines.history.staging import batch_sessions, read_ahead, stage_batch, stage_messages
from orbit_pipelines.history.stream import ParsedSession
from orbit_pipelines.key_files import derive_key
from orbit_pipelines.model import Reason, Store

_LOGGER = logging.getLogger(__name__)
Progress = Callable[[int], None]
"""Told how many messages were read so far, after every batch."""

_HASH_BYTES = 16

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
        # Before sessions without an id are named: what was forgotten keeps its names.
        restore_tombstones_of(conn, hash_key, [store.user_id])
        work = _Import(conn, store, mirror, derive_key(hash_key, "text of a pair"))
        work.begin()
        names = SessionNames(hash_key, work.stored)
        with closing(read_ahead(batch_sessions(identify_messages(sessions), batch_messages))) as batches:
            for batch in batches:
                named = names.identify(batch)
                work.stored.bind(names.bound)
                work.take(named)
                if on_progress is not None:
                    on_progress(work.read)
        return work.finish()


class _Import:
    """One running import: its connection, its temporary tables and its counts."""

    def __init__(self, conn: psycopg.Connection[Any], store: Store, mirror: bool, text_key: bytes) -> None:
        self._conn = conn
        self._key = {"user_id": store.user_id, "agent_id": store.agent_id}
        self._mirror = mirror
        self._text_key = text_key
        self.stored = StoredSessions(conn, store)
        self.read = 0
        self._aside = PutAside()
        self._tally: Counter[str] = Counter()

    def begin(self) -> None:
        """Take the store's turn and make the tables to work on."""
        self._run("lock_store_for_import")
        for table in _TABLES:
            self._conn.execute(statement(f"create_{table}"))

    def take(self, batch: Sequence[ParsedSession]) -> None:
        """Store one batch; the sessions that say otherwise than what is stored wait for the end of the file."""
        self.read += sum(len(session.messages) for session in batch)
        for session in batch:
            if session.session_id in self._aside:
                self._aside.add(session)
        self._merge([session for session in batch if session.session_id not in self._aside], is_settling=False)
        if self._aside.is_full:
            self._settle()

    def finish(self) -> ImportResult:
        """Store what waits, delete what a mirror lacks, count, and drop the tables: a transaction may go on."""
        self._settle()
        if self._mirror:
            self._conn.execute("analyze mirrored_message")
            [deleted] = self._counts("delete_unmirrored_messages")
            self._tally["deleted"] += deleted
        [(new, changed, grown, edited, unchanged, forgotten)] = self._run("count_imported_sessions").fetchall()
        for session_id in forgotten:
            key = "/".join((*self._key.values(), session_id))
            _LOGGER.info("%s: session %s is kept as history only", Reason.SESSION_FORGOTTEN, key)
        self._conn.execute(
            "drop table incoming_session, incoming_message, incoming_left_behind, stored_message, former_pair,"
            " merged_branch, imported_session, mirrored_message"
        )
        self.stored.forget_questions()
        tally = self._tally
        return ImportResult(
            sessions_new=new,
            sessions_changed=changed,
            sessions_grown=grown,
            sessions_edited=edited,
            sessions_unchanged=unchanged,
            messages_new=tally["new"],
            messages_changed=tally["changed"],
            messages_unchanged=self.read - tally["new"] - tally["changed"] - tally["reactivated"],
            messages_deactivated=tally["deactivated"],
            messages_reactivated=tally["reactivated"],
            messages_deleted=tally["deleted"],
            pairs_new=tally["pairs"],
            flagged=tally["flagged"],
            session_forgotten=len(forgotten),
        )

    # ---------------------------------------------------------------- what waits

    def _settle(self) -> None:
        """Store what waits. A session that waits in several pieces is left alone where all of them change nothing."""
        waiting = self._aside.take_all()
        single = [pieces[0] for pieces in waiting.values() if len(pieces) == 1]
        self._merge(single, is_settling=True)
        repeated = {session_id: pieces for session_id, pieces in waiting.items() if len(pieces) > 1}
        if repeated:
            self._settle_repeated(repeated)

    def _settle_repeated(self, repeated: Mapping[str, Sequence[ParsedSession]]) -> None:
        before = self._states(repeated)
        tally = self._tally.copy()
        with self._conn.transaction() as attempt:
            self._merge_in_turn(repeated)
            after = self._states(repeated)
            changed = {session_id for session_id in repeated if before.get(session_id) != after.get(session_id)}
            unchanged = [session_id for session_id in repeated if session_id not in changed]
            mirrored = self._conn.execute(
                "select session_id, message_id from mirrored_message where session_id = any (%s)", [unchanged]
            ).fetchall()
            if unchanged:
                raise psycopg.Rollback(attempt)
        if unchanged:
            self._tally = tally
            self._merge_in_turn({session_id: repeated[session_id] for session_id in repeated if session_id in changed})
            self._conn.execute(statement("note_unchanged_sessions"), {"session_ids": unchanged}, prepare=False)
            with self._conn.cursor() as cursor:
                cursor.executemany("insert into mirrored_message (session_id, message_id) values (%s, %s)", mirrored)

    def _merge_in_turn(self, repeated: Mapping[str, Sequence[ParsedSession]]) -> None:
        for pieces in zip_longest(*repeated.values()):
            self._merge([piece for piece in pieces if piece is not None], is_settling=True)

    def _states(self, session_ids: Collection[str]) -> Mapping[str, str]:
        parameters = {**self._key, "session_ids": list(session_ids)}
        return dict(self._conn.execute(statement("read_session_states"), parameters, prepare=False).fetchall())

    # ---------------------------------------------------------------- one batch

    def _merge(self, batch: Sequence[ParsedSession], *, is_settling: bool) -> None:
        """Store one batch. The order of the statements is the order of the rules; each one's file says its own."""
        if not batch:
            return
        stage_batch(self._conn, batch, self._hash_text)
        self._run("insert_incoming_sessions")
        self._run("lock_incoming_sessions")
        [newly_marked] = self._counts("read_stored_sessions")
        has_former = self._run("read_former_pairs").rowcount > 0
        self._conn.execute("analyze former_pair")
        if self._read_stored_messages(is_aligned=False) or has_former:
            self._align(batch)
            self._run("leave_siblings")
            self._run("leave_answers_to_reworded")
        if not is_settling:
            self._put_aside(batch)
        self._run("update_incoming_sessions")
        self._run("insert_incoming_participants")
        replaced, _ = self._counts("count_parting_messages")
        if replaced:
            self._run("delete_replaced_messages")
        self._conn.execute("analyze stored_message (session_no, message_id)")
        merged = self._counts("merge_branches")
        if merged[-1] and not is_settling:
            # Nothing is edited and nothing returns, so that something was moved.
            self._put_aside(batch)
            self._conn.execute("truncate merged_branch")
            merged = self._counts("merge_branches")
        new, flagged, pairs, changed, reactivated, differing = merged
        self._conn.execute("analyze merged_branch (session_no, message_id)")
        if new:
            self._run("insert_new_messages")
            self._run("enter_pairs_in_ledger")
            self._run("advance_pair_numbers")
        if differing:
            self._run("update_known_messages")
            self._run("renew_text_hashes")
        _, deactivated = self._counts("count_parting_messages")
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
        self._tally.update(
            new=new,
            changed=changed,
            reactivated=reactivated,
            deactivated=deactivated,
            deleted=replaced,
            pairs=pairs,
            flagged=flagged,
        )

    def _align(self, batch: Sequence[ParsedSession]) -> None:
        """Give the messages of sessions whose names have shifted the ids of what is stored of them."""
        shifted = self._run("find_misplaced_sessions").fetchall()
        if not shifted:
            return
        aligned = [
            (number, realign(batch[number], turns, self._hash_text))
            for number, _, _, turns in self.stored.branches(shifted)
        ]
        self._conn.execute(statement("withdraw_messages"), {"numbers": [number for number, _ in aligned]})
        stage_messages(self._conn, aligned, self._hash_text)
        self._read_stored_messages(is_aligned=True)

    def _read_stored_messages(self, *, is_aligned: bool) -> int:
        """Read what is stored of the sessions that were aligned, or weren't; return how many messages that are."""
        parameters = {**self._key, "is_aligned": is_aligned}
        [(stored,)] = self._conn.execute(statement("read_stored_messages"), parameters, prepare=False).fetchall()
        return int(stored)

    def _put_aside(self, batch: Sequence[ParsedSession]) -> None:
        """Take out of the batch what isn't stored before the whole file was seen."""
        numbers = [number for (number,) in self._run("find_conflicting_sessions")]
        if numbers:
            self._conn.execute(statement("withdraw_sessions"), {"numbers": numbers})
            for number in numbers:
                self._aside.add(batch[number])

    def _hash_text(self, text: str) -> bytes:
        return hmac.digest(self._text_key, text.encode(), "sha256")[:_HASH_BYTES]

    def _run(self, name: str) -> psycopg.Cursor[Any]:
        # Never prepared: a plan made for the first, small batch would serve the large ones.
        return self._conn.execute(statement(name), self._key, prepare=False)

    def _counts(self, name: str) -> tuple[int, ...]:
        [counts] = self._run(name).fetchall()
        return tuple(counts)
