"""What the application's role and analysts can reach, found from the catalog: a table added later is tested too."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.errors import InsufficientPrivilege, RaiseException
from psycopg.rows import TupleRow

from orbit_pipelines.building.run import build
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.roles import DatabaseRole, acting_for, connect_as, role_name
from orbit_pipelines.errors import UnknownAccount, UnknownMessage
from orbit_pipelines.history.flags import set_record_excluded, set_remembered
from orbit_pipelines.history.importing import import_sessions
from orbit_pipelines.history.messages import append_message
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession
from orbit_pipelines.model import Store
from orbit_pipelines.sources.records import delete_record, put_record
from orbit_pipelines.sources.resolution import resolve_build_sources
from tests.database.conftest import PEOPLE, ActFor
from tests.worlds import World

Connection = psycopg.Connection[TupleRow]

TABLES = """
select relation.oid::regclass::text, relation.relispartition, relation.relrowsecurity, relation.relforcerowsecurity,
       exists (select from pg_attribute as a
                where a.attrelid = relation.oid and a.attname = 'user_id' and not a.attisdropped)
  from pg_class as relation
 where relation.relnamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace)
   and relation.relkind in ('r', 'p')
 order by 1
"""
COLUMNS = """
select attribute.attname, attribute.attgenerated <> '' or attribute.attidentity <> ''
  from pg_attribute as attribute
 where attribute.attrelid = %s::regclass and attribute.attnum > 0 and not attribute.attisdropped
 order by attribute.attnum
"""
CLOSED_TO_THE_APPLICATION = {
    "memory.embedding_cache",
    "memory.former_account",
    "memory.former_record",
    "memory.store",
    "orbitpilot.credential",
    "orbitpilot.deletion",
}
# What an analyst may read of type text, json or bytes: keys, kinds and reasons. Anything else is somebody's words.
KEYS_KINDS_AND_REASONS = {
    *("user_id", "agent_id", "session_id", "message_id", "parent_id", "author", "actor_id", "source_key", "source_id"),
    *("origin_session_id", "origin_message_id", "reply_message_ids", "plan_key", "locale", "recipe", "content_hash"),
    *("channel", "chat_type", "session_kind", "hook_source", "role", "kind", "origin_class", "language", "model"),
    *("mode", "scope", "status", "action", "reason", "value", "details", "plan_statuses", "system_identifier"),
    *("dagster_run_id", "executor", "workspace", "note", "former_user_id", "former_agent_id", "former_session_id"),
    *("former_source_key", "former_source_id"),
}
TITLES_OF_ADMINISTRATORS = {("orbitpilot.plan", "title"), ("orbitpilot.memory_source", "title")}
WORDS = {"content", "spans", "embedding", "title"}


def tables_of_people(connection: Connection) -> list[str]:
    """Return every table that has a column user_id; partitions are reached through theirs."""
    return [name for name, is_part, _, _, has_user in connection.execute(TABLES.encode()) if has_user and not is_part]


def owners(connection: Connection, table: str) -> dict[str, int]:
    """Return how many rows of a table each person has, as this connection sees it."""
    query = sql.SQL("select user_id, count(*) from {} group by user_id").format(sql.SQL(table))
    return dict(connection.execute(query).fetchall())


def may(connection: Connection, table: str, privilege: str) -> bool:
    """Whether the connection's role has a privilege on a table, or on any column of it."""
    check = "has_table_privilege" if privilege == "delete" else "has_any_column_privilege"
    return connection.execute(f"select {check}(%s, %s)".encode(), [table, privilege]).fetchone() == (True,)


def test_every_table_of_people_is_under_row_level_security_and_its_owner_is_not(people: World) -> None:
    names = tables_of_people(people.connection)
    security = {name: (active, forced) for name, _, active, forced, _ in people.sql(TABLES)}
    policies = dict(
        people.sql(
            "select polrelid::regclass::text, polroles = '{0}' from pg_policy"
            " where polname = 'own_rows' and polpermissive and polcmd = '*'"
        )
    )

    assert {name: security[name] for name in names} == dict.fromkeys(names, (True, False))
    assert [name for name in names if not policies.get(name)] == []


