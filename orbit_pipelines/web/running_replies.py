"""The replies that are being made, so that a server that stops keeps what came of each."""

from collections.abc import Callable
from threading import Event, Lock
from time import monotonic

StoreReply = Callable[[str, bool], None]
"""Stores a reply's text, and whether it is whole."""


class RunningReply:
    """One reply while it is made; it is stored once, by whoever ends it first.

    Without ``store`` nothing of it is kept. ``release`` lets go of whoever listens to it; ``is_unheard``: they left.
    """

    def __init__(self, store: StoreReply | None, release: Callable[[], None]) -> None:
        self._store = store
        self.release = release
        self._said: list[str] = []
        self._lock = Lock()
        self._is_kept = False
        self.ended = Event()
        self.is_unheard = Event()

    @property
    def is_stored(self) -> bool:
        """Whether anything of it is to be kept."""
        return self._store is not None

    @property
    def has_words(self) -> bool:
        """Whether anything but white space has come."""
        return any(text.strip() for text in self._said)

    def add(self, text: str) -> None:
        """Take the next piece."""
        with self._lock:
            self._said.append(text)

    def keep(self, *, is_whole: bool) -> None:
        """Store what came; nothing is no reply, and a second time is none either."""
        with self._lock:
            if self._store is not None and not self._is_kept and self.has_words:
                self._is_kept = True
                self._store("".join(self._said), is_whole)


class RunningReplies:
    """All of a server's; ``is_stopping`` asks each to end after its next piece."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: set[RunningReply] = set()
        self.is_stopping = Event()

    @property
    def are_running(self) -> bool:
        """Whether any is being made."""
        with self._lock:
            return bool(self._running)

    def begin(self, store: StoreReply | None, release: Callable[[], None]) -> RunningReply:
        """Return a reply that begins."""
        reply = RunningReply(store, release)
        with self._lock:
            self._running.add(reply)
        return reply

    def end(self, reply: RunningReply) -> None:
        """Forget a reply that has been kept, or that nothing came of."""
        with self._lock:
            self._running.discard(reply)
        reply.ended.set()

    def stop(self, seconds: float) -> int:
        """Have every reply end, and return how many had to be kept for makers that stayed silent.

        Args:
            seconds: how long to wait for them together.
        """
        self.is_stopping.set()
        deadline = monotonic() + seconds
        with self._lock:
            running = tuple(self._running)
        silent = [reply for reply in running if not reply.ended.wait(max(0.0, deadline - monotonic()))]
        for reply in silent:
            try:
                reply.keep(is_whole=False)
            finally:
                # A listener that waits for a silent maker would hold the process back.
                reply.release()
        return len(silent)
