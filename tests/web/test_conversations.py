"""The running session between two tabs, and what passwords may be written by."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from orbit_pipelines.database.roles import DatabaseRole, acting_for, connect_as
from orbit_pipelines.model import Store
from orbit_pipelines.web.conversations import close_running_session, hold_running_session, running_session
from tests.web.conftest import Pages

ANN = Store("ann")


def test_two_tabs_at_once_begin_one_session_between_them(pages: Pages) -> None:
    pages.account("ann")

    def begin(_: int) -> str:
        with connect_as(pages.world.url, DatabaseRole.APP) as app, acting_for(app, "ann"):
            return hold_running_session(app, ANN)

    with ThreadPoolExecutor(4) as tabs:
        begun = set(tabs.map(begin, range(8)))

    assert [(session,) for session in begun] == pages.world.sql("select session_id from orbitpilot.session")


def test_a_closed_session_runs_no_more_and_wakes_no_build(pages: Pages) -> None:
    pages.account("ann")
    with connect_as(pages.world.url, DatabaseRole.APP) as app:
        with acting_for(app, "ann"):
            session = hold_running_session(app, ANN)
        before = pages.world.sql("select changed_xid from orbitpilot.session")
        with acting_for(app, "ann"):
            assert running_session(app, ANN) == session
            assert close_running_session(app, ANN) == session
            assert running_session(app, ANN) is None
            assert close_running_session(app, ANN) is None

    assert pages.world.sql("select changed_xid from orbitpilot.session") == before


def test_the_application_changes_the_password_of_the_person_it_acts_for_only(pages: Pages) -> None:
    pages.account("ann")
    pages.account("bob")
    before = pages.world.sql("select user_id, password_hash from orbitpilot.credential order by 1")
    with connect_as(pages.world.url, DatabaseRole.APP) as app:
        with app.transaction():
            app.execute("select orbitpilot.change_own_password('mine')")
        assert pages.world.sql("select user_id, password_hash from orbitpilot.credential order by 1") == before
        with acting_for(app, "ann"):
            app.execute("select orbitpilot.change_own_password('mine')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), acting_for(app, "ann"):
            app.execute("update orbitpilot.account set is_admin = true")

    assert pages.world.sql("select user_id, password_hash from orbitpilot.credential order by 1") == [
        ("ann", "mine"),
        before[1],
    ]
