"""Ending processes with all their descendants.

Each service leads an operating system session of its own. Whatever it starts stays in that session, also when its
parent is gone, so the session finds the descendants that the process tree has lost.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable

import psutil

SECONDS_TO_END = 10.0


def members(sessions: Iterable[int]) -> list[psutil.Process]:
    """Return the live processes of some sessions."""
    wanted = frozenset(sessions)
    return [process for process in psutil.process_iter() if _is_live_member(process, wanted)]


def end_sessions(sessions: Iterable[int], hurry: Callable[[], bool] = lambda: False) -> None:
    """Ask every process of some sessions to end, and kill what is left after a while or in a hurry."""
    wanted = frozenset(sessions)
    _signal(members(wanted), signal.SIGTERM)
    deadline = time.monotonic() + SECONDS_TO_END
    while remaining := members(wanted):
        if hurry() or time.monotonic() > deadline:
            _signal(remaining, signal.SIGKILL)
        time.sleep(0.05)


def _is_live_member(process: psutil.Process, sessions: frozenset[int]) -> bool:
    try:
        return os.getsid(process.pid) in sessions and process.status() != psutil.STATUS_ZOMBIE
    except (OSError, psutil.Error):
        return False


def _signal(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
