"""The supervisor as a process of its own, as `orbit up` is, over services that are small Python programs."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from orbit_pipelines.settings import PROJECT_ROOT

SUPERVISOR = """
import sys
from pathlib import Path
from orbit_pipelines.errors import OrbitError
from orbit_pipelines.services.service import Address, Service
from orbit_pipelines.services.supervisor import supervise

port, folder = int(sys.argv[1]), Path(sys.argv[2])
web = Service("web", "Pages", (sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)), folder,
              Address("127.0.0.1", port, "--port"))
others = [Service(f"other{number}", f"Other {number}", (sys.executable, "-c", program), folder)
          for number, program in enumerate(sys.argv[3:])]
try:
    supervise([web, *others], folder / "logs", environment={"MARK": str(folder)},
              announce=lambda service: print(service.title, flush=True))
except OrbitError as error:
    sys.exit(str(error))
"""
SLEEPER = "import time; time.sleep(600)"
# A service whose child asks no one, ignores being asked to end, and outlives its parent.
STUBBORN_FAMILY = f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"])
{SLEEPER}
"""
FAILING = "import time; time.sleep(1); print('what went wrong'); raise SystemExit(3)"


@dataclass
class Supervised:
    process: subprocess.Popen[str]
    folder: Path

    def wait_for(self, *titles: str) -> None:
        waiting = set(titles)
        assert self.process.stdout is not None
        while waiting:
            line = self.process.stdout.readline()
            assert line, f"ended while waiting for {waiting}"
            waiting.discard(line.strip())

    def offspring(self) -> list[psutil.Process]:
        """Every live process that was given this supervisor's environment, whatever its parent."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("MARK") == str(self.folder) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def end(self) -> tuple[int, str]:
        output, errors = self.process.communicate(timeout=60)
        return self.process.returncode, output + errors


Start = Callable[..., Supervised]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Supervised] = []

    def start(*others: str, port: int | None = None) -> Supervised:
        process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, str(port or free_port()), tmp_path, *others],
            cwd=PROJECT_ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(Supervised(process, tmp_path))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        for process in one.offspring():
            process.kill()
        one.process.communicate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything(start: Start, number: signal.Signals) -> None:
    supervised = start(SLEEPER)
    supervised.wait_for("Pages", "Other 0")
    wait_until(lambda: len(supervised.offspring()) == 2)

    supervised.process.send_signal(number)

    assert supervised.end() == (0, "")
    assert supervised.offspring() == []


def test_a_second_signal_kills_what_does_not_end(start: Start) -> None:
    supervised = start(STUBBORN_FAMILY)
    supervised.wait_for("Pages", "Other 0")
    wait_until(lambda: len(supervised.offspring()) == 3)

    supervised.process.send_signal(signal.SIGINT)
    wait_until(lambda: len(supervised.offspring()) == 1)
    supervised.process.send_signal(signal.SIGINT)

    assert supervised.end() == (0, "")
    assert supervised.offspring() == []


def test_a_service_that_ends_takes_the_others_along_and_is_named_with_its_log(start: Start) -> None:
    supervised = start(STUBBORN_FAMILY, FAILING)

    code, output = supervised.end()

    log = supervised.folder / "logs" / "other1.log"
    assert code == 1
    assert "Other 1 (other1) ended by itself, with exit code 3" in output
    assert str(log) in output
    assert log.read_text() == "what went wrong\n"
    assert supervised.offspring() == []


def test_a_killed_service_is_told_by_its_signal(start: Start) -> None:
    supervised = start(SLEEPER)
    supervised.wait_for("Pages", "Other 0")

    next(one for one in supervised.offspring() if "http.server" in one.cmdline()).kill()

    code, output = supervised.end()
    assert code == 1
    assert "Pages (web) ended by itself, by signal SIGKILL" in output


def test_the_services_of_a_killed_supervisor_end_too(start: Start) -> None:
    supervised = start(STUBBORN_FAMILY)
    supervised.wait_for("Pages", "Other 0")
    wait_until(lambda: len(supervised.offspring()) == 3)

    supervised.process.kill()

    wait_until(lambda: supervised.offspring() == [])


def test_nothing_starts_when_a_port_is_taken(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        supervised = start(SLEEPER, port=listener.getsockname()[1])

        code, output = supervised.end()

    assert code == 1
    assert "--port" in output
    assert not (supervised.folder / "logs").exists()


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    from orbit_pipelines.errors import ServiceFailed
    from orbit_pipelines.services.service import Service
    from orbit_pipelines.services.supervisor import supervise

    nowhere = Service("nowhere", "Nowhere", (str(tmp_path / "no-such-program"),), tmp_path)

    with pytest.raises(ServiceFailed, match=r"Nowhere can't be started: .*no-such-program"):
        supervise([nowhere], tmp_path / "logs", environment={}, announce=lambda service: None)


def test_the_services_logs_are_nobody_elses_to_read(start: Start) -> None:
    supervised = start()
    supervised.wait_for("Pages")

    assert os.stat(supervised.folder / "logs").st_mode & 0o077 == 0
