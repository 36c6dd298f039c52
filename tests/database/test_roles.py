from collections.abc import Callable, Iterator

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import TupleRow

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.migrating import migrate
from orbit_pipelines.database.roles import (
    DatabaseRole,
    acting_for,
    administrator_statements,
    connect_as,
    grant_roles,
    read_role_statuses,
    role_name,
)
from orbit_pipelines.database.schema import current_revision, head_revision
from orbit_pipelines.errors import DatabaseUnavailable
from tests.worlds import World

Connection = psycopg.Connection[TupleRow]
NewDatabase = Callable[..., str]

GRANTED_POWERS = (
    "select rolname from pg_roles where rolname in ('plain_pipeline', 'plain_app', 'plain_analyst')"
    " and (rolcanlogin or rolsuper)"
)
OWNERS = """
select distinct pg_get_userbyid(owner)
  from (select relowner from pg_class where relnamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace)
        union all
        select proowner from pg_proc where pronamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace)
        union all
        select nspowner from pg_namespace where nspname in ('orbitpilot', 'memory')) as object (owner)
"""
PRIVILEGES = """
select relation.oid::regclass::text, relation.relacl::text, attribute.attname::text, attribute.attacl::text
  from pg_class as relation
  left join pg_attribute as attribute on attribute.attrelid = relation.oid and attribute.attacl is not null
 where relation.relnamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace)
union all
select routine.oid::regprocedure::text, routine.proacl::text, null, null
  from pg_proc as routine where routine.pronamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace)
union all
select nspname, nspacl::text, null, null from pg_namespace where nspname in ('orbitpilot', 'memory')
"""


@pytest.fixture
def as_superuser(cluster: EmbeddedServer) -> Iterator[Connection]:
    """The cluster's superuser, in its maintenance database, in autocommit."""
    with connect(cluster.url("postgres"), autocommit=True) as connection:
        yield connection


@pytest.fixture
def new_empty(cluster: EmbeddedServer, as_superuser: Connection) -> Iterator[NewDatabase]:
    """Make an empty database with pgvector in it, somebody's own, and return their URL for it."""
    made = []

    def create(name: str = "plain", owner: str = "postgres") -> str:
        made.append(sql.Identifier(name))
        as_superuser.execute(
            sql.SQL("create database {} owner {} template template0").format(made[-1], sql.Identifier(owner))
        )
        parameters = psycopg.conninfo.conninfo_to_dict(cluster.url("postgres"))
        url = psycopg.conninfo.make_conninfo("", **{**parameters, "dbname": name})
        with connect(url) as connection:
            connection.execute("create extension vector")
        return psycopg.conninfo.make_conninfo(url, user=owner)

    yield create
    for name in made:
        as_superuser.execute(sql.SQL("drop database {} with (force)").format(name))


def fetch(url: str, query: str) -> set[tuple[object, ...]]:
    """Return a query's rows."""
    with connect(url) as connection:
        return set(connection.execute(query.encode()).fetchall())


def as_user(url: str, user: str) -> str:
    """Return a URL with another user in it."""
    return psycopg.conninfo.make_conninfo(url, user=user)


@given(database=st.text(min_size=1).filter(lambda name: "\0" not in name and 1 <= len(name.encode()) <= 63))
def test_a_roles_name_carries_the_databases_and_fits(database: str) -> None:
    for role in DatabaseRole:
        name = role_name(database, role)

        assert len(name.encode()) <= 63
        assert name.endswith(f"_{role}")
        assert name == f"{database}_{role}" or database.startswith(name.rsplit("_", 2)[0])


@given(
    databases=st.lists(st.integers(0, 10**6).map(lambda n: f"{'é' * 26}_{n:07}"), min_size=2, max_size=5, unique=True)
)
def test_long_names_are_told_apart(databases: list[str]) -> None:
    names = {role_name(database, role) for database in databases for role in DatabaseRole}

    assert len(names) == len(databases) * len(DatabaseRole)