def test_the_two_people_have_rows_in_every_table_of_people(people: World) -> None:
    for name in tables_of_people(people.connection):
        assert owners(people.connection, name).keys() == set(PEOPLE), name


def test_the_application_reads_nothing_without_a_person(people: World, app: Connection) -> None:
    for name in set(tables_of_people(people.connection)) - CLOSED_TO_THE_APPLICATION:
        assert owners(app, name) == {}, name
    assert app.execute("select count(*) from memory.build").fetchone() == (0,)
    assert app.execute("select count(*) from memory.watermark").fetchone() == (0,)


@pytest.mark.parametrize("nobody", ["", "Ann", "ann ", "%", "carl"])
def test_a_person_who_is_nobody_reads_nothing(people: World, act_for: ActFor, nobody: str) -> None:
    with act_for(nobody) as app:
        for name in set(tables_of_people(people.connection)) - CLOSED_TO_THE_APPLICATION:
            assert owners(app, name) == {}, name


def test_the_application_reads_one_persons_rows_and_all_of_them(people: World, act_for: ActFor) -> None:
    for name in set(tables_of_people(people.connection)) - CLOSED_TO_THE_APPLICATION:
        expected = {"ann": owners(people.connection, name)["ann"]}
        with act_for("ann") as app:
            assert owners(app, name) == expected, name


def test_some_tables_are_closed_to_the_application(people: World, app: Connection) -> None:
    names = tables_of_people(people.connection)

    closed = {name for name in names if not any(may(app, name, p) for p in ("select", "insert", "update", "delete"))}

    assert closed == CLOSED_TO_THE_APPLICATION
    with pytest.raises(InsufficientPrivilege):
        app.execute("select from memory.embedding_cache")


def test_the_person_ends_with_the_transaction(people: World, app: Connection) -> None:
    with acting_for(app, "ann"):
        assert app.execute("select count(*) from orbitpilot.account").fetchone() == (1,)

    assert app.execute("select count(*) from orbitpilot.account").fetchone() == (0,)


def refused_or_nothing(app: Connection, command: sql.Composed) -> bool:
    """Whether a command is refused, or finds no row."""
    try:
        with app.transaction():
            return app.execute(command).rowcount == 0
    except InsufficientPrivilege:
        return True


def test_the_application_writes_no_row_of_another_person(people: World, act_for: ActFor) -> None:
    for name in tables_of_people(people.connection):
        columns = [column for column, is_made in people.sql(COLUMNS, name) if not is_made]
        changeable = [
            column
            for column in columns
            if column != "user_id"
            and people.sql(
                "select has_column_privilege(%s, %s, %s, 'update')", role_of(people, DatabaseRole.APP), name, column
            )[0][0]
        ]
        listed = sql.SQL(", ").join(map(sql.Identifier, columns))
        [row] = people.connection.execute(
            sql.SQL("select {} from {} where user_id = 'bob' limit 1").format(listed, sql.SQL(name))
        ).fetchall()
        before = owners(people.connection, name)
        with act_for("ann") as app:
            assert refused_or_nothing(
                app,
                sql.SQL("insert into {} ({}) values ({})").format(
                    sql.SQL(name), listed, sql.SQL(", ").join(map(literal, row))
                ),
            ), name
            assert refused_or_nothing(app, sql.SQL("delete from {} where user_id = 'bob'").format(sql.SQL(name))), name
            for column in changeable:
                command = sql.SQL("update {} set {} = {} where user_id = 'bob'")
                assert refused_or_nothing(
                    app, command.format(sql.SQL(name), sql.Identifier(column), sql.Identifier(column))
                ), name
            with pytest.raises(InsufficientPrivilege), app.transaction():
                app.execute(sql.SQL("update {} set user_id = 'bob' where user_id = 'ann'").format(sql.SQL(name)))
        assert owners(people.connection, name) == before


