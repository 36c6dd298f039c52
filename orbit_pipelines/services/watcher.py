"""The process that ends the services when their supervisor is killed and can't do it itself.

It reads session ids from a pipe, one a line. The pipe's end without the word ``done`` means that the supervisor is
gone: then the sessions named so far end, and the embedded PostgreSQL with them.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from orbit_pipelines.database import embedded
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.services.sessions import end_sessions
from orbit_pipelines.settings import PROJECT_ROOT

DONE = "done"


class Watcher:
    """The supervisor's end of the pipe, as a context: leaving it without an exception needs no watching any more."""

    def __init__(self, server: EmbeddedServer | None, keep_open: Sequence[int] = ()) -> None:
        """Start the watching process; it stops ``server`` too, and inherits the descriptors ``keep_open``."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "orbit_pipelines.services.watcher", *([server.data] if server else [])],
            cwd=PROJECT_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=keep_open,
            text=True,
        )

    def watch(self, session: int) -> None:
        """Have a session ended when this process is gone."""
        self._write(str(session))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write(DONE)
        self._pipe.close()
        self._process.wait()

    def _write(self, word: str) -> None:
        self._pipe.write(f"{word}\n")
        self._pipe.flush()

    @property
    def _pipe(self) -> IO[str]:
        if self._process.stdin is None:
            raise TypeError("the watcher was started without a pipe")
        return self._process.stdin


def _watch(lines: IO[str], server: EmbeddedServer | None) -> None:
    sessions = []
    for line in lines:
        word = line.strip()
        if word == DONE:
            return
        sessions.append(int(word))
    end_sessions(sessions)
    if server is not None:
        embedded.stop(server)


if __name__ == "__main__":
    _watch(sys.stdin, EmbeddedServer(Path(sys.argv[1])) if len(sys.argv) > 1 else None)
