"""Accounts and their plans."""

from typing import Any

import psycopg
import pytest

from orbit_pipelines.errors import UnknownAccount, UnknownPlan
from orbit_pipelines.history.accounts import create_account, delete_account, require_account, set_plan
from orbit_pipelines.history.importing import import_sessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession
from orbit_pipelines.model import Store

Connection = psycopg.Connection[Any]


def test_an_account_is_made_once(connection: Connection) -> None:
    assert create_account(connection, "ana", locale="fr")
    assert not create_account(connection, "ana", plan_key="default")
    assert connection.execute("select user_id, plan_key, locale from orbitpilot.account").fetchall() == [
        ("ana", None, "fr")
    ]
    require_account(connection, "ana")


def test_a_plan_is_set_and_taken_back(connection: Connection) -> None:
    create_account(connection, "ana", plan_key="default")
    assert not set_plan(connection, "ana", "default")
    assert set_plan(connection, "ana", None)
    assert connection.execute("select plan_key from orbitpilot.account").fetchone() == (None,)
    assert set_plan(connection, "ana", "default")


def test_an_unknown_plan_lists_those_there_are(connection: Connection) -> None:
    with pytest.raises(UnknownPlan, match=r"no plan 'gold'.*default"):
        create_account(connection, "ana", plan_key="gold")
    create_account(connection, "ana")
    with pytest.raises(UnknownPlan, match=r"no plan 'gold'.*default"):
        set_plan(connection, "ana", "gold")


def test_an_unknown_account_says_how_to_make_one(connection: Connection) -> None:
    for use in (
        lambda: require_account(connection, "nobody"),
        lambda: set_plan(connection, "nobody", None),
        lambda: delete_account(connection, "nobody"),
    ):
        with pytest.raises(UnknownAccount, match=r"'nobody'.*--create-user"):
            use()


def test_a_deleted_account_leaves_numbers_and_no_text(connection: Connection) -> None:
    create_account(connection, "ana")
    create_account(connection, "bo")
    talk = ParsedSession("s", (ParsedMessage("u1", None, "user", "words"),))
    for user_id in ("ana", "bo"):
        import_sessions(connection, Store(user_id), [talk], hash_key=b"k")
    delete_account(connection, "ana")
    assert connection.execute("select user_id from orbitpilot.message").fetchall() == [("bo",)]
    assert connection.execute(
        "select user_id, pair_index, deleted_at is not null from memory.pair order by user_id"
    ).fetchall() == [("ana", 0, True), ("bo", 0, False)]
    assert ("account", "ana") in connection.execute("select kind, user_id from orbitpilot.deletion").fetchall()