def literal(value: Any) -> sql.Composable:
    """Return a value as SQL; a document as JSON."""
    return sql.Literal(json.dumps(value) if isinstance(value, dict) or is_document(value) else value)


def is_document(value: Any) -> bool:
    """Whether a value came from a JSON column: a list of anything but plain texts."""
    return isinstance(value, list) and not all(isinstance(part, str) for part in value)


def role_of(people: World, role: DatabaseRole) -> str:
    """Return the name of a role of this test's database."""
    [(database,)] = people.sql("select current_database()")
    return role_name(database, role)


def test_the_application_writes_nothing_without_a_person(people: World, app: Connection) -> None:
    for command in (
        "insert into orbitpilot.session (user_id, session_id) values ('ann', 's2')",
        "insert into memory.pair (user_id, agent_id, session_id, pair_index, message_id)"
        " values ('ann', 'a', 's', 0, 'm')",
    ):
        with pytest.raises(InsufficientPrivilege), app.transaction():
            app.execute(command.encode())
    for table in ("session", "session_participant", "message", "record"):
        assert app.execute(f"delete from orbitpilot.{table}".encode()).rowcount == 0
        assert app.execute(f"update orbitpilot.{table} set agent_id = 'x'".encode()).rowcount == 0


def test_the_application_sees_the_builds_and_watermarks_that_cover_the_person(people: World, act_for: ActFor) -> None:
    with act_for("ann") as app:
        scopes = [scope for (scope,) in app.execute("select scope from memory.build order by build_id")]
        marks = [scope for (scope,) in app.execute("select scope from memory.watermark order by scope")]

    assert scopes == [{"bucket": 0}, {"users": ["ann"]}]
    assert marks == ["bucket_000", "user:ann"]


def test_plans_and_sources_are_nobodys_and_so_everybodys(people: World, act_for: ActFor) -> None:
    with act_for("ann") as app:
        assert resolve_build_sources(app, "ann") == resolve_build_sources(people.connection, "ann")
        with pytest.raises(UnknownAccount):
            resolve_build_sources(app, "bob")


def test_an_account_changes_its_language_and_not_its_plan(people: World, act_for: ActFor) -> None:
    with act_for("ann") as app:
        assert app.execute("update orbitpilot.account set locale = 'fr'").rowcount == 1
        with pytest.raises(InsufficientPrivilege):
            app.execute("update orbitpilot.account set plan_key = 'default'")


def test_sign_in_reads_one_account_before_anybody_is_signed_in(
    people: World, app: Connection, analyst: Connection
) -> None:
    query = "select * from orbitpilot.account_for_sign_in(%s)"

    assert app.execute(query, ["bob"]).fetchall() == [("bob", None, "en", "no hash")]
    assert app.execute(query, ["carl"]).fetchall() == []
    with pytest.raises(InsufficientPrivilege):
        analyst.execute(query, ["bob"])


def remembered_message(people: World, user: str) -> str:
    """Return the id of a user message that isn't flagged."""
    query = "select min(message_id) from orbitpilot.message where user_id = %s and role = 'user' and not not_remembered"
    [(message,)] = people.sql(query, user)
    return str(message)


def test_toggling_as_the_application_writes_one_row_and_nothing_else(people: World, app: Connection) -> None:
    message = remembered_message(people, "ann")
    before = row_versions(people)

    with acting_for(app, "ann"):
        change = set_remembered(app, Store("ann"), "s1", message, remembered=False)

    assert change.was_changed
    after = row_versions(people)
    changed = {name: len(after[name] - before[name]) for name in after if after[name] != before[name]}
    assert changed == {"orbitpilot.message": 1}


