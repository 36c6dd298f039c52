"""At most one `orbit up` an installation, and how another terminal stops it.

The running one holds a lock on a file for as long as it lives; the file says its process id. A lock goes with its
process however that ends, so a stale file, or a process id that is somebody else's by now, misleads nobody. Who must
clean up after a killed one inherits the lock, so that nobody starts in between.
"""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from orbit_pipelines.errors import ServiceFailed

SECONDS_TO_STOP = 60.0


@contextmanager
def only_one(pid_file: Path) -> Iterator[int]:
    """Be the one, while this context lasts; it yields the descriptor that holds the lock.

    Raises:
        ServiceFailed: another process is.
    """
    pid_file.parent.mkdir(parents=True, exist_ok=True)
    with pid_file.open("a+") as file:
        if not _lock(file):
            raise ServiceFailed(
                f"`orbit up` runs already, as process {_pid(file)}. Stop it with Ctrl-C in its terminal, or run: "
                "orbit down"
            )
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield file.fileno()
        finally:
            file.truncate(0)


def stop_the_one(pid_file: Path) -> int | None:
    """Ask the running one to stop and wait until it did; return its process id, None when none ran.

    Raises:
        ServiceFailed: it doesn't stop.
    """
    try:
        file = pid_file.open("r+")
    except FileNotFoundError:
        return None
    with file:
        asked: int | None = None
        deadline = time.monotonic() + SECONDS_TO_STOP
        while not _lock(file):
            pid = _pid(file)
            if pid is not None and asked is None:
                with contextlib.suppress(ProcessLookupError):  # killed, and being cleaned up after
                    os.kill(pid, signal.SIGTERM)
                asked = pid
            if time.monotonic() > deadline:
                raise ServiceFailed(
                    f"`orbit up`, process {pid}, doesn't stop. Look into its terminal; `kill -9 {pid}` ends it, and "
                    "what it runs ends with it."
                )
            time.sleep(0.05)
    return asked


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pid(file: IO[str]) -> int | None:
    """Return the process id in the file, None in the moment before it is written."""
    file.seek(0)
    content = file.read().strip()
    return int(content) if content else None
