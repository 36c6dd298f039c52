"""The foundation's triggers: what a build is told about, and what moves along."""

import hashlib
from dataclasses import dataclass

import psycopg
import pytest
from hypothesis import HealthCheck, given, strategies
from hypothesis import settings as hypothesis_settings
from psycopg.rows import TupleRow

Connection = psycopg.Connection[TupleRow]

MESSAGES = """
insert into orbitpilot.message
       (user_id, agent_id, session_id, message_id, position, role, content, pair_index, run_index, answers)
values ('ann', 'orbitpilot', 's1', 'm1', 1, 'user', 'hello', 0, 0, null),
       ('ann', 'orbitpilot', 's1', 'm2', 2, 'assistant', 'hi', null, null, 0),
       ('ann', 'orbitpilot', 's1', 'm3', 3, 'user', 'more', 1, 1, null),
       ('ann', 'orbitpilot', 's2', 'm1', 1, 'user', 'elsewhere', 0, 0, null)
"""
LEDGER = """
insert into memory.pair (user_id, agent_id, session_id, pair_index, message_id)
select user_id, agent_id, session_id, pair_index, message_id from orbitpilot.message where pair_index is not null
"""


@pytest.fixture
def history(connection: Connection) -> Connection:
    """Two sessions of one person, with ledger, a participant and a record; committed."""
    connection.execute("insert into orbitpilot.plan (plan_key, title) values ('free', 'Free')")
    connection.execute(
        "insert into orbitpilot.account (user_id, plan_key) values ('ann', 'default'), ('bob', 'default')"
    )
    connection.execute(
        "insert into orbitpilot.session (user_id, session_id, next_pair_index)"
        " values ('ann', 's1', 2), ('ann', 's2', 1)"
    )
    connection.execute(MESSAGES.encode())
    connection.execute(LEDGER.encode())
    connection.execute(
        "insert into orbitpilot.session_participant"
        " values ('ann', 'orbitpilot', 's1', 'ann'), ('ann', 'orbitpilot', 's1', 'x')"
    )
    connection.execute(
        "insert into orbitpilot.record (user_id, source_key, source_id, content)"
        " values ('ann', 'blink.blinks', 'b1', 'text')"
    )
    connection.commit()
    return connection


MARKS = (
    ("orbitpilot.account", "changed_xid"),
    ("orbitpilot.session", "changed_xid"),
    ("orbitpilot.message", "content_xid"),
    ("orbitpilot.message", "flag_xid"),
    ("orbitpilot.record", "content_xid"),
    ("orbitpilot.record", "flag_xid"),
    ("memory.tombstone", "changed_xid"),
    ("memory.session_admission", "changed_xid"),
    ("memory.admission_rule", "changed_xid"),
)


def do(connection: Connection, statement: str) -> dict[str, int]:
    """Run one statement in a transaction of its own; return how many rows each watermark column shows as changed."""
    snapshot = connection.execute("select pg_current_snapshot()::text").fetchone()
    assert snapshot is not None
    connection.commit()
    connection.execute(statement.encode())
    connection.commit()
    changed = {}
    for table, column in MARKS:
        query = f"select count(*) from {table} where not pg_visible_in_snapshot({column}, %s::pg_snapshot)"
        row = connection.execute(query.encode(), [snapshot[0]]).fetchone()
        assert row is not None
        if row[0]:
            changed[f"{table.partition('.')[2]}.{column}"] = row[0]
    return changed


def deletions(connection: Connection) -> list[TupleRow]:
    return connection.execute(
        "select kind, user_id, session_id, source_id from orbitpilot.deletion order by kind, user_id, session_id"
    ).fetchall()


def ledger(connection: Connection) -> list[TupleRow]:
    return connection.execute(
        "select user_id, session_id, pair_index, message_id, deleted_at is not null from memory.pair order by 1, 2, 3"
    ).fetchall()


@dataclass(frozen=True, slots=True)
class Case:
    statement: str
    marks: dict[str, int]


