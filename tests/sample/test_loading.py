from typing import Any

import psycopg
import pytest

from orbit_pipelines.history.accounts import create_account, delete_account
from orbit_pipelines.history.flags import set_remembered
from orbit_pipelines.model import CHAT_HISTORY, Reason, Store
from orbit_pipelines.sample.installation import read_installation
from orbit_pipelines.sample.loading import SampleResult, load_sample
from orbit_pipelines.sources.resolution import reason_of, resolve_build_sources

HASH_KEY = bytes(range(32))
PEOPLE = ("mara", "noor", "sam", "camille")
TABLES = (
    "orbitpilot.plan",
    "orbitpilot.source_plan_assignment",
    "orbitpilot.account",
    "orbitpilot.session",
    "orbitpilot.session_participant",
    "orbitpilot.message",
    "orbitpilot.record",
    "orbitpilot.deletion",
    "memory.pair",
)
Connection = psycopg.Connection[Any]


@pytest.fixture
def loaded(connection: Connection) -> SampleResult:
    return load_sample(connection, HASH_KEY)


def snapshot(connection: Connection) -> dict[str, list[str]]:
    """Every row of the application's tables, watermarks of its changes included."""
    return {
        table: [row for (row,) in connection.execute(f"select t::text from {table} as t order by 1".encode())]
        for table in TABLES
    }


def count(connection: Connection, query: bytes) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def test_the_result_says_what_was_stored(connection: Connection, loaded: SampleResult) -> None:
    assert loaded.accounts == PEOPLE
    assert loaded.sessions == count(connection, b"select count(*) from orbitpilot.session")
    assert loaded.pairs == count(connection, b"select count(*) from memory.pair")
    assert loaded.records == count(connection, b"select count(*) from orbitpilot.record")
    assert loaded.not_remembered == count(connection, b"select count(*) from orbitpilot.message where not_remembered")


def test_the_files_are_read_without_a_problem(loaded: SampleResult) -> None:
    assert loaded.problems.counts == {}


def test_loading_it_again_changes_no_row(connection: Connection, loaded: SampleResult) -> None:
    before = snapshot(connection)
    again = load_sample(connection, HASH_KEY)
    assert again.accounts == ()
    assert again.pairs == 0
    assert snapshot(connection) == before


def test_loading_it_again_leaves_what_people_changed(connection: Connection, loaded: SampleResult) -> None:
    flagged = read_installation().not_remembered[0]
    set_remembered(connection, Store(flagged.user_id), flagged.session_id, flagged.message_id, remembered=True)
    connection.execute("delete from orbitpilot.session where user_id = 'noor'")
    connection.execute("update orbitpilot.plan set included_sources = 1")
    delete_account(connection, "camille")
    before = snapshot(connection)
    load_sample(connection, HASH_KEY)
    assert snapshot(connection) == before


def test_an_account_that_was_there_before_is_left_alone(connection: Connection) -> None:
    create_account(connection, "mara")
    assert load_sample(connection, HASH_KEY).accounts == ("noor", "sam", "camille")
    assert count(connection, b"select count(*) from orbitpilot.session where user_id = 'mara'") == 0


@pytest.mark.parametrize(
    ("user_id", "reason"),
    [
        ("mara", None),
        ("camille", None),
        ("noor", Reason.SOURCE_OVER_CAP),
        ("sam", Reason.SOURCE_NOT_ASSIGNED),
    ],
)
@pytest.mark.usefixtures("loaded")
def test_every_status_of_chat_history_has_somebody(connection: Connection, user_id: str, reason: Reason | None) -> None:
    statuses = resolve_build_sources(connection, user_id)
    assert reason_of(statuses, CHAT_HISTORY) is reason
    assert [status.is_included for status in statuses[:3]] == [True, True, True]


@pytest.mark.usefixtures("loaded")
def test_every_message_to_be_left_out_exists_and_is_flagged(connection: Connection) -> None:
    for flagged in read_installation().not_remembered:
        row = connection.execute(
            "select not_remembered, is_active from orbitpilot.message"
            " where (user_id, session_id, message_id) = (%s, %s, %s)",
            (flagged.user_id, flagged.session_id, flagged.message_id),
        ).fetchone()
        assert row == (True, True)


@pytest.mark.usefixtures("loaded")
def test_one_flag_falls_in_the_middle_of_a_run(connection: Connection) -> None:
    middle = b"""
        select count(*) from orbitpilot.message as flagged
         where flagged.not_remembered
           and flagged.run_index < flagged.pair_index
           and exists (select from orbitpilot.message as later
                        where (later.user_id, later.agent_id, later.session_id, later.run_index)
                            = (flagged.user_id, flagged.agent_id, flagged.session_id, flagged.run_index)
                          and later.pair_index > flagged.pair_index
                          and not later.not_remembered)"""
    assert count(connection, middle) == 1


@pytest.mark.usefixtures("loaded")
def test_the_marked_conversation_is_flagged_whole(connection: Connection) -> None:
    whole = b"""
        select count(*) from (
            select from orbitpilot.message where role = 'user' and user_id = 'mara'
             group by session_id having bool_and(not_remembered)) as session"""
    assert count(connection, whole) == 1


@pytest.mark.usefixtures("loaded")
def test_records_name_messages_that_exist(connection: Connection) -> None:
    named = [record for record in read_installation().records if record.origin_message_id]
    assert len(named) >= 4
    for record in named:
        found = connection.execute(
            "select from orbitpilot.message where (user_id, session_id, message_id) = (%s, %s, %s)",
            (record.user_id, record.origin_session_id, record.origin_message_id),
        )
        assert found.rowcount == 1, record.source_id


@pytest.mark.usefixtures("loaded")
def test_everybody_has_records_of_every_kind_and_some_are_excluded(connection: Connection) -> None:
    rows = connection.execute(
        "select user_id, source_key from orbitpilot.record group by user_id, source_key"
    ).fetchall()
    assert len(rows) == len(PEOPLE) * 3
    excluded = connection.execute("select distinct source_key from orbitpilot.record where is_excluded").fetchall()
    assert len(excluded) == 3
