import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orbit_pipelines.errors import ServiceFailed
from orbit_pipelines.services.one_at_a_time import only_one, stop_the_one
from orbit_pipelines.settings import PROJECT_ROOT

HOLDER = """
import sys, time
from pathlib import Path
from orbit_pipelines.services.one_at_a_time import only_one
with only_one(Path(sys.argv[1])):
    print("holding", flush=True)
    time.sleep(600)
"""


def hold(pid_file: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, pid_file], cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "holding\n"
    return holder


def test_the_running_one_is_named_to_the_second_and_stops_when_asked(tmp_path: Path) -> None:
    pid_file = tmp_path / "home" / "up.pid"
    with hold(pid_file) as holder:
        with pytest.raises(ServiceFailed, match=rf"process {holder.pid}\b.*orbit down"), only_one(pid_file):
            pass

        assert stop_the_one(pid_file) == holder.pid
        assert holder.wait() == -signal.SIGTERM

    assert stop_the_one(pid_file) is None


def test_a_killed_one_is_not_taken_for_running(tmp_path: Path) -> None:
    pid_file = tmp_path / "up.pid"
    with hold(pid_file) as holder:
        holder.kill()

    assert stop_the_one(pid_file) is None
    with only_one(pid_file):
        assert pid_file.read_text() == f"{os.getpid()}\n"


def test_a_process_id_that_is_somebody_elses_by_now_is_left_alone(tmp_path: Path) -> None:
    pid_file = tmp_path / "up.pid"
    pid_file.write_text(f"{os.getpid()}\n")

    assert stop_the_one(pid_file) is None


def test_nothing_runs_where_there_is_no_file(tmp_path: Path) -> None:
    assert stop_the_one(tmp_path / "up.pid") is None
