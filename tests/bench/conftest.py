from pathlib import Path

import pytest

from orbit_pipelines.bench.places import Place
from orbit_pipelines.database.embedded import EmbeddedServer


@pytest.fixture
def place(server: EmbeddedServer, tmp_path: Path) -> Place:
    """The server of this test session, and a folder of this test's own."""
    return Place(server.url("postgres"), tmp_path)
