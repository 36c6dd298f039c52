"""Handwritten history: rows as a publish writes them, without a publish."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.model import CHAT_HISTORY, Store

BEGIN = datetime(2026, 10, 28, 9, 0, tzinfo=UTC)

MARA, NOOR, DECLAN, SAM = Store("mara"), Store("noor"), Store("declan"), Store("sam")
BLINKS = "blink.blinks"


def hash_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


class History:
    """Writes builds and what they did; the index follows the changes, as in a publish."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def build(
        self,
        *,
        day: float = 0,
        status: str = "published",
        mode: str = "incremental",
        embedded: int = 0,
        cached: int = 0,
    ) -> int:
        at = BEGIN + timedelta(days=day)
        row = self.connection.execute(
            "insert into memory.build (mode, scope, status, publish_order, recheck_snapshot, started_at, published_at,"
            "                          finished_at, records, added, removed, updated, unchanged, skipped, embedded,"
            "                          from_cache, note)"
            " values (%(mode)s, '{\"bucket\": 0}', %(status)s,"
            "         case when %(published)s then nextval('memory.publish_order') end, pg_current_snapshot(), %(at)s,"
            "         case when %(published)s then %(at)s end, case when %(status)s <> 'running' then %(at)s end,"
            "         0, 0, 0, 0, 0, 0, %(embedded)s, %(cached)s, 'a note that stays out of the mirror')"
            " returning build_id",
            {
                "mode": mode,
                "status": status,
                "published": status == "published",
                "at": at,
                "embedded": embedded,
                "cached": cached,
            },
        ).fetchone()
        assert row is not None
        return int(row[0])

    def change(
        self,
        build: int,
        action: str,
        reason: str,
        source_id: str,
        text: str | None = None,
        *,
        store: Store = MARA,
        chunk: int = 0,
        source: str = CHAT_HISTORY,
        replies: tuple[str, ...] = (),
    ) -> None:
        key = {
            "build": build,
            "user": store.user_id,
            "agent": store.agent_id,
            "source": source,
            "source_id": source_id,
            "chunk": chunk,
            "hash": hash_of(source_id if text is None else text),
            "action": action,
            "reason": reason,
            "replies": list(replies),
        }
        self.connection.execute(
            "insert into memory.change select %(build)s, %(user)s, %(agent)s, %(source)s, %(source_id)s, %(chunk)s,"
            " %(hash)s, %(action)s, %(reason)s, published_at from memory.build where build_id = %(build)s",
            key,
        )
        self.connection.execute(
            "update memory.build set added = added + (%(action)s = 'added')::int,"
            " removed = removed + (%(action)s = 'removed')::int, updated = updated + (%(action)s = 'updated')::int"
            " where build_id = %(build)s",
            key,
        )
        self.connection.execute(
            "delete from memory.chunk where (user_id, agent_id, source_key, source_id, chunk_index)"
            " = (%(user)s, %(agent)s, %(source)s, %(source_id)s, %(chunk)s)",
            key,
        )
        if action != "removed":
            self.connection.execute(
                "insert into memory.chunk (user_id, agent_id, source_key, source_id, chunk_index, content_hash,"
                "  content, spans, embedding, origin_class, recipe, build_id, reply_message_ids)"
                " values (%(user)s, %(agent)s, %(source)s, %(source_id)s, %(chunk)s, %(hash)s, 'text', '[]', '[1,0]',"
                "         'owner', 'r1', %(build)s, %(replies)s)",
                key,
            )

    def skip(self, build: int, reason: str, source_id: str, *, store: Store = MARA, source: str = CHAT_HISTORY) -> None:
        self.connection.execute(
            "insert into memory.skipped values (%s, %s, %s, %s, %s, %s)",
            [store.user_id, store.agent_id, source, source_id, reason, build],
        )
        self.connection.execute("update memory.build set skipped = skipped + 1 where build_id = %s", [build])

    def end_skip(self, build: int, source_id: str, *, store: Store = MARA) -> None:
        self.connection.execute(
            "update memory.skipped set until_build_id = %s"
            " where (user_id, agent_id, source_id) = (%s, %s, %s) and until_build_id is null",
            [build, store.user_id, store.agent_id, source_id],
        )

    def source(self, build: int, user_id: str, reason: str | None = None, source: str = CHAT_HISTORY) -> None:
        self.connection.execute(
            "update memory.source_status set until_build_id = %s"
            " where (user_id, source_key) = (%s, %s) and until_build_id is null",
            [build, user_id, source],
        )
        self.connection.execute(
            "insert into memory.source_status values (%s, %s, %s, %s, %s)",
            [user_id, source, "not_included" if reason else "included", reason, build],
        )

    def watermark(self, build: int) -> None:
        """Say that memory followed everyone up to a build, which has seen all that is committed by now."""
        self.connection.execute(
            "insert into memory.watermark values ('bucket_000', pg_current_snapshot(), 's', 0, 'r1', '{}', %(build)s)"
            " on conflict (scope) do update set build_id = %(build)s",
            {"build": build},
        )
        self.connection.execute(
            "update memory.build set recheck_snapshot = pg_current_snapshot() where build_id = %s", [build]
        )

    def session(self, session_id: str, store: Store = MARA) -> None:
        self.connection.execute(
            "insert into orbitpilot.account (user_id, plan_key) values (%s, 'default') on conflict do nothing",
            [store.user_id],
        )
        self.connection.execute(
            "insert into orbitpilot.session (user_id, agent_id, session_id) values (%s, %s, %s)",
            [store.user_id, store.agent_id, session_id],
        )

    def turn(
        self, session_id: str, pair_index: int, *, run_index: int | None = None, reply: bool = True, store: Store = MARA
    ) -> None:
        """Write user message ``u<pair_index>``, its number in the ledger, and perhaps reply ``a<pair_index>``."""
        key = [store.user_id, store.agent_id, session_id]
        run = pair_index if run_index is None else run_index
        self.connection.execute(
            "insert into orbitpilot.message (user_id, agent_id, session_id, message_id, position, role, content,"
            " pair_index, run_index) values (%s, %s, %s, %s, %s, 'user', 'a secret question', %s, %s)",
            [*key, f"u{pair_index}", 2 * pair_index, pair_index, run],
        )
        self.connection.execute(
            "insert into memory.pair (user_id, agent_id, session_id, pair_index, message_id, not_remembered, run_index)"
            " values (%s, %s, %s, %s, %s, false, %s)",
            [*key, pair_index, f"u{pair_index}", run],
        )
        if reply:
            self.connection.execute(
                "insert into orbitpilot.message (user_id, agent_id, session_id, message_id, position, role, content,"
                " answers) values (%s, %s, %s, %s, %s, 'assistant', 'a secret answer', %s)",
                [*key, f"a{pair_index}", 2 * pair_index + 1, pair_index],
            )

    def flag(self, session_id: str, message_id: str, value: bool = True) -> None:
        self.connection.execute(
            "update orbitpilot.message set not_remembered = %s where session_id = %s and message_id = %s",
            [value, session_id, message_id],
        )

    def commit(self) -> None:
        self.connection.commit()