def row_versions(people: World) -> dict[str, set[tuple[Any, ...]]]:
    """Return the physical row versions of every table."""
    tables = [name for name, is_part, *_ in people.sql(TABLES) if not is_part]
    return {name: set(people.sql(f"select tableoid, ctid::text, xmin::text from {name}")) for name in tables}


def test_a_message_of_another_person_cannot_be_toggled(people: World, act_for: ActFor) -> None:
    message = remembered_message(people, "bob")

    with act_for("ann") as app:
        for store in (Store("ann"), Store("bob")):
            with pytest.raises(UnknownMessage):
                set_remembered(app, store, "s1", message, remembered=False)


def test_a_chat_goes_on_as_the_application(people: World, app: Connection) -> None:
    with acting_for(app, "ann"):
        asked = append_message(app, Store("ann"), "s1", "user", "Pears, then?")
        replied = append_message(app, Store("ann"), "s1", "assistant", "In October.")
        begun = append_message(app, Store("ann"), "s2", "user", "Good morning.")
    with acting_for(app, "ann"), pytest.raises(UnknownAccount):
        append_message(app, Store("bob"), "s1", "user", "I am Bob.")

    assert (asked.pair_index, replied.pair_index, begun.pair_index) == (4, None, 0)
    people.build()
    assert "s1:4" in people.contents()


def test_an_import_as_the_application_numbers_and_renumbers(people: World, app: Connection) -> None:
    session = ParsedSession(
        session_id="imported",
        messages=(ParsedMessage("m1", None, "user", "One."), ParsedMessage("m2", "m1", "user", "Two.")),
    )

    for expected in (2, 0):
        with acting_for(app, "ann"):
            assert import_sessions(app, Store("ann"), [session], hash_key=b"k" * 32).messages_new == expected
    with acting_for(app, "ann"):
        app.execute("delete from orbitpilot.message where (session_id, message_id) = ('imported', 'm2')")
    with acting_for(app, "ann"):
        assert import_sessions(app, Store("ann"), [session], hash_key=b"k" * 32).messages_new == 1

    assert people.sql(
        "select user_id, pair_index, message_id, deleted_at is null from memory.pair"
        " where session_id = 'imported' order by pair_index"
    ) == [("ann", 0, "m1", True), ("ann", 1, "m2", True)]


def test_what_the_application_deletes_reaches_the_ledger_and_the_next_build(people: World, app: Connection) -> None:
    with acting_for(app, "ann"):
        put_record(app, Store("ann"), "blink.blinks", "b2", "Caught.")
        set_record_excluded(app, Store("ann"), "blink.blinks", "b2", excluded=True)
        delete_record(app, Store("ann"), "blink.blinks", "b1")
        assert app.execute("delete from orbitpilot.session_participant").rowcount == 1
        assert app.execute("delete from orbitpilot.session").rowcount == 1

    assert people.sql("select count(*) from orbitpilot.message where user_id = 'ann'") == [(0,)]
    assert people.sql("select count(*) from memory.pair where user_id = 'ann' and deleted_at is null") == [(0,)]
    assert {("record",), ("session",), ("message",)} <= set(
        people.sql("select kind from orbitpilot.deletion where user_id = 'ann'")
    )
    people.build()
    assert people.sql("select distinct user_id from memory.chunk") == [("bob",)]
    assert people.skips() == people.skips() | {"b2": "record_excluded"}


def test_a_participant_who_comes_marks_the_session(people: World, app: Connection) -> None:
    query = "select changed_xid::text from orbitpilot.session where user_id = 'ann'"
    before = people.sql(query)

    with acting_for(app, "ann"):
        app.execute("insert into orbitpilot.session_participant values ('ann', 'orbitpilot', 's1', 'another')")

    assert people.sql(query) != before


