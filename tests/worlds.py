"""A small world to build in: accounts, chats, toggles, and builds with the fake embedder."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from orbit_pipelines.building.publish import Published
from orbit_pipelines.building.run import BuildRequest, BuildRun, build
from orbit_pipelines.database.connection import connect
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.history.flags import set_record_excluded, set_remembered
from orbit_pipelines.history.messages import append_message
from orbit_pipelines.history.stream import Role
from orbit_pipelines.model import Mode, Store
from orbit_pipelines.settings import Settings
from orbit_pipelines.sources.records import put_record

Connection = psycopg.Connection[Any]


@dataclass
class World:
    """One database with its builds; every change commits at once."""

    url: str
    settings: Settings
    connection: Connection
    embedder: FakeEmbedder = field(default_factory=lambda: FakeEmbedder(dimensions=8))
    runs: Iterator[int] = field(default_factory=count)
    opened: list[Connection] = field(default_factory=list)

    def account(self, user: str, plan: str | None = None) -> Store:
        """Make an account; return its default store."""
        create_account(self.connection, user, plan_key=plan)
        return Store(user)

    def say(self, store: Store, session: str, *turns: str) -> list[str]:
        """Append turns to a session: a text is the user's, one that begins with '>' the agent's. Return their ids."""
        ids = []
        for turn in turns:
            role: Role = "assistant" if turn.startswith(">") else "user"
            stored = append_message(self.connection, store, session, role, turn.removeprefix(">").strip())
            ids.append(stored.message_id)
        return ids

    def remember(self, store: Store, session: str, message: str, *, remembered: bool) -> None:
        """Set or lift the flag of a message."""
        set_remembered(self.connection, store, session, message, remembered)

    def record(self, store: Store, source: str, key: str, content: str) -> None:
        """Write a record of another source."""
        put_record(self.connection, store, source, key, content)

    def exclude(self, store: Store, source: str, key: str, *, excluded: bool) -> None:
        """Set or lift a record's flag."""
        set_record_excluded(self.connection, store, source, key, excluded)

    def run(self, *users: str, full: bool = False, settings: Settings | None = None) -> BuildRun:
        """Make a build's run, not yet started, on a connection of its own."""
        self.opened.append(connect(self.url, autocommit=True))
        return BuildRun(
            connection=self.opened[-1],
            settings=settings or self.settings,
            request=BuildRequest(Mode.FULL if full else Mode.INCREMENTAL, users),
            embedder=self.embedder,
            run_id=f"run-{next(self.runs)}",
        )

    def build(self, *users: str, full: bool = False, settings: Settings | None = None) -> Published:
        """Build, and return what was published."""
        run = self.run(*users, full=full, settings=settings)
        try:
            return build(run)
        finally:
            run.connection.close()

    def close(self) -> None:
        """Close every connection of this world's."""
        for connection in (*self.opened, self.connection):
            connection.close()

    def sql(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run one statement."""
        cursor = self.connection.execute(query.encode(), parameters or None)
        return cursor.fetchall() if cursor.description else []

    def contents(self) -> dict[str, str]:
        """Return what memory holds: source id → its chunks' texts, joined."""
        return dict(
            self.sql(
                "select source_id, string_agg(content, '|' order by chunk_index) from memory.chunk"
                " group by user_id, agent_id, source_key, source_id order by 1"
            )
        )

    def chunks(self) -> list[tuple[Any, ...]]:
        """Return every column of every chunk but its build."""
        return self.sql(
            "select user_id, agent_id, source_key, source_id, chunk_index, content_hash, session_id, message_id,"
            " reply_message_ids, content, spans, embedding::text, language, origin_class, session_kind, sent_at, recipe"
            " from memory.chunk order by 1, 2, 3, 4, 5"
        )

    def changes(self) -> list[tuple[str, str, str]]:
        """Return the newest publish's changes: source id, action, reason, each once."""
        return self.sql(
            "select distinct source_id, action, reason from memory.change"
            " where build_id = (select build_id from memory.build order by publish_order desc nulls last limit 1)"
            " order by 1, 2, 3"
        )

    def skips(self) -> dict[str, str]:
        """Return the skips in force: source id → reason."""
        return dict(self.sql("select source_id, reason from memory.skipped where until_build_id is null order by 1"))


@pytest.fixture
def world(new_world: Callable[[], World]) -> World:
    """An empty world of this test's own."""
    return new_world()


@pytest.fixture
def new_world(
    new_database: Callable[[], str], drop_database: Callable[[str], None], tmp_path: Path
) -> Iterator[Callable[[], World]]:
    """Make empty worlds, for tests that need several."""
    made: list[World] = []

    def create() -> World:
        url = new_database()
        settings = Settings(home=tmp_path / f"world-{len(made)}", database_url=url, embedder="fake")
        made.append(World(url, settings, connect(url, autocommit=True)))
        return made[-1]

    yield create
    for world in made:
        world.close()
        drop_database(world.url)