CASES = {
    "an edited message": Case(
        "update orbitpilot.message set content = 'new' where session_id = 's2'", {"message.content_xid": 1}
    ),
    "an edit to the same text": Case("update orbitpilot.message set content = content, position = position", {}),
    "a message that leaves the branch": Case(
        "update orbitpilot.message set is_active = false where message_id = 'm3'", {"message.content_xid": 1}
    ),
    "a reply that answers another pair": Case(
        "update orbitpilot.message set answers = 1 where message_id = 'm2'", {"message.content_xid": 1}
    ),
    "a flag": Case(
        "update orbitpilot.message set not_remembered = true where message_id = 'm3'", {"message.flag_xid": 1}
    ),
    "the same flag again": Case("update orbitpilot.message set not_remembered = false", {}),
    "a flag with an edit": Case(
        "update orbitpilot.message set not_remembered = true, content = 'x' where message_id = 'm3'",
        {"message.flag_xid": 1, "message.content_xid": 1},
    ),
    "an edited record": Case("update orbitpilot.record set content = 'new'", {"record.content_xid": 1}),
    "an excluded record": Case("update orbitpilot.record set is_excluded = true", {"record.flag_xid": 1}),
    "the same record again": Case("update orbitpilot.record set content = content, is_excluded = false", {}),
    "another plan": Case(
        "update orbitpilot.account set plan_key = 'free' where user_id = 'ann'", {"account.changed_xid": 1}
    ),
    "a plan that is deleted": Case(
        "delete from orbitpilot.plan where plan_key = 'default'", {"account.changed_xid": 2}
    ),
    "another locale": Case("update orbitpilot.account set locale = 'fr'", {}),
    "a session's channel": Case(
        "update orbitpilot.session set channel = 'mail' where session_id = 's1'", {"session.changed_xid": 1}
    ),
    "a session's title": Case("update orbitpilot.session set title = 'Greeting'", {}),
    "a closed session": Case("update orbitpilot.session set closed_at = now()", {}),
    "a participant who comes": Case(
        "insert into orbitpilot.session_participant values ('ann', 'orbitpilot', 's2', 'y')", {"session.changed_xid": 1}
    ),
    "a participant who goes": Case(
        "delete from orbitpilot.session_participant where actor_id = 'x'", {"session.changed_xid": 1}
    ),
    "a participant who moves": Case(
        "update orbitpilot.session_participant set session_id = 's2' where actor_id = 'x'", {"session.changed_xid": 2}
    ),
    "a new message": Case(
        "insert into orbitpilot.message (user_id, agent_id, session_id, message_id, position, role, content, answers)"
        " values ('ann', 'orbitpilot', 's2', 'm2', 2, 'assistant', 'yes', 0)",
        {"message.content_xid": 1, "message.flag_xid": 1},
    ),
    "a tombstone": Case(
        "insert into memory.tombstone (user_id, agent_id, session_id) values ('ann', 'orbitpilot', 's1')",
        {"tombstone.changed_xid": 1},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_build_is_told_of_what_changed_and_of_nothing_else(history: Connection, case: Case) -> None:
    assert do(history, case.statement) == case.marks
    assert deletions(history) == []


def test_an_upsert_of_the_same_tombstone_changes_nothing(history: Connection) -> None:
    upsert = (
        "insert into memory.tombstone (user_id, agent_id, session_id, reason) values ('ann', 'orbitpilot', 's1', 'r')"
        " on conflict (user_id, agent_id, session_id) do update set reason = excluded.reason"
    )

    assert do(history, upsert) == {"tombstone.changed_xid": 1}
    assert do(history, upsert) == {}


def test_an_upsert_of_the_same_admission_changes_nothing(history: Connection) -> None:
    upsert = (
        "insert into memory.session_admission values ('ann', 'orbitpilot', 's1', 1)"
        " on conflict (user_id, agent_id, session_id) do update set admitted_below = excluded.admitted_below"
    )

    assert do(history, upsert) == {"session_admission.changed_xid": 1}
    assert do(history, upsert) == {}


def test_a_deleted_message_leaves_its_number_its_flag_and_its_place_in_the_ledger(history: Connection) -> None:
    do(history, "update orbitpilot.message set not_remembered = true where message_id = 'm3'")

    do(history, "delete from orbitpilot.message where message_id = 'm3'")

    assert deletions(history) == [("message", "ann", "s1", None)]
    row = history.execute(
        "select not_remembered, run_index, was_active, deleted_at is not null from memory.pair"
        " where session_id = 's1' and pair_index = 1"
    ).fetchone()
    assert row == (True, 1, True, True)


def test_a_deleted_reply_is_told_and_leaves_the_ledger_alone(history: Connection) -> None:
    before = ledger(history)

    do(history, "delete from orbitpilot.message where message_id = 'm2'")

    assert deletions(history) == [("message", "ann", "s1", None)]
    assert ledger(history) == before


def test_a_deleted_session_takes_its_messages_and_leaves_its_ledger(history: Connection) -> None:
    do(history, "delete from orbitpilot.session where session_id = 's1'")

    assert deletions(history) == [("message", "ann", "s1", None), ("session", "ann", "s1", None)]
    assert ledger(history) == [
        ("ann", "s1", 0, "m1", True),
        ("ann", "s1", 1, "m3", True),
        ("ann", "s2", 0, "m1", False),
    ]


def test_a_deleted_account_takes_everything_and_leaves_its_ledger(history: Connection) -> None:
    do(history, "delete from orbitpilot.account where user_id = 'ann'")

    assert deletions(history) == [
        ("account", "ann", None, None),
        ("message", "ann", "s1", None),
        ("message", "ann", "s2", None),
        ("record", "ann", None, "b1"),
        ("session", "ann", "s1", None),
        ("session", "ann", "s2", None),
    ]
    assert all(is_deleted for *_, is_deleted in ledger(history))
    assert history.execute("select count(*) from orbitpilot.message").fetchone() == (0,)


def test_a_deleted_record_is_told(history: Connection) -> None:
    do(history, "delete from orbitpilot.record")

    assert deletions(history) == [("record", "ann", None, "b1")]


def test_a_record_that_changes_its_key_is_told_as_gone_and_as_new(history: Connection) -> None:
    marks = do(history, "update orbitpilot.record set source_id = 'b2'")

    assert deletions(history) == [("record", "ann", None, "b1")]
    assert marks == {"record.content_xid": 1}


def test_a_moved_session_takes_messages_ledger_tombstone_and_admission_along(history: Connection) -> None:
    do(
        history,
        "insert into memory.tombstone (user_id, agent_id, session_id, reason) values ('ann', 'orbitpilot', 's1', 'r')",
    )
    do(history, "insert into memory.session_admission values ('ann', 'orbitpilot', 's1', 1)")

    marks = do(history, "update orbitpilot.session set user_id = 'bob' where session_id = 's1'")

    assert deletions(history) == [("message", "ann", "s1", None), ("session", "ann", "s1", None)]
    assert marks == {
        "session.changed_xid": 1,
        "message.content_xid": 3,
        "tombstone.changed_xid": 1,
        "session_admission.changed_xid": 1,
    }
    assert ledger(history) == [
        ("ann", "s2", 0, "m1", False),
        ("bob", "s1", 0, "m1", False),
        ("bob", "s1", 1, "m3", False),
    ]
    assert history.execute("select user_id, reason from memory.tombstone order by 1").fetchall() == [
        ("ann", "r"),
        ("bob", "r"),
    ]
    assert history.execute("select user_id, admitted_below from memory.session_admission order by 1").fetchall() == [
        ("ann", 1),
        ("bob", 1),
    ]


def test_a_renamed_account_takes_everything_along(history: Connection) -> None:
    do(history, "update orbitpilot.account set user_id = 'eve' where user_id = 'ann'")

    assert [row for row in deletions(history) if row[0] in ("account", "session")] == [
        ("account", "ann", None, None),
        ("session", "ann", "s1", None),
        ("session", "ann", "s2", None),
    ]
    assert {user for user, *_ in ledger(history)} == {"eve"}
    for table in ("session", "session_participant", "message", "record"):
        users = history.execute(f"select distinct user_id from orbitpilot.{table}".encode()).fetchall()
        assert users == [("eve",)]


def test_a_renamed_account_keeps_what_it_forgot_and_the_numbers_of_deleted_sessions(history: Connection) -> None:
    do(history, "insert into memory.tombstone (user_id, agent_id, session_id) values ('ann', 'orbitpilot', 's1')")
    do(history, "insert into memory.session_admission values ('ann', 'orbitpilot', 's1', 1)")
    do(history, "delete from orbitpilot.session where session_id = 's1'")

    do(history, "update orbitpilot.account set user_id = 'eve' where user_id = 'ann'")

    assert ("eve",) in history.execute("select user_id from memory.tombstone").fetchall()
    assert ("eve",) in history.execute("select user_id from memory.session_admission").fetchall()
    assert [row[:3] for row in ledger(history)] == [("eve", "s1", 0), ("eve", "s1", 1), ("eve", "s2", 0)]


def test_a_renamed_message_is_renamed_in_the_ledger(history: Connection) -> None:
    do(history, "update orbitpilot.message set message_id = 'm9' where message_id = 'm3'")

    assert ("ann", "s1", 1, "m9", False) in ledger(history)
    assert deletions(history) == [("message", "ann", "s1", None)]


@pytest.mark.parametrize(
    "table",
    [
        "orbitpilot.account",
        "orbitpilot.session",
        "orbitpilot.session_participant",
        "orbitpilot.message",
        "orbitpilot.record",
        "memory.pair",
    ],
)
def test_truncate_is_refused(history: Connection, table: str) -> None:
    with pytest.raises(psycopg.errors.RaiseException) as caught:
        history.execute(f"truncate {table} cascade".encode())

    assert "is refused" in str(caught.value.diag.message_primary)


def test_triggers_fire_under_replication_too(history: Connection) -> None:
    history.execute("set session_replication_role = replica")

    do(history, "delete from orbitpilot.record")

    assert deletions(history) == [("record", "ann", None, "b1")]


@pytest.mark.parametrize(
    "values",
    [
        "('ann', 'orbitpilot', 's1', 'x', 9, 'user', 'no number', null, null, null, false)",
        "('ann', 'orbitpilot', 's1', 'x', 9, 'assistant', 'a number', 5, 5, null, false)",
        "('ann', 'orbitpilot', 's1', 'x', 9, 'user', 'a number twice', 0, 0, null, false)",
        "('ann', 'orbitpilot', 's1', 'x', 9, 'user', 'an answer', 5, 5, 0, false)",
        "('ann', 'orbitpilot', 's1', 'x', 9, 'assistant', 'a flag', null, null, 0, true)",
        "('ann', 'orbitpilot', 's9', 'x', 9, 'assistant', 'no session', null, null, 0, false)",
    ],
)
def test_a_message_that_breaks_the_rules_is_refused(history: Connection, values: str) -> None:
    columns = (
        "user_id, agent_id, session_id, message_id, position, role, content, pair_index, run_index, answers,"
        " not_remembered"
    )

    with pytest.raises(psycopg.errors.IntegrityError):
        history.execute(f"insert into orbitpilot.message ({columns}) values {values}".encode())


@given(user_id=strategies.text(min_size=1).filter(lambda text: "\0" not in text))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_slot_is_the_first_two_bytes_of_the_hash(connection: Connection, user_id: str) -> None:
    row = connection.execute("select orbitpilot.slot_of(%s)", [user_id]).fetchone()

    assert row == (int.from_bytes(hashlib.sha256(user_id.encode()).digest()[:2]) % 1024,)


def test_a_new_installation_has_the_four_sources_and_a_plan_that_holds_them(connection: Connection) -> None:
    sources = connection.execute("select source_key from orbitpilot.memory_source order by position").fetchall()
    plans = connection.execute("select plan_key, included_sources, is_default from orbitpilot.plan").fetchall()

    assert sources == [("blink.blinks",), ("files.documents",), ("profile.facts",), ("orbitpilot.chat_history",)]
    assert plans == [("default", 4, True)]


def test_a_plan_without_a_cap_includes_three_sources(history: Connection) -> None:
    row = history.execute("select included_sources from orbitpilot.plan where plan_key = 'free'").fetchone()

    assert row == (3,)
