"""Plans, assignments and switches."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from orbit_pipelines.errors import UnknownPlan, UnknownSource, UsageError
from orbit_pipelines.sources import administration

Connection = psycopg.Connection[Any]


def test_a_plan_is_made_once_with_a_cap_of_three(connection: Connection) -> None:
    assert administration.create_plan(connection, "family")
    assert not administration.create_plan(connection, "family", title="Other", included_sources=9)
    assert administration.create_plan(connection, "solo", title="For one", included_sources=1)
    assert connection.execute(
        "select plan_key, title, included_sources, is_default from orbitpilot.plan order by plan_key"
    ).fetchall() == [("default", "Default", 4, True), ("family", "family", 3, False), ("solo", "For one", 1, False)]


def test_a_cap_is_set(connection: Connection) -> None:
    assert administration.set_cap(connection, "default", 2)
    assert not administration.set_cap(connection, "default", 2)
    assert connection.execute("select included_sources from orbitpilot.plan").fetchone() == (2,)


def test_a_source_is_assigned_and_given_back_to_its_default(connection: Connection) -> None:
    assert administration.assign_source(connection, "default", "files.documents", is_visible=False)
    assert not administration.assign_source(connection, "default", "files.documents", is_visible=False)
    assert administration.assign_source(connection, "default", "files.documents", is_visible=True)
    assert connection.execute("select * from orbitpilot.source_plan_assignment").fetchall() == [
        ("default", "files.documents", True)
    ]
    assert administration.unassign_source(connection, "default", "files.documents")
    assert not administration.unassign_source(connection, "default", "files.documents")


def test_a_source_is_switched(connection: Connection) -> None:
    assert administration.switch_source(connection, "blink.blinks", in_rag=False)
    assert not administration.switch_source(connection, "blink.blinks", in_rag=False)
    assert connection.execute("select source_key from orbitpilot.memory_source where not in_rag").fetchall() == [
        ("blink.blinks",)
    ]


@pytest.mark.parametrize(
    "act",
    [
        lambda conn: administration.set_cap(conn, "gold", 1),
        lambda conn: administration.assign_source(conn, "gold", "blink.blinks", is_visible=True),
        lambda conn: administration.unassign_source(conn, "gold", "blink.blinks"),
    ],
)
def test_an_unknown_plan_lists_those_there_are(act: Callable[[Connection], bool], connection: Connection) -> None:
    with pytest.raises(UnknownPlan, match=r"no plan 'gold'.*There are: default"):
        act(connection)


@pytest.mark.parametrize(
    "act",
    [
        lambda conn: administration.switch_source(conn, "blinks", in_rag=True),
        lambda conn: administration.assign_source(conn, "default", "blinks", is_visible=True),
        lambda conn: administration.unassign_source(conn, "default", "blinks"),
    ],
)
def test_an_unknown_source_lists_those_there_are(act: Callable[[Connection], bool], connection: Connection) -> None:
    with pytest.raises(UnknownSource, match=r"no source 'blinks'.*blink.blinks, files.documents"):
        act(connection)


def test_no_cap_is_negative(connection: Connection) -> None:
    with pytest.raises(UsageError, match="-1"):
        administration.set_cap(connection, "default", -1)
    with pytest.raises(UsageError, match="-1"):
        administration.create_plan(connection, "family", included_sources=-1)
