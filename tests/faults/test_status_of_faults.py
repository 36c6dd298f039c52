"""What `orbit status` says after a fault: what happened, that memory stands, and what to do."""

from collections.abc import Iterator, Sequence
from random import Random

import pytest
from typer.testing import CliRunner

from orbit_pipelines.building.run import build
from orbit_pipelines.cli.app import app
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.embedders.protocol import Vectors
from orbit_pipelines.errors import EmbeddingFailed
from orbit_pipelines.settings import load_settings
from tests.faults.faulty import Child, Orders, change
from tests.running import FailingEmbedder
from tests.worlds import World


@pytest.fixture
def installed(history: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A built history, as the command line finds it."""
    # The command can't know another size of the fake's vectors.
    history.settings = history.settings.model_copy(update={"chunk_characters": 800})
    for name in ("home", "database_url", "embedder"):
        monkeypatch.setenv(f"ORBIT_{name.upper()}", str(getattr(history.settings, name)))
    load_settings.cache_clear()
    history.build()
    change(history, Random(71))
    yield history
    load_settings.cache_clear()


def status() -> str:
    result = CliRunner().invoke(app, ["status"])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_killed_build_is_told_with_what_to_do_until_the_next(installed: World) -> None:
    child = Child(installed, Orders(stops=True))
    child.go_on_to("embedding")
    child.kill()
    told = status()
    assert "trouble     2 (incremental), dead " in told
    assert "Its process is gone; the next build cleans up after it. Run: orbit build" in told
    assert f"workspace   {installed.settings.workspaces / child.run_id} is left from a build that ended" in told
    assert "last build  1 (incremental), published" in told

    installed.build()
    told = status()
    assert "trouble" not in told
    assert "workspace " not in told
    assert installed.sql("select status, note from memory.build where build_id = 2") == [
        ("died", "its process ended without a word; the next build takes its place")
    ]


def test_a_failed_build_is_told_with_what_to_do(installed: World) -> None:
    run = installed.run()
    run.embedder = FailingEmbedder()
    with pytest.raises(EmbeddingFailed):
        build(run)
    run.connection.close()
    told = status()
    assert "trouble     2 (incremental), failed " in told
    assert "(EmbeddingFailed: The endpoint answers no more. Start it again.)" in told
    assert "What was published before is in force.\n" in told


def test_a_build_that_failed_by_an_unknown_fault_is_told_without_its_words(installed: World) -> None:
    run = installed.run()
    run.embedder = BrokenEmbedder()
    with pytest.raises(ZeroDivisionError):
        build(run)
    run.connection.close()
    told = status()
    assert "(ZeroDivisionError: see the Dagster run)" in told
    assert "What was published before is in force. Run: orbit build" in told


class BrokenEmbedder(FakeEmbedder):
    """Fails by a fault that quotes what it was given."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Fail."""
        raise ZeroDivisionError(texts)
