"""Reading a file or text whole, for tests that look at what came out."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from orbit_pipelines.history.formats.registry import AUTO, read_sessions
from orbit_pipelines.history.reading import open_export
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]


@pytest.fixture(scope="session")
def exports() -> Path:
    """The folder of the exports written for these tests."""
    return Path(__file__).parents[2] / "fixtures" / "exports"


@pytest.fixture(scope="session")
def read_file() -> Callable[..., Reading]:
    """Read an export to its end."""

    def read(path: Path, format_name: str = AUTO) -> Reading:
        problems = Problems()
        with open_export(path) as export:
            return list(read_sessions(export, problems, format_name=format_name)), problems

    return read


@pytest.fixture
def read_text(read_file: Callable[..., Reading], tmp_path: Path) -> Callable[..., Reading]:
    """Read an export that consists of this text or these bytes, or of this value as JSON."""

    def read(content: object, format_name: str = AUTO) -> Reading:
        path = tmp_path / "export"
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return read_file(path, format_name)

    return read