# For each function that runs as its owner and that the application may call: a call on Bob's behalf.
ON_BOBS_BEHALF = {
    "memory.bind_sessions": "select memory.bind_sessions('bob', 'orbitpilot', array['s1'], array['s9'])",
    "memory.restore_tombstones": "select memory.restore_tombstones(array['ann', 'bob'], array['-', 'hash of bob'])",
    "orbitpilot.account_for_sign_in": "select * from orbitpilot.account_for_sign_in('bob')",
    "orbitpilot.begin_sign_in": "select orbitpilot.begin_sign_in('bob', 'no hash', interval '0')",
    "orbitpilot.change_own_password": "select orbitpilot.change_own_password('another')",
    "orbitpilot.count_attempts": "select * from orbitpilot.count_attempts(array['bob']::bytea[], interval '1 hour')",
    "orbitpilot.count_people_by_source": "select * from orbitpilot.count_people_by_source()",
    "orbitpilot.forgive_attempts": "select orbitpilot.forgive_attempts(array['bob']::bytea[])",
    "orbitpilot.sign_up": "select orbitpilot.sign_up('bob', 'another', 'en', null)",
}
# What somebody may have who says to be Bob and isn't signed in yet; the password's hash is what proves it.
BEFORE_SIGN_IN = {"orbitpilot.account_for_sign_in", "orbitpilot.begin_sign_in"}


def definer_functions_of(people: World, role: DatabaseRole) -> set[str]:
    """Return the functions that run as their owner and that a role may call, wherever they are."""
    return {
        f"{schema}.{name}"
        for schema, name in people.sql(
            "select pronamespace::regnamespace::text, proname::text from pg_proc"
            " where prosecdef and has_function_privilege(%s, oid, 'execute')"
            "   and pronamespace <> 'pg_catalog'::regnamespace",
            role_of(people, role),
        )
    }


@pytest.fixture
def bob_was_forgotten(people: World) -> None:
    """Bob has tombstones that aren't written yet, and an attempt to sign in was counted."""
    people.sql("insert into memory.account_tombstone values ('hash of bob', 'orbitpilot', 's1')")
    people.sql("insert into memory.account_forgotten_record values ('hash of bob', 'orbitpilot', 'blink.blinks', 'b1')")
    people.sql("insert into orbitpilot.attempt values ('bob', 3, now())")


def of_bob(people: World) -> dict[str, set[tuple[Any, ...]]]:
    """Return the physical versions of Bob's rows."""
    return {
        name: set(people.sql(f"select tableoid, ctid::text, xmin::text from {name} where user_id = 'bob'"))
        for name in tables_of_people(people.connection)
    }


def test_a_call_is_known_of_every_function_that_runs_as_its_owner(people: World) -> None:
    assert definer_functions_of(people, DatabaseRole.APP) == set(ON_BOBS_BEHALF)
    assert definer_functions_of(people, DatabaseRole.ANALYST) == set()


@pytest.mark.usefixtures("bob_was_forgotten")
@pytest.mark.parametrize(
    ("name", "acting"),
    [
        (name, acting)
        for name in ON_BOBS_BEHALF
        for acting in ("ann", "", None)
        if acting == "ann" or name not in BEFORE_SIGN_IN
    ],
)
def test_no_function_acts_for_another_person_than_the_one_who_is_named(
    people: World, app: Connection, name: str, acting: str | None
) -> None:
    before = of_bob(people)
    told: list[Any] = []

    with app.transaction():
        if acting is not None:
            app.execute("select set_config('orbit.user_id', %s, true)", [acting])
        with suppress(InsufficientPrivilege), app.transaction():
            told = app.execute(ON_BOBS_BEHALF[name].encode()).fetchall()

    assert of_bob(people) == before
    assert not any("bob" in row or "no hash" in row for row in told)
    assert people.sql("select password_hash from orbitpilot.credential where user_id = 'bob'") == [("no hash",)]


