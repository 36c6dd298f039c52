"""Who is told how far a build is: the process that runs it may have a progress bar to move."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from orbit_pipelines.building.run import Progress


def _tell_nobody(_step: str, _count: int) -> None:
    pass


_LISTENER: ContextVar[Progress] = ContextVar("listener", default=_tell_nobody)


def progress_listener() -> Progress:
    """Return whom builds of this context tell how far they are."""
    return _LISTENER.get()


@contextmanager
def listening(listener: Progress | None) -> Iterator[None]:
    """Have builds that begin in this context tell ``listener``."""
    token = _LISTENER.set(listener or _tell_nobody)
    try:
        yield
    finally:
        _LISTENER.reset(token)
