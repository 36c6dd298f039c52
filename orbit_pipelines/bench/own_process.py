"""What is measured runs in a process of its own: nothing of the benchmark's is in its memory, imports or caches."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from orbit_pipelines.errors import BenchFailed
from orbit_pipelines.settings import PROJECT_ROOT, Settings

SECONDS_TO_END = 30
"""How long an interrupted process may take to put things in order."""


def run_module(module: str, settings: Settings, *arguments: str) -> dict[str, Any]:
    """Run one of this package's modules as a program and return the JSON object it prints."""
    output = run_program([sys.executable, "-m", module, *arguments], environment_of(settings))
    answer: dict[str, Any] = json.loads(output)
    return answer


def run_program(command: Sequence[str], environment: Mapping[str, str], cwd: Path = PROJECT_ROOT) -> str:
    """Run a program to its end and return its standard output.

    It has a session of its own, so that an interrupt at the terminal reaches only us: we interrupt it in turn, and wait
    until it has cleaned up.

    Raises:
        BenchFailed: it failed.
    """
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, complaint = process.communicate()
        except BaseException:
            _interrupt(process)
            raise
    if process.returncode != 0:
        last_line = (complaint.strip() or output.strip()).rpartition("\n")[2] or "no reason given"
        raise BenchFailed(f"{Path(command[0]).name} {' '.join(command[1:3])} … failed: {last_line}")
    return output


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the environment in which a program works with these settings."""
    given = {f"ORBIT_{name.upper()}": getattr(settings, name) for name in settings.model_fields_set}
    return os.environ | {name: str(value) for name, value in given.items() if value is not None}


def peak_mib() -> float:
    """Return the most memory this process ever held, in MiB.

    ``ru_maxrss`` would do as well, if Linux didn't begin it with what the parent process held.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        import resource  # noqa: PLC0415 - macOS, which counts in bytes

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 2**10


def held_mib() -> float:
    """Return the memory this process holds now, in MiB."""
    return float(psutil.Process().memory_info().rss) / 2**20


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Have a SIGTERM end the benchmark as Ctrl-C does, its servers, databases and files removed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