@pytest.mark.usefixtures("bob_was_forgotten")
def test_tombstones_are_written_for_the_person_who_is_named(people: World, app: Connection) -> None:
    query = "select session_id from memory.tombstone where user_id = 'bob' order by 1"
    bind = "select memory.bind_sessions('bob', 'orbitpilot', array['s2'], array['s9'])"
    restore = "select memory.restore_tombstones(array['bob'], array['hash of bob'])"

    for command in (bind, restore):
        with acting_for(app, "ann"), pytest.raises(InsufficientPrivilege, match="require_named_person") as refusal:
            app.execute(command.encode())
        assert "and for nobody else" in str(refusal.value.diag.message_primary)
        assert "set_config('orbit.user_id'" in str(refusal.value.diag.message_hint)
    with acting_for(app, "bob"):
        app.execute(bind.encode())
        assert app.execute(restore.encode()).fetchone() == (2,)

    assert people.sql(query) == [("s1",), ("s2",), ("s9",)]


@pytest.mark.usefixtures("bob_was_forgotten")
def test_the_pipelines_role_writes_anybodys_tombstones(people: World) -> None:
    with connect_as(people.url, DatabaseRole.PIPELINE) as connection:
        connection.execute("select memory.bind_sessions('ann', 'orbitpilot', array['s2'], array['s9'])")
        assert connection.execute(ON_BOBS_BEHALF["memory.restore_tombstones"].encode()).fetchone() == (2,)

    people.sql(ON_BOBS_BEHALF["memory.bind_sessions"])
    assert people.sql("select user_id, session_id from memory.tombstone order by 1, 2") == [
        *(("ann", "s2"), ("ann", "s9")),
        *(("bob", "s1"), ("bob", "s9")),
    ]


def test_who_is_signed_in_makes_no_account_for_another(people: World, app: Connection) -> None:
    sign_up = "select orbitpilot.sign_up('eva', 'a hash', 'en', null)"

    with acting_for(app, "ann"):
        assert app.execute(sign_up.encode()).fetchone() == (False,)
    assert app.execute(sign_up.encode()).fetchone() == (True,)


def test_nobody_is_signed_out_by_who_does_not_know_the_password(people: World, app: Connection) -> None:
    before = of_bob(people)["orbitpilot.sign_in"]
    begin = "select orbitpilot.begin_sign_in('bob', %s, interval '-1 second')"

    assert app.execute(begin.encode(), ["a guess"]).fetchone() == (None,)
    app.commit()
    assert of_bob(people)["orbitpilot.sign_in"] == before

    assert app.execute(begin.encode(), ["no hash"]).fetchone() != (None,)
    app.commit()
    assert not of_bob(people)["orbitpilot.sign_in"] & before
    assert len(of_bob(people)["orbitpilot.sign_in"]) == 1


def test_truncating_is_refused_to_everybody(people: World, app: Connection) -> None:
    with pytest.raises(InsufficientPrivilege):
        app.execute("truncate orbitpilot.message")
    with pytest.raises(RaiseException):
        people.sql("truncate orbitpilot.message")


def test_a_trigger_function_cannot_be_hung_on_a_table_of_ones_own(people: World, act_for: ActFor) -> None:
    with act_for("ann") as app:
        app.execute("create temp table mine (like orbitpilot.message)")
        with pytest.raises(InsufficientPrivilege):
            app.execute(
                "create trigger t after delete on mine referencing old table as old_rows for each statement"
                " execute function orbitpilot.record_message_deletion()"
            )


def test_functions_run_as_their_definer_only_with_an_empty_search_path_and_not_for_everybody(granted: str) -> None:
    with connect(granted) as connection:
        functions = connection.execute(
            "select oid::regprocedure::text, prorettype = 'trigger'::regtype, prosecdef,"
            "       coalesce('search_path=\"\"' = any(proconfig), false),"
            "       exists (select from aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee = 0)"
            "  from pg_proc where pronamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace)"
        ).fetchall()

    assert functions
    for name, is_trigger, is_definer, has_empty_path, is_public in functions:
        assert has_empty_path or not is_definer, name
        assert is_definer or not is_trigger, name
        assert not is_public, name


