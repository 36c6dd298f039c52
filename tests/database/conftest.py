"""A database with two people's data in every table that holds people's, and with its roles made."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.roles import DatabaseRole, acting_for, connect_as, grant_roles
from orbit_pipelines.settings import Settings
from tests.worlds import World

Connection = psycopg.Connection[TupleRow]
ActFor = Callable[[str], AbstractContextManager[Connection]]

PEOPLE = ("ann", "bob")


@pytest.fixture
def cluster(server: EmbeddedServer) -> Iterator[EmbeddedServer]:
    """The server; the roles that a test adds to it end with the test, after its databases."""
    with connect(server.url("postgres"), autocommit=True) as connection:
        before = connection.execute("select rolname from pg_roles").fetchall()
        yield server
        for (name,) in set(connection.execute("select rolname from pg_roles").fetchall()) - set(before):
            connection.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def populated(new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Ann and Bob, as alike as can be, in every table there is: built together first, then each alone. To be copied."""
    url = new_database()
    settings = Settings(home=tmp_path_factory.mktemp("people"), database_url=url, embedder="fake")
    world = World(url, settings, connect(url, autocommit=True))
    for user in PEOPLE:
        store = world.account(user)
        *_, flagged, _ = world.say(store, "s1", "Plums?", "> Ripe.", "A wrong turn.", "Never this.", "> Fine.")
        world.remember(store, "s1", flagged, remembered=False)
        world.sql("insert into orbitpilot.session_participant values (%s, 'orbitpilot', 's1', 'guest')", user)
        world.record(store, "blink.blinks", "b1", "Plums are ripe.")
        world.sql("insert into memory.tombstone (user_id, agent_id, session_id) values (%s, 'orbitpilot', 's9')", user)
        world.sql("insert into memory.forgotten_record values (%s, 'orbitpilot', 'blink.blinks', 'b9')", user)
        world.sql("insert into memory.former_session values (%s, 'orbitpilot', 's1', 'eve', 'other', 's8', 1)", user)
        world.sql(
            "insert into memory.former_record values (%s, 'orbitpilot', 'blink.blinks', 'b1', 'eve', 'two', 's', 'b8')",
            user,
        )
        world.sql("insert into memory.former_account values (%s, 'eve')", user)
        world.sql("insert into memory.session_admission values (%s, 'orbitpilot', 's1', 9)", user)
        world.sql("insert into memory.admission_rule (user_id, kind, value) values (%s, 'participant', 'guest')", user)
        world.sql("insert into orbitpilot.credential values (%s, 'no hash')", user)
        world.sql("insert into orbitpilot.sign_in (user_id) values (%s)", user)
        world.sql(
            "insert into memory.forget (number, user_id, issued_at, digest, previous, receipt)"
            " select 1 + count(*), %s, now(), repeat((1 + count(*))::text, 64), max(digest), '{}' from memory.forget",
            user,
        )
    world.build()
    for user in PEOPLE:
        world.say(world.account(user), "s1", "And apples?", "> Not yet.")
        world.build(user)
    world.sql("delete from orbitpilot.message where content = 'A wrong turn.'")
    world.close()
    return settings


@pytest.fixture
def granted(cluster: EmbeddedServer, populated: Settings) -> Iterator[str]:
    """The URL of a database of this test's own, with the two people and its roles."""
    names = {
        "copy": sql.Identifier("granted"),
        "original": sql.Identifier(str(conninfo_to_dict(str(populated.database_url))["dbname"])),
    }
    with connect(cluster.url("postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {copy} template {original}").format(**names))
        url = cluster.url("granted")
        with connect(url) as inside:
            assert grant_roles(inside) == ()
        yield url
        connection.execute(sql.SQL("drop database {copy} with (force)").format(**names))


@pytest.fixture
def people(granted: str, populated: Settings) -> Iterator[World]:
    """The two people's world."""
    settings = populated.model_copy(update={"database_url": granted})
    world = World(granted, settings, connect(granted, autocommit=True))
    yield world
    world.close()


@pytest.fixture
def app(granted: str) -> Iterator[Connection]:
    """A connection with the application's rights only."""
    with connect_as(granted, DatabaseRole.APP) as connection:
        yield connection


@pytest.fixture
def analyst(granted: str) -> Iterator[Connection]:
    """A connection with an analyst's rights only, in autocommit."""
    with connect_as(granted, DatabaseRole.ANALYST, autocommit=True) as connection:
        yield connection


@pytest.fixture
def act_for(app: Connection) -> ActFor:
    """Open a transaction of the application for somebody, which is rolled back."""

    @contextmanager
    def act(user_id: str) -> Iterator[Connection]:
        with acting_for(app, user_id):
            yield app
            raise psycopg.Rollback

    return act
