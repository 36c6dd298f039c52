"""PostgreSQL's advisory locks: writers take turns, and a dead build is known by the lock it no longer holds.

A build of many stores holds its bucket's lock alone; a writer of one person shares the bucket's lock and holds the
person's alone. Never a lock a store in a build of many: shared memory runs out near ten thousand.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg

_BUCKET = 0x6F726201
_PERSON = 0x6F726202
_BUILD = 0x6F726203


def lock_bucket(connection: psycopg.Connection[Any]) -> None:
    """Wait until no other writer publishes into the bucket; held until the transaction ends.

    A statement of its own: what the caller reads afterwards is newer than the lock.
    """
    connection.execute("select pg_advisory_xact_lock(%s, 0)", [_BUCKET])


def lock_person(connection: psycopg.Connection[Any], user_id: str, on_wait: Callable[[], None] | None = None) -> None:
    """Wait until nobody else writes this person's memory, beside writers of other people's.

    Args:
        connection: in a transaction; the locks are held until it ends.
        user_id: the person.
        on_wait: called first when somebody else is at work.
    """
    if on_wait is not None:
        free = connection.execute(
            "select pg_try_advisory_xact_lock_shared(%s, 0) and pg_try_advisory_xact_lock(%s, hashtext(%s))",
            [_BUCKET, _PERSON, user_id],
        ).fetchone()
        if free == (True,):
            return
        on_wait()
    connection.execute("select pg_advisory_xact_lock_shared(%s, 0)", [_BUCKET])
    connection.execute("select pg_advisory_xact_lock(%s, hashtext(%s))", [_PERSON, user_id])


def die_with_client(connection: psycopg.Connection[Any]) -> None:
    """Have the server give up what this connection asked, and its locks, within a second of our process's death.

    Else it would notice when it has the answer: a build killed while it waits for its turn would look alive for as long
    as others publish.
    """
    with suppress(psycopg.errors.InvalidParameterValue):  # a server on a platform where it can't tell
        connection.execute("set client_connection_check_interval = '1s'")


def hold_build(connection: psycopg.Connection[Any], build_id: int) -> None:
    """Show that a build is alive, for as long as this connection lives."""
    connection.execute("select pg_advisory_lock_shared(%s, %s)", [_BUILD, build_id % 2**31])


def is_alive(connection: psycopg.Connection[Any], build_id: int) -> bool:
    """Whether some process holds a build's lock."""
    row = connection.execute("select pg_try_advisory_lock(%s, %s)", [_BUILD, build_id % 2**31]).fetchone()
    if row is not None and row[0]:
        connection.execute("select pg_advisory_unlock(%s, %s)", [_BUILD, build_id % 2**31])
        return False
    return True