def test_migrating_makes_the_roles_and_gives_everything_to_the_pipelines(new_empty: NewDatabase) -> None:
    url = new_empty()

    assert migrate(url) == ()

    assert fetch(url, OWNERS) == {("plain_pipeline",)}
    with connect(url) as connection:
        roles = read_role_statuses(connection)
    assert [(role.role_name, role.exists, role.members) for role in roles] == [
        ("plain_pipeline", True, ()),
        ("plain_app", True, ()),
        ("plain_analyst", True, ()),
    ]
    assert fetch(url, GRANTED_POWERS) == set()


@pytest.mark.parametrize("name", ['we"ird; drop -- %s {app}', "é" * 31, "x" * 63])
def test_any_name_of_a_database_will_do(new_empty: NewDatabase, name: str) -> None:
    url = new_empty(name)

    assert migrate(url) == ()

    with connect_as(url, DatabaseRole.APP) as connection:
        assert connection.execute("select current_user::text").fetchone() == (role_name(name, DatabaseRole.APP),)


def test_granting_again_changes_nothing(people: World) -> None:
    before = people.sql(PRIVILEGES)

    assert grant_roles(people.connection) == ()

    assert sorted(people.sql(PRIVILEGES), key=str) == sorted(before, key=str)


def test_granting_takes_away_what_this_version_does_not_grant(people: World) -> None:
    people.sql("grant select on memory.embedding_cache to granted_app")
    people.sql("grant update (reason) on memory.change to granted_analyst")

    grant_roles(people.connection)

    assert people.sql("select has_table_privilege('granted_app', 'memory.embedding_cache', 'select')") == [(False,)]
    assert people.sql("select has_any_column_privilege('granted_analyst', 'memory.change', 'update')") == [(False,)]


def test_whoever_may_not_make_roles_gets_a_working_schema_and_the_sql(
    new_empty: NewDatabase, as_superuser: Connection
) -> None:
    as_superuser.execute("create role limited login")
    url = new_empty(owner="limited")

    statements = migrate(url)

    assert current_revision(url) == head_revision()
    assert fetch(url, OWNERS) == {("limited",)}
    assert fetch(url, "select count(*) from memory.database_role") == {(0,)}
    assert [statement.split(" with ")[0].rstrip(";") for statement in statements] == [
        'create role "plain_pipeline" nologin',
        'create role "plain_app" nologin',
        'create role "plain_analyst" nologin',
        'grant "plain_pipeline" to "limited"',
    ]
    assert migrate(url) == statements

    for statement in statements:
        as_superuser.execute(statement.encode())

    assert migrate(url) == ()
    assert fetch(url, OWNERS) == {("plain_pipeline",)}
    with connect(url) as connection:
        assert administrator_statements(connection) == ()
        assert connection.execute("insert into orbitpilot.account (user_id) values ('ann')").rowcount == 1


def test_what_an_administrator_left_out_is_asked_for_again(new_empty: NewDatabase, as_superuser: Connection) -> None:
    as_superuser.execute("create role limited login")
    url = new_empty(owner="limited")
    for statement in migrate(url)[:3]:
        as_superuser.execute(statement.encode())

    [membership] = migrate(url)

    assert membership.startswith('grant "plain_pipeline" to "limited"')
    assert fetch(url, OWNERS) == {("limited",)}


def test_whoever_may_make_roles_needs_no_administrator(new_empty: NewDatabase, as_superuser: Connection) -> None:
    as_superuser.execute("create role maker login createrole")
    url = new_empty(owner="maker")

    assert migrate(url) == ()
    assert migrate(url) == ()

    assert fetch(url, OWNERS) == {("plain_pipeline",)}
    assert fetch(url, "select count(*) from orbitpilot.account") == {(0,)}


def test_who_owned_the_tables_works_on_when_a_superuser_migrates(
    new_empty: NewDatabase, as_superuser: Connection
) -> None:
    as_superuser.execute("create role limited login noinherit")
    url = new_empty(owner="limited")
    migrate(url, "0001_foundation")

    assert migrate(as_user(url, "postgres")) == ()

    assert fetch(url, OWNERS) == {("plain_pipeline",)}
    with connect(url) as connection:
        connection.execute("insert into orbitpilot.account (user_id) values ('ann')")
        connection.execute(
            "create table memory.change_2020_01 partition of memory.change"
            " for values from ('2020-01-01') to ('2020-02-01')"
        )
    assert migrate(url) == ()


