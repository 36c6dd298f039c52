"""The PostgreSQL server killed while a build runs, on a server of the test's own that really writes to its disk."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import psutil
import pytest

from orbit_pipelines.building.run import BuildRun, build
from orbit_pipelines.database import embedded
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.migrating import migrate
from orbit_pipelines.database.server import database_url, embedded_server
from orbit_pipelines.errors import DatabaseUnavailable
from orbit_pipelines.settings import Settings
from tests.faults.faulty import (
    Exchanges,
    assert_exact,
    assert_put_right,
    change,
    count_moments,
    memory_of,
    populate,
    status_of,
)
from tests.tally import Tally
from tests.worlds import World


@pytest.fixture(scope="module")
def durable() -> Iterator[World]:
    """A world on a server of its own, with what a server of an installation does for durability."""
    home = Path(tempfile.mkdtemp(prefix="orbit-durable-"))
    settings = Settings(home=home, embedder="fake")
    url = database_url(settings)
    migrate(url)
    world = World(url, settings, connect(url, autocommit=True))
    assert world.sql("show fsync") == [("on",)]
    populate(world)
    world.build()
    try:
        yield world
    finally:
        world.close()
        embedded.stop(embedded_server(settings))
        shutil.rmtree(home, ignore_errors=True)


def kill_postmaster(server: EmbeddedServer, run: BuildRun) -> None:
    process = embedded.postmaster(server)
    assert process is not None
    process.kill()


def kill_backend(server: EmbeddedServer, run: BuildRun) -> None:
    psutil.Process(run.connection.info.backend_pid).kill()


def start_again(world: World) -> None:
    world.connection.close()
    assert database_url(world.settings.model_copy(update={"database_url": None})) == world.url
    world.connection = connect(world.url, autocommit=True)


VICTIMS = {"the server": kill_postmaster, "the build's backend": kill_backend}


def kill_at(world: World, victim: str, moments: list[int], seed: int) -> int:
    random = Random(seed)
    server = embedded_server(world.settings)
    killed = 0
    for moment in moments:
        change(world, random)
        before = memory_of(world)
        run = world.run(full=random.random() < 0.3)
        exchanges = Exchanges(run.connection, moment, lambda run=run: VICTIMS[victim](server, run))  # type: ignore[misc]
        try:
            build(run)
        except DatabaseUnavailable:
            assert exchanges.count >= moment
        if exchanges.count < moment:
            continue
        killed += 1
        run.connection.close()
        start_again(world)
        if memory_of(world) == before:
            assert status_of(world).is_behind
        else:
            assert_exact(world)
        assert_put_right(world)
    return killed


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_build_whose_server_is_killed(durable: World, victim: str, tally: Tally) -> None:
    change(durable, Random(21))
    moments = count_moments(durable.run())
    random = Random(22)
    tried = kill_at(durable, victim, [random.randint(1, moments) for _ in range(3)], seed=23)
    assert tried > 0
    tally(f"kills (SIGKILL) of {victim} during a build", tried)


@pytest.mark.soak
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_build_whose_server_is_killed_at_every_fifth_moment(durable: World, victim: str, tally: Tally) -> None:
    change(durable, Random(24))
    moments = count_moments(durable.run())
    tried = kill_at(durable, victim, list(range(1, moments, 5)), seed=25)
    tally(f"kills (SIGKILL) of {victim} during a build", tried)