def test_views_read_with_their_readers_rights(granted: str) -> None:
    with connect(granted) as connection:
        views = connection.execute(
            "select oid::regclass::text from pg_class"
            " where relnamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace) and relkind = 'v'"
            "   and not coalesce('security_invoker=true' = any(reloptions), false)"
        ).fetchall()

    assert views == []


def test_partitions_are_reached_through_their_parent_only(people: World, analyst: Connection) -> None:
    parts = [name for name, is_part, *_ in people.sql(TABLES) if is_part]
    roles = [role_of(people, role) for role in (DatabaseRole.APP, DatabaseRole.ANALYST)]

    assert len(parts) > 1
    for role in roles:
        for name in parts:
            assert people.sql("select has_any_column_privilege(%s, %s, 'select')", role, name) == [(False,)]
    assert analyst.execute("select count(*) from memory.change").fetchall() == people.sql(
        "select count(*) from memory.change"
    )


def readable_columns(people: World, role: str) -> Iterator[tuple[str, str, str]]:
    """Yield table, column and type of whatever a role may read."""
    yield from people.sql(
        "select c.oid::regclass::text, a.attname::text, format_type(a.atttypid, null)"
        "  from pg_class as c join pg_attribute as a on a.attrelid = c.oid"
        " where c.relnamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace)"
        "   and c.relkind in ('r', 'p', 'v', 'm') and a.attnum > 0 and not a.attisdropped"
        "   and has_column_privilege(%s, c.oid, a.attnum, 'select')",
        role,
    )


def test_analysts_read_keys_kinds_and_reasons_but_no_words_and_no_vectors(people: World) -> None:
    readable = list(readable_columns(people, role_of(people, DatabaseRole.ANALYST)))
    plain = {
        "bigint",
        "integer",
        "smallint",
        "boolean",
        "uuid",
        "oid",
        "xid8",
        "pg_snapshot",
        "timestamp with time zone",
    }

    suspicious = {(table, column) for table, column, type_ in readable if type_ not in plain}

    assert {(table, column) for table, column in suspicious if column not in KEYS_KINDS_AND_REASONS} == (
        TITLES_OF_ADMINISTRATORS
    )
    assert not WORDS & KEYS_KINDS_AND_REASONS
    assert not [table for table, *_ in readable if table in {"memory.embedding_cache", "memory.installation"}]


def test_analysts_read_everybodys_rows(people: World, analyst: Connection) -> None:
    closed = {"memory.embedding_cache", "orbitpilot.credential", "orbitpilot.sign_in"}

    for name in set(tables_of_people(people.connection)) - closed:
        assert owners(analyst, name) == owners(people.connection, name), name
    for name in ("memory.build", "memory.watermark"):
        query = f"select count(*) from {name}"
        assert analyst.execute(query.encode()).fetchall() == people.sql(query)
    for column in ("content", "spans", "embedding", "*"):
        with pytest.raises(InsufficientPrivilege):
            analyst.execute(f"select {column} from memory.chunk".encode())


def test_analysts_write_nothing(people: World, analyst: Connection) -> None:
    tables = [name for name, *_ in people.sql(TABLES)]

    assert [
        (name, privilege) for name in tables for privilege in ("insert", "update") if may(analyst, name, privilege)
    ] == []
    assert [name for name in tables if may(analyst, name, "delete")] == []
    assert (
        people.sql(
            "select oid::regprocedure::text from pg_proc where pronamespace in ('orbitpilot'::regnamespace,"
            " 'memory'::regnamespace) and has_function_privilege(%s, oid, 'execute')",
            role_of(people, DatabaseRole.ANALYST),
        )
        == []
    )


