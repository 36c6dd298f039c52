"""`orbit up` and `orbit down`: the database, made ready, and the services that work on it."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orbit_pipelines.database import embedded
from orbit_pipelines.database.migrating import migrate
from orbit_pipelines.database.server import child_environment, database_url, embedded_server, stop_server
from orbit_pipelines.services.one_at_a_time import only_one, stop_the_one
from orbit_pipelines.services.service import Service, require_free_ports
from orbit_pipelines.services.supervisor import Announce, supervise
from orbit_pipelines.settings import Settings


@dataclass(frozen=True, slots=True)
class Stopped:
    """What ``down`` stopped: the process id of a running ``up``, and whether the embedded PostgreSQL still ran."""

    up: int | None
    server: bool


def up(
    settings: Settings, services: Sequence[Service], announce: Announce, on_begin: Callable[[], None] = lambda: None
) -> None:
    """Bring the database up to date, run the services on it until somebody asks to stop, and leave nothing running.

    The embedded PostgreSQL ends too, whoever started it; a server of the user's own is left alone.

    Args:
        settings: which installation.
        services: what to run.
        announce: told of each service once it answers.
        on_begin: called once nothing else runs here and the ports are free, before anything starts.

    Raises:
        ServiceFailed: it runs already, a port is taken, or a service failed.
        DatabaseUnavailable, SchemaMismatch, OutOfSpace: the database can't be used.
    """
    with only_one(_pid_file(settings)) as lock, _interruptible():
        require_free_ports(services)
        on_begin()
        server = embedded_server(settings) if settings.database_url is None else None
        try:
            migrate(database_url(settings))
            supervise(
                services,
                logs_folder(settings),
                environment=child_environment(settings),
                announce=announce,
                server=server,
                keep_open=[lock],
            )
        finally:
            if server is not None:
                embedded.stop(server)


def down(settings: Settings) -> Stopped:
    """Stop a running ``up`` of this installation, and the embedded PostgreSQL if it still runs."""
    return Stopped(up=stop_the_one(_pid_file(settings)), server=stop_server(settings))


def logs_folder(settings: Settings) -> Path:
    """Return the folder of the services' logs."""
    return settings.home / "logs"


def _pid_file(settings: Settings) -> Path:
    return settings.home / "up.pid"


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt as Ctrl-C does, so that what was started is stopped on the way out."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
