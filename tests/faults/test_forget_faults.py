"""A forget that is cut off anywhere: its tombstones hold, the same command again ends where it would have ended."""

import os
import signal
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from random import Random

import pytest

from orbit_pipelines.database.connection import connect
from orbit_pipelines.errors import OrbitError
from orbit_pipelines.forgetting.failures import ForgetFailed
from orbit_pipelines.forgetting.selection import ForgetRequest, Selectors
from orbit_pipelines.forgetting.service import forget
from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.settings import Settings
from tests.faults.faulty import (
    ANN,
    PATIENCE,
    Exchanges,
    _processes,
    assert_exact,
    assert_put_right,
    await_true,
    only_free,
)
from tests.tally import Tally
from tests.worlds import World


def request(session: str) -> ForgetRequest:
    return ForgetRequest(Selectors(ANN.user_id, sessions=(session,)))


def doom(world: World, session: str) -> None:
    """Give a session something in every kind: chunks, cache, lineage, its mirror, a dead build's workspace."""
    world.say(ANN, session, f"Private, of {session}.", "> Understood.", f"More of {session}.", "> Yes.")
    world.record(ANN, "blink.blinks", f"of {session}", f"Caught from {session}.")
    world.sql("update orbitpilot.record set origin_session_id = %s where source_id = %s", session, f"of {session}")
    world.build()
    mirror_lineage(world.connection, world.settings.lineage)
    world.say(ANN, session, f"Not built yet, of {session}.", "> Fine.")
    run = world.run()
    run.embedding()
    run.connection.close()


def held(world: World, session: str) -> list[tuple[str]]:
    return world.sql("select source_id from memory.chunk where user_id = %s and session_id = %s", ANN.user_id, session)


def is_tombstoned(world: World, session: str) -> bool:
    return world.sql("select count(*) from memory.tombstone where session_id = %s", session) == [(1,)]


def assert_stays_forgotten(world: World, session: str) -> None:
    """Whatever the cut left: nothing comes back, and the same command again completes it."""
    was_begun = is_tombstoned(world, session)
    world.say(ANN, session, f"Said again, of {session}.", "> Again.")
    world.build()
    if was_begun:
        assert held(world, session) == []
    with connect(world.url, autocommit=True) as connection:
        assert forget(connection, world.settings, request(session)).is_verified
        again = forget(connection, world.settings, request(session))
    assert {name: each.count for name, each in again.artifacts.items() if each.count} == {}
    assert held(world, session) == []
    world.build(full=True)
    assert held(world, session) == []
    assert_exact(world)


def count_forget_moments(world: World) -> int:
    """Forget, and return how many moments that took."""
    doom(world, "counted")
    with connect(world.url, autocommit=True) as connection:
        exchanges = Exchanges(connection, 0, lambda: None)
        forget(connection, world.settings, request("counted"))
    return exchanges.count


def test_a_forget_whose_connection_is_terminated_at_seeded_moments(history: World, tally: Tally) -> None:
    world = history
    world.build()
    moments = Random(6).sample(range(1, count_forget_moments(world)), 10)
    for number, moment in enumerate(moments):
        session = f"cut-{number}"
        doom(world, session)
        connection = connect(world.url, autocommit=True)
        pid = connection.info.backend_pid

        def terminate(pid: int = pid) -> None:
            world.sql("select pg_terminate_backend(%s, %s)", pid, PATIENCE * 1000)

        exchanges = Exchanges(connection, moment, terminate)
        with pytest.raises(OrbitError) as caught:
            forget(connection, world.settings, request(session))
        assert exchanges.has_happened
        if isinstance(caught.value, ForgetFailed):
            assert "run the same command again" in str(caught.value)
        connection.close()
        assert_stays_forgotten(world, session)
    tally("forgets whose connection was terminated", len(moments))


def forget_in_this_process(url: str, settings: Settings, session: str, fatal_moment: int, pipe: Pipe) -> None:
    """Forget, and die at a moment; what a child process runs."""
    connection = connect(url, autocommit=True)
    Exchanges(connection, fatal_moment, lambda: os.kill(os.getpid(), signal.SIGKILL))
    forget(connection, settings, request(session))
    pipe.send("done")


def test_a_forget_killed_at_seeded_moments(history: World, tally: Tally) -> None:
    world = history
    world.build()
    moments = Random(7).sample(range(1, count_forget_moments(world)), 10)
    for number, moment in enumerate(moments):
        session = f"killed-{number}"
        doom(world, session)
        mine, theirs = _processes().Pipe()
        child = _processes().Process(
            target=forget_in_this_process, args=(world.url, world.settings, session, moment, theirs), daemon=True
        )
        child.start()
        theirs.close()
        child.join(PATIENCE)
        mine.close()
        assert child.exitcode == -signal.SIGKILL
        await_true(
            lambda: (
                world.sql(
                    "select count(*) from pg_locks where locktype = 'advisory'"
                    " and database = (select oid from pg_database where datname = current_database())"
                )
                == [(0,)]
            )
        )
        assert_stays_forgotten(world, session)
    tally("forgets killed (SIGKILL)", len(moments))


def test_a_full_disk_is_named_and_the_same_command_completes_it(history: World, disk: Path) -> None:
    world = history
    world.settings = world.settings.model_copy(update={"home": disk / "home"})
    world.build()
    doom(world, "full")
    with only_free(disk, kilobytes=0), pytest.raises(ForgetFailed) as caught:
        forget(world.connection, world.settings, request("full"))
    assert caught.value.store in ("workspaces", "lineage_mirror", "receipts")
    assert "No space left on device" in str(caught.value)
    assert is_tombstoned(world, "full")
    assert_stays_forgotten(world, "full")
    assert_put_right(world)
