"""Worlds whose memory is told under the application's role, as pages do."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.rows import TupleRow

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.roles import DatabaseRole, acting_for, connect_as, grant_roles
from tests.worlds import World

Connection = psycopg.Connection[TupleRow]
Acting = Callable[[str], AbstractContextManager[Connection]]


@pytest.fixture
def acting(world: World) -> Iterator[Acting]:
    """Open a transaction of the application for somebody in ``world``."""
    with connect(world.url) as owner:
        assert grant_roles(owner) == ()
    with connect_as(world.url, DatabaseRole.APP) as app:

        @contextmanager
        def act(user_id: str) -> Iterator[Connection]:
            with acting_for(app, user_id):
                yield app

        yield act


def counted_queries(connection: psycopg.Connection[Any]) -> list[object]:
    """Return a list that every later query of a connection is added to."""
    queries: list[object] = []

    class CountingCursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
            queries.append(query)
            return super().execute(query, *args, **kwargs)

    connection.cursor_factory = CountingCursor
    return queries
