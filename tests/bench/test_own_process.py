import os
import signal
import sys
from pathlib import Path

import pytest

from orbit_pipelines.bench.own_process import (
    ending_in_order,
    environment_of,
    held_mib,
    peak_mib,
    run_program,
)
from orbit_pipelines.errors import BenchFailed
from orbit_pipelines.settings import Settings


def test_a_program_that_fails_is_told_by_its_last_line() -> None:
    with pytest.raises(BenchFailed, match="the last word"):
        run_program([sys.executable, "-c", "import sys; sys.exit('a trace\\nthe last word')"], os.environ)


def test_an_interrupt_lets_the_program_clean_up_first(tmp_path: Path) -> None:
    # The program interrupts us, as a person would while it runs; it has a session of its own, so nobody else does.
    program = (
        "import os, pathlib, signal, time\n"
        f"os.kill({os.getpid()}, signal.SIGINT)\n"
        "try:\n    time.sleep(600)\n"
        f"finally:\n    pathlib.Path({str(tmp_path / 'cleaned')!r}).touch()\n"
    )
    with pytest.raises(KeyboardInterrupt):
        run_program([sys.executable, "-c", program], os.environ)
    assert (tmp_path / "cleaned").exists()


def test_a_sigterm_interrupts_and_is_what_it_was_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), ending_in_order():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_program_works_with_the_given_settings(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_url="postgresql://there/db", embedder="fake")
    given = environment_of(settings)
    assert given["ORBIT_HOME"] == str(tmp_path)
    assert given["ORBIT_DATABASE_URL"] == "postgresql://there/db"
    assert given["ORBIT_EMBEDDER"] == "fake"
    assert given["PATH"] == os.environ["PATH"]


def test_the_peak_is_at_least_what_is_held() -> None:
    assert peak_mib() >= held_mib() > 10
