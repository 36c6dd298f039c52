import os
import signal
import sys
from pathlib import Path

import pytest

from orbit_pipelines.bench.own_process import (
    answering,
    ending_in_order,
    environment_of,
    forget_peak,
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


def test_a_module_answers_line_by_line_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "echo.py").write_text(
        "import json, os, sys\nfor line in sys.stdin:\n"
        "    print(json.dumps({'line': line.strip(), 'process': os.getpid()}), flush=True)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with answering("echo", Settings(home=tmp_path)) as ask:
        first, second = ask("one"), ask("two")
    assert (first["line"], second["line"]) == ("one", "two")
    assert first["process"] == second["process"]


def test_a_module_that_ends_instead_of_answering_is_told_by_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ends.py").write_text("import sys\nsys.exit('a trace\\nthe last word')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(BenchFailed, match="the last word"), answering("ends", Settings(home=tmp_path)) as ask:
        ask("one")


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the system can't begin it anew")
def test_the_peak_begins_anew() -> None:
    kept = bytearray(64 << 20)
    kept[:] = b"x" * len(kept)
    peak = peak_mib()
    del kept
    forget_peak()
    assert peak_mib() < peak - 32


def test_the_peak_is_at_least_what_is_held() -> None:
    assert peak_mib() >= held_mib() > 10