@pytest.mark.parametrize("full", [False, True])
def test_the_pipelines_role_builds(people: World, full: bool) -> None:
    people.say(Store("ann"), "s3", "Quinces?", "> Hard.")
    run = people.run(full=full)
    run.connection.execute(sql.SQL("set role {}").format(sql.Identifier(role_of(people, DatabaseRole.PIPELINE))))

    published = build(run)

    assert published.records > 0
    assert people.contents()["s3:0"]
    assert people.sql("select status from memory.build order by build_id desc limit 1") == [("published",)]


def test_the_pipelines_deletes_report_true_row_counts(people: World) -> None:
    [(chunks,)] = people.sql("select count(*) from memory.chunk")
    [(changes,)] = people.sql("select count(*) from memory.change")

    with connect_as(people.url, DatabaseRole.PIPELINE) as connection:
        assert connection.execute("delete from memory.chunk").rowcount == chunks > 0
        assert connection.execute("delete from memory.change").rowcount == changes > 0
        assert connection.execute("delete from orbitpilot.account").rowcount == len(PEOPLE)
        assert connection.execute("select count(*) from orbitpilot.message").fetchone() == (0,)


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) from memory.chunk",
        "select content from memory.chunk where source_key = 'orbitpilot.chat_history'",
        "select source_id from memory.chunk where agent_id = 'orbitpilot' order by embedding <=> '[1,0]' limit 10",
    ],
)
def test_row_level_security_reads_one_persons_chunks_by_the_index(granted: str, app: Connection, query: str) -> None:
    with connect(granted, autocommit=True) as connection:
        connection.execute(
            "insert into memory.chunk (user_id, agent_id, source_key, source_id, chunk_index, content_hash, content,"
            " spans, embedding, origin_class, recipe, build_id)"
            " select 'user-' || n % 100, 'orbitpilot', 'orbitpilot.chat_history', 's:' || n, 0, '', '', '[]', '[1,0]',"
            " 'owner', 'r', 1 from generate_series(1, 5000) as n"
        )
        connection.execute("analyze memory.chunk")

    with acting_for(app, "user-7"):
        [(plan,)] = app.execute(f"explain (format json) {query}".encode()).fetchall()

    text = json.dumps(plan)
    assert "Index" in text
    assert "Seq Scan" not in text
    assert "(user_id = (InitPlan" in text or "user_id = $0" in text


def test_a_message_is_found_by_its_handle_through_the_index(people: World, app: Connection) -> None:
    people.sql(
        "insert into orbitpilot.message (user_id, agent_id, session_id, message_id, position, role, content)"
        " select 'ann', 'orbitpilot', 's1', 'x' || n, n + 100, 'system', '' from generate_series(1, 3000) as n"
    )
    people.sql("analyze orbitpilot.message")

    with acting_for(app, "ann"):
        [(plan,)] = app.execute(
            "explain (format json) select * from orbitpilot.message where handle = gen_random_uuid()"
            " and handle = '00000000-0000-0000-0000-000000000000'"
        ).fetchall()

    assert "message_handle_key" in json.dumps(plan)


def test_a_logins_membership_is_all_it_needs(people: World, cluster: EmbeddedServer) -> None:
    app, analyst = (role_of(people, role) for role in (DatabaseRole.APP, DatabaseRole.ANALYST))
    for login, role in (("web", app), ("ana", analyst)):
        people.connection.execute(
            sql.SQL("create role {login} login; grant {role} to {login}").format(
                login=sql.Identifier(login), role=sql.Identifier(role)
            )
        )

    with connect(people.url.replace("postgres@", "web@")) as connection:
        assert connection.execute("select count(*) from orbitpilot.message").fetchone() == (0,)
        connection.rollback()
        with acting_for(connection, "ann"):
            assert owners(connection, "orbitpilot.message").keys() == {"ann"}
    with connect(people.url.replace("postgres@", "ana@")) as connection:
        assert owners(connection, "memory.chunk").keys() == set(PEOPLE)
