"""Runs services side by side in the foreground: one ends, all end, and nothing is left behind."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from orbit_pipelines.database import embedded
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.errors import ServiceFailed
from orbit_pipelines.services.service import Service, answers, require_free_ports
from orbit_pipelines.services.sessions import end_sessions
from orbit_pipelines.services.watcher import Watcher

SECONDS_TO_ANSWER = 180.0
SECONDS_BETWEEN_LOOKS = 0.2
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Announce = Callable[[Service], None]


@dataclass(slots=True)
class StopRequests:
    """How often somebody asked to stop: the first time everything ends in order, the second time at once."""

    count: int = 0

    def note(self, number: int, frame: FrameType | None) -> None:
        """Take a signal. No lock is touched: a handler runs in the middle of anything."""
        self.count += 1


@dataclass(frozen=True, slots=True)
class Running:
    """A started service; its process leads a session of its own."""

    service: Service
    process: subprocess.Popen[bytes]
    log: Path


def supervise(
    services: Sequence[Service],
    logs: Path,
    *,
    environment: Mapping[str, str],
    announce: Announce,
    server: EmbeddedServer | None = None,
    keep_open: Sequence[int] = (),
) -> None:
    """Start the services and stay until a signal asks to stop; then, or when one fails, end them all.

    ``environment`` is added to this process's own. ``announce`` hears of each service once it answers, or of one
    without an address once it runs. ``server`` is the embedded PostgreSQL the services work on: when it ends by
    itself, they end too.

    Should this process be killed, a watching process ends the services and ``server`` in its place; it holds the
    descriptors ``keep_open`` until then.

    Raises:
        UsageError: two services want the same port.
        ServiceFailed: a port is taken (then nothing was started), or a service doesn't answer or ended by itself.
    """
    require_free_ports(services)
    logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _stop_requests() as requests, Watcher(server, keep_open) as watcher:
        running: list[Running] = []
        try:
            for service in services:
                running.append(_start(service, logs, environment))
                watcher.watch(running[-1].process.pid)
            _stay(running, server, requests, announce)
        finally:
            asked = requests.count
            end_sessions([one.process.pid for one in running], hurry=lambda: requests.count > asked)
            for one in running:
                one.process.wait()


@contextmanager
def _stop_requests() -> Iterator[StopRequests]:
    requests = StopRequests()
    before = {number: signal.signal(number, requests.note) for number in STOPPING}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(service: Service, logs: Path, environment: Mapping[str, str]) -> Running:
    log = logs / f"{service.name}.log"
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                service.command,
                env={**os.environ, **environment},
                cwd=service.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ServiceFailed(
                f"{service.title} can't be started: {service.command[0]}: {error.strerror}. Run: make install"
            ) from error
    return Running(service, process, log)


def _stay(
    running: Sequence[Running], server: EmbeddedServer | None, requests: StopRequests, announce: Announce
) -> None:
    """Look after the services until somebody asks to stop or one fails."""
    silent = list(running)
    deadline = time.monotonic() + SECONDS_TO_ANSWER
    while not requests.count:
        for one in running:
            _require_alive(one)
        if server is not None and embedded.postmaster(server) is None:
            raise ServiceFailed(
                f"The embedded PostgreSQL ended by itself; everything was stopped. Its log: {server.log}"
            )
        for one in [one for one in silent if one.service.address is None or answers(one.service.address)]:
            silent.remove(one)
            announce(one.service)
        if silent and time.monotonic() > deadline:
            raise ServiceFailed(
                f"{silent[0].service.title} doesn't answer after {SECONDS_TO_ANSWER:.0f} seconds; everything was "
                f"stopped. Its log: {silent[0].log}"
            )
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _require_alive(one: Running) -> None:
    code = one.process.poll()
    if code is not None:
        how = f"with exit code {code}" if code >= 0 else f"by signal {signal.Signals(-code).name}"
        raise ServiceFailed(
            f"{one.service.title} ({one.service.name}) ended by itself, {how}; everything was stopped. "
            f"Its log: {one.log}"
        )
