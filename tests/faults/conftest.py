"""How many faults were tried, told at the end of a test run."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults.faulty import Tally, can_mount, populate, small_disk
from tests.worlds import World

_PREFIX = "faults tried: "


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Tally:
    """Tell how many faults of a kind a test tried; the end of the test run lists them."""
    return lambda kind, count: record_property(_PREFIX + kind, count)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what the tally holds."""
    tried: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                tried.update(
                    {
                        name.removeprefix(_PREFIX): count
                        for name, count in report.user_properties
                        if name.startswith(_PREFIX)
                    }
                )
    if tried:
        terminalreporter.section("faults tried, each followed by a build that put everything right")
        for kind, count in sorted(tried.items()):
            terminalreporter.write_line(f"{count:>6}  {kind}")


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