def write_five_weeks(history: History) -> list[int]:
    """Write five weeks of four people's builds: exclusions, an edit, a cap, a lost source, a failure, a deletion."""
    first = history.build(mode="full", embedded=9)
    for user in ("mara", "declan"):
        for source in (BLINKS, CHAT_HISTORY):
            history.source(first, user, source=source)
    history.source(first, "noor", source=BLINKS)
    history.source(first, "noor", "source_over_cap")
    for source_id in ("garden:0", "garden:1", "garden:2", "trip:0", "trip:1"):
        history.change(first, "added", "new_pair", source_id)
    history.change(first, "added", "new_pair", "garden:2", "its second chunk", chunk=1)
    history.change(first, "added", "new_pair", "b-1", source=BLINKS)
    history.change(first, "added", "new_pair", "b-2", source=BLINKS, store=NOOR)
    history.change(first, "added", "new_pair", "drip:0", store=DECLAN)
    history.skip(first, "not_remembered", "garden:3")
    history.skip(first, "source_over_cap", "dog:0", store=NOOR)
    history.skip(first, "source_over_cap", "dog:1", store=NOOR)

    second = history.build(day=7, embedded=1)
    history.change(second, "removed", "not_remembered", "garden:1")
    history.skip(second, "not_remembered", "garden:1")
    history.change(second, "removed", "content_edited", "garden:2")
    history.change(second, "added", "content_edited", "garden:2", "edited")

    failed = history.build(day=8, status="failed")
    unchanged = history.build(day=9, status="unchanged")

    third = history.build(day=20, embedded=2)
    history.source(third, "noor")
    for source_id in ("dog:0", "dog:1"):
        history.end_skip(third, source_id, store=NOOR)
        history.change(third, "added", "source_included", source_id, store=NOOR)

    fourth = history.build(day=27)
    history.source(fourth, "declan", "source_not_assigned")
    history.change(fourth, "removed", "source_not_assigned", "drip:0", store=DECLAN)
    history.skip(fourth, "source_not_assigned", "drip:0", store=DECLAN)
    history.source(fourth, "sam", "source_over_cap")
    history.skip(fourth, "source_over_cap", "quiz:0", store=SAM)

    fifth = history.build(day=30, cached=1)
    history.end_skip(fifth, "garden:1")
    history.change(fifth, "added", "remembered_again", "garden:1")
    history.change(fifth, "removed", "session_deleted", "trip:0")
    history.change(fifth, "removed", "session_deleted", "trip:1")
    history.change(fifth, "updated", "metadata_changed", "garden:0")
    return [first, second, failed, unchanged, third, fourth, fifth]


@pytest.fixture
def history(connection: psycopg.Connection[Any]) -> History:
    """A writer of history into this test's database."""
    return History(connection)


@pytest.fixture
def five_weeks(history: History) -> list[int]:
    """Five weeks of builds, committed; their ids in order."""
    builds = write_five_weeks(history)
    history.commit()
    return builds


@pytest.fixture
def lineage_folder(connection: psycopg.Connection[Any], five_weeks: list[int], tmp_path: Path) -> Path:
    """The mirror of five weeks of builds."""
    folder = tmp_path / "lineage"
    mirror_lineage(connection, folder)
    return folder


@pytest.fixture
def query() -> Callable[[Path, str], list[tuple[Any, ...]]]:
    """Run a statement on a lineage folder's views, as an analyst does: a database opened for it alone."""

    def run(folder: Path, sql: str) -> list[tuple[Any, ...]]:
        import duckdb

        with duckdb.connect(folder / "lineage.duckdb", read_only=True) as database:
            return database.execute(sql).fetchall()

    return run
