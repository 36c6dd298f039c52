"""A history for faults to meet, and a disk that is soon full."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults.faulty import can_mount, populate, small_disk
from tests.worlds import World


@pytest.fixture
def history(world: World) -> World:
    """A world with a history in it, not yet built."""
    populate(world)
    return world


@pytest.fixture
def disk() -> Iterator[Path]:
    """A disk of its own, of 48 MB."""
    if not can_mount():
        pytest.skip("only root may mount a small disk here; the tests of full disks are left out")
    # Not under pytest's folder, where the server's user may not look.
    with TemporaryDirectory(prefix="orbit-disk-") as folder:
        Path(folder).chmod(0o711)
        (Path(folder) / "disk").mkdir()
        with small_disk(Path(folder) / "disk", megabytes=48) as mounted:
            yield mounted