def test_a_member_of_the_pipelines_role_migrates_as_a_superuser_does(
    new_empty: NewDatabase, as_superuser: Connection
) -> None:
    url = new_empty()
    migrate(url)
    as_superuser.execute("create role member login in role plain_pipeline")
    url = as_user(url, "member")
    with connect(url) as connection:
        connection.execute("update public.orbit_schema_version set version_num = version_num")
        connection.execute("alter table memory.chunk add column terms tsvector")
        connection.execute("create table memory.entry (user_id text primary key)")
        connection.execute("create function memory.terms() returns int language sql return 1")

    assert migrate(url) == ()

    assert fetch(url, OWNERS) == {("plain_pipeline",)}
    assert fetch(
        url,
        "select has_any_column_privilege('plain_app', 'memory.entry', 'select'),"
        " has_column_privilege('plain_analyst', 'memory.chunk', 'terms', 'select'),"
        " has_function_privilege('public', 'memory.terms()', 'execute')",
    ) == {(False, False, False)}


def test_a_copy_under_another_name_has_roles_of_its_own(people: World, as_superuser: Connection) -> None:
    people.connection.close()
    as_superuser.execute("create database the_copy template granted")
    url = people.url.replace("/granted", "/the_copy")
    try:
        with pytest.raises(DatabaseUnavailable, match=r"no role 'the_copy_app' yet.*orbit migrate"):
            connect_as(url, DatabaseRole.APP)

        assert migrate(url) == ()

        assert fetch(url, OWNERS) == {("the_copy_pipeline",)}
        assert fetch(people.url, OWNERS) == {("granted_pipeline",)}
        leftover = "select relname from pg_class where relacl::text like '%granted_%' or relacl::text like '%test%'"
        assert fetch(url, leftover) == set()
        assert fetch(url, "select polroles::regrole[]::text from pg_policy where polroles <> '{0}'") == {
            ("{the_copy_analyst}",)
        }
        with connect_as(url, DatabaseRole.APP) as connection, acting_for(connection, "ann"):
            assert connection.execute("select distinct user_id from memory.chunk").fetchall() == [("ann",)]
        # What stayed behind is nothing that keeps the original's roles from being dropped.
        assert (
            fetch(
                url,
                "select refobjid::regrole::text from pg_shdepend where dbid ="
                " (select oid from pg_database where datname = current_database())"
                " and refobjid::regrole::text like 'granted%'",
            )
            == set()
        )
    finally:
        as_superuser.execute("drop database the_copy with (force)")


def test_the_sql_of_roles_is_not_needed_where_they_are(people: World) -> None:
    assert administrator_statements(people.connection) == ()


def test_a_login_that_is_no_member_is_told_what_to_run(people: World, as_superuser: Connection) -> None:
    as_superuser.execute("create role stranger login")

    with pytest.raises(DatabaseUnavailable, match=r'no member of .*run: grant "granted_app" to "stranger";'):
        connect_as(as_user(people.url, "stranger"), DatabaseRole.APP)


def test_a_role_outlasts_a_rollback(people: World) -> None:
    with connect_as(people.url, DatabaseRole.ANALYST) as connection:
        connection.rollback()

        assert connection.execute("select current_user::text").fetchone() == ("granted_analyst",)


def test_acting_for_somebody_needs_a_connection_that_row_level_security_binds(people: World) -> None:
    for connection in (people.connection, connect_as(people.url, DatabaseRole.PIPELINE)):
        with connection, pytest.raises(RuntimeError, match="connect_as"), acting_for(connection, "ann"):
            pass


def test_acting_for_somebody_does_not_begin_inside_a_transaction(app: Connection) -> None:
    with (
        app.transaction(),
        pytest.raises(RuntimeError, match="inside another"),
        acting_for(app, "ann"),
    ):
        pass


def test_an_error_while_acting_for_somebody_undoes_what_was_done(people: World, app: Connection) -> None:
    def delete_too_much() -> None:
        with acting_for(app, "ann"):
            app.execute("delete from orbitpilot.message")
            app.execute("delete from orbitpilot.account")

    with pytest.raises(InsufficientPrivilege):
        delete_too_much()

    with acting_for(app, "ann"):
        assert app.execute("select count(*) > 0 from orbitpilot.message").fetchone() == (True,)
