from datetime import UTC, datetime
from pathlib import Path

import pytest

from orbit_pipelines.bench.machine import Machine
from orbit_pipelines.bench.measurements import (
    BenchResult,
    CommandMeasured,
    ImportMeasured,
    PeerMeasured,
    StepMeasured,
)
from orbit_pipelines.bench.page import BUILDS, IMPORTS, require_writable, write_bench, write_import
from orbit_pipelines.bench.plot import seconds_by_participant
from orbit_pipelines.errors import BenchFailed
from orbit_pipelines.settings import PROJECT_ROOT

MACHINE = Machine(
    datetime(2030, 1, 2, 3, 4, tzinfo=UTC),
    "a processor",
    2,
    2**33,
    0.5,
    "Linux",
    "3.11",
    "18.4",
    "0.8.5",
    {"fsync": "on"},
)
RESULT = BenchResult(
    steps=(
        StepMeasured("W1", 2_000, 1.25, 0.5, 2.5, 4_600, 0, 4_600, 2**20, 250, {"begin": 0.01, "pairing": 1.24}),
        StepMeasured("W2", 2_000, 0.02, 0.001, None, 0, 0, 0, 2**10, 150, {"begin": 0.01}),
        StepMeasured("growth", 2_000, 0.1, 0.05, 2, 1, 1, 1, 1, 1),
        StepMeasured("growth", 20_000, 0.12, 0.05, 2, 1, 1, 1, 1, 1),
    ),
    peers=(
        PeerMeasured("swift", "W1", 2_000, 5, 10, 0, 10, 2**20, 300),
        PeerMeasured("swift", "W2", 2_000, 1, trouble="3 extra"),
        PeerMeasured("broken", "W1", 2_000, trouble="failed: a | b"),
    ),
    command=CommandMeasured(2_000, 6, imports=2, dagster=3, build=0.02, events=60),
    anew=(StepMeasured("W2", 2_000, 0.04, 0.001, None, 0, 0, 0, 2**10, 120),),
)
IMPORTED = ImportMeasured(200_000, 5_000, 2**28, 16, 8, baseline_mib=70, peak_mib=170)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "performance.md"
    path.write_text(
        "# Title\n\nProse.\n\n"
        "<!-- figures of orbit bench: begin -->\nold\n<!-- figures of orbit bench: end -->\n\nMore prose.\n\n"
        "<!-- figures of orbit bench import: begin -->\n<!-- figures of orbit bench import: end -->\nThe end.\n"
    )
    return path


def test_figures_replace_what_is_between_their_marks_and_leave_the_prose(page: Path) -> None:
    write_bench(page, MACHINE, RESULT)
    write_import(page, MACHINE, IMPORTED)
    once = page.read_text()
    write_bench(page, MACHINE, RESULT)
    assert page.read_text() == once
    assert "old" not in once
    for prose in ("# Title\n\nProse.\n\n<!--", "-->\n\nMore prose.\n\n<!--", "-->\nThe end.\n"):
        assert prose in once
    assert sorted(path.name for path in page.parent.iterdir()) == ["performance.md", "performance.png"]
    assert page.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_a_page_tells_machine_targets_steps_parts_growth_command_and_peers(page: Path) -> None:
    write_bench(page, MACHINE, RESULT)
    written = page.read_text()
    for line in (
        "Measured on 2030-01-02 at 03:04 UTC: a processor, 2 cores, 8 GiB of memory, load 0.5",
        "![Seconds of each step, beside its floor](performance.png)",
        "| orbit build, nothing changed, whole command | 5 s | 6.00 s | missed |",
        "| W1 full build, 20,000 pairs | 3 × the floor |  | not measured |",
        "| W1 full build | 1.25 s | 500 ms | 2.5 × | 4,600 | 0 | 4,600 | 1.0 MiB | 250 MiB |",
        "| W2 nothing changed | 20 ms | 1.0 ms | – | 0 | 0 | 0 | 1 KiB | 150 MiB |",
        "| · swift | 5.00 s |  | 10.0 × | 10 | 0 | 10 | 1.0 MiB | 300 MiB |",
        "| · swift, wrong: 3 extra | 1.00 s |  | – |",
        "| · broken: failed: a \\| b |  |",
        "| W1 | 10 ms | 1.24 s |",
        "| W2 | 10 ms | – |",
        "| 20,000 | 120 ms | 1.20 × |",
        "| W2 | 20 ms | 40 ms |",
        "| Dagster's run, 60 events written | 3.00 s |",
        "| connecting, Dagster's instance and plan, ending | 980 ms |",
    ):
        assert line in written


def test_a_page_tells_an_imports_speed_and_memory(page: Path) -> None:
    write_import(page, MACHINE, IMPORTED)
    assert "| messages a second | 12,500 |" in page.read_text()
    assert "| their peak memory | 1,024 bytes a message | 524 bytes a message | met |" in page.read_text()


def test_a_page_that_is_missing_is_made(tmp_path: Path) -> None:
    write_bench(tmp_path / "new.md", MACHINE, RESULT)
    require_writable(tmp_path / "new.md", BUILDS)


def test_a_page_without_marks_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("Prose.\n")
    with pytest.raises(BenchFailed, match="figures of orbit bench: begin"):
        require_writable(tmp_path / "page.md", BUILDS)
    with pytest.raises(BenchFailed, match="no folder"):
        require_writable(tmp_path / "nowhere" / "page.md", BUILDS)


def test_the_projects_own_page_has_a_place_for_both_kinds_of_figures() -> None:
    for command in (BUILDS, IMPORTS):
        require_writable(PROJECT_ROOT / "docs" / "performance.md", command)


def test_a_plot_shows_no_floor_without_rows_and_no_peer_that_failed() -> None:
    assert seconds_by_participant(RESULT, 2_000) == {
        "orbit": {"W1": 1.25, "W2": 0.02, "growth": 0.1},
        "COPY floor": {"W1": 0.5, "growth": 0.05},
        "swift": {"W1": 5, "W2": 1},
        "broken": {},
    }
