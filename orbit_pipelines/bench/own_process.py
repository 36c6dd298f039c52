"""What is measured runs in a process of its own: nothing of the benchmark's is in its memory, imports or caches."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from orbit_pipelines.errors import BenchFailed
from orbit_pipelines.settings import PROJECT_ROOT, Settings

SECONDS_TO_END = 30
"""How long an interrupted process may take to put things in order."""


Ask = Callable[[str], dict[str, Any]]
"""Gives a program a line and returns its answer."""


def run_module(module: str, settings: Settings, *arguments: str) -> dict[str, Any]:
    """Run one of this package's modules as a program and return the JSON object it prints."""
    output = run_program([sys.executable, "-m", module, *arguments], environment_of(settings))
    answer: dict[str, Any] = json.loads(output)
    return answer


@contextmanager
def answering(module: str, settings: Settings) -> Iterator[Ask]:
    """Run one of this package's modules as a program that answers each line it is given with a line of JSON.

    What it is asked with raises ``BenchFailed`` where the program ends instead. At the end it is told that no more
    comes; an interrupt reaches only us, and we interrupt it in turn.
    """
    with (
        tempfile.TemporaryFile("w+") as complaint,
        subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=PROJECT_ROOT,
            env=environment_of(settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaint,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        asked, answers = process.stdin, process.stdout
        if asked is None or answers is None:  # pragma: no cover - they are pipes
            raise RuntimeError("the program has no pipes")

        def ask(line: str) -> dict[str, Any]:
            with suppress(BrokenPipeError):
                asked.write(f"{line}\n")
                asked.flush()
            if answer := answers.readline():
                answered: dict[str, Any] = json.loads(answer)
                return answered
            process.wait()
            complaint.seek(0)
            last_line = complaint.read().strip().rpartition("\n")[2] or "no reason given"
            raise BenchFailed(f"{module} failed: {last_line}")

        try:
            yield ask
            process.communicate()
        except BaseException:
            _interrupt(process)
            raise


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


def forget_peak() -> None:
    """Have ``peak_mib`` begin anew, where the system can: on Linux."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mib() -> float:
    """Return the most memory this process held since ``forget_peak``, in MiB; without it, since it began.

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
