"""How many faults were tried, told at the end of a test run, whichever workers tried them."""

from collections import Counter
from collections.abc import Callable

import pytest

Tally = Callable[[str, int], None]

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
                for name, count in report.user_properties:
                    if name.startswith(_PREFIX):
                        tried[name.removeprefix(_PREFIX)] += count
    if tried:
        terminalreporter.section("faults tried, each followed by a build that put everything right")
        for kind, count in sorted(tried.items()):
            terminalreporter.write_line(f"{count:>6}  {kind}")
