import shutil
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbit_pipelines.database.connection import connect
from orbit_pipelines.errors import InstallationMismatch
from orbit_pipelines.lineage import mirror
from orbit_pipelines.lineage.mirror import MERGE_AT, mirror_lineage, parts_to_merge
from orbit_pipelines.lineage.parts import Part, StoredPart

if TYPE_CHECKING:
    from tests.lineage.conftest import History

Connection = psycopg.Connection[Any]
Query = Callable[[Path, str], list[tuple[Any, ...]]]

CHANGES = "select build_id, source_id, chunk_index, content_hash, action, reason, epoch_us(changed_at) from changes"
STORED_CHANGES = (
    "select build_id, source_id, chunk_index, encode(content_hash, 'hex'), action, reason,"
    " (extract(epoch from changed_at) * 1000000)::bigint from memory.change"
)


def files_of(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def assert_mirrors(connection: Connection, folder: Path, query: Query) -> None:
    """The mirror holds exactly what the database holds of finished builds."""
    finished = connection.execute(
        "select build_id, status, added, removed from memory.build where status <> 'running' order by build_id"
    ).fetchall()
    assert query(folder, "select build_id, status, added, removed from builds order by build_id") == finished
    assert sorted(query(folder, CHANGES), key=str) == sorted(connection.execute(STORED_CHANGES).fetchall(), key=str)
    for view, table, key in (("skipped", "skipped", "source_id"), ("source_statuses", "source_status", "status")):
        rows = f"select user_id, source_key, {key}, reason, since_build_id, until_build_id from"
        stored = connection.execute(f"{rows} memory.{table}".encode()).fetchall()
        assert sorted(query(folder, f"{rows} {view}"), key=str) == sorted(stored, key=str)


def test_every_finished_build_is_mirrored_whatever_became_of_it(
    connection: Connection, history: "History", five_weeks: list[int], tmp_path: Path, query: Query
) -> None:
    history.build(day=31, status="running")

    result = mirror_lineage(connection, tmp_path)

    assert result.builds == len(five_weeks)
    assert result.rows == {"builds": 7, "changes": 19, "skipped": 9, "source_statuses": 11}
    assert_mirrors(connection, tmp_path, query)


def test_mirroring_again_changes_no_file(connection: Connection, lineage_folder: Path) -> None:
    before = files_of(lineage_folder)

    result = mirror_lineage(connection, lineage_folder)

    assert (result.builds, result.rows) == (0, {})
    assert files_of(lineage_folder) == before


def test_a_build_lies_in_the_month_it_ended_in(lineage_folder: Path, query: Query) -> None:
    for month, builds in (("2026-10", [1]), ("2026-11", [2, 3, 4, 5, 6, 7])):
        path = lineage_folder / "builds" / f"month={month}" / "*.parquet"
        assert query(lineage_folder, f"select build_id from read_parquet('{path}') order by 1") == [
            (b,) for b in builds
        ]


def test_a_build_that_ends_after_a_later_one_was_mirrored_is_not_passed_over(
    connection: Connection, history: "History", tmp_path: Path, query: Query
) -> None:
    slow = history.build(status="running")
    history.change(history.build(day=1), "added", "new_pair", "s:0")
    mirror_lineage(connection, tmp_path)
    connection.execute("update memory.build set status = 'failed', finished_at = now() where build_id = %s", [slow])

    assert mirror_lineage(connection, tmp_path).builds == 1
    assert_mirrors(connection, tmp_path, query)


def test_rows_pass_through_in_batches(
    connection: Connection, five_weeks: list[int], tmp_path: Path, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "BATCH_ROWS", 2)

    mirror_lineage(connection, tmp_path)

    assert_mirrors(connection, tmp_path, query)


def test_any_id_passes_through_unchanged(
    connection: Connection, history: "History", tmp_path: Path, query: Query
) -> None:
    build = history.build()
    for source_id in ('a "quoted", one:0', "two\nlines:0", "été ☀:0", "null:0", "\\N:0", "007"):
        history.change(build, "added", "new_pair", source_id)
    connection.execute("update memory.change set content_hash = null where source_id = '007'")

    mirror_lineage(connection, tmp_path)

    assert_mirrors(connection, tmp_path, query)


def test_no_text_is_mirrored(lineage_folder: Path, query: Query) -> None:
    for view in ("builds", "changes", "skipped", "source_statuses"):
        rows = query(lineage_folder, f"select * from {view}")
        assert not [
            value for row in rows for value in row if isinstance(value, str) and " " in value and value[0] != "{"
        ]


@pytest.mark.parametrize("table", ["builds", "changes", "skipped", "source_statuses"])
def test_what_a_crash_left_out_is_mirrored_again_and_once(
    connection: Connection, lineage_folder: Path, query: Query, table: str
) -> None:
    # Without its builds file a part was never committed; without another one it isn't whole.
    (lineage_folder / table / "month=2026-11" / "part-000002.parquet").unlink()

    assert mirror_lineage(connection, lineage_folder).builds == 6
    assert_mirrors(connection, lineage_folder, query)


def test_leftovers_of_a_crash_are_swept_away(connection: Connection, lineage_folder: Path, query: Query) -> None:
    month = lineage_folder / "changes" / "month=2026-11"
    half_written = month / "part-000003.parquet.new"
    half_written.write_bytes(b"PAR1 and no more")
    uncommitted = month / "part-000003.parquet"
    shutil.copy(month / "part-000002.parquet", uncommitted)

    mirror_lineage(connection, lineage_folder)

    assert not half_written.exists()
    assert not uncommitted.exists()
    assert_mirrors(connection, lineage_folder, query)


def test_a_damaged_file_is_mirrored_again(connection: Connection, lineage_folder: Path, query: Query) -> None:
    (lineage_folder / "builds" / "month=2026-11" / "part-000002.parquet").write_bytes(b"not a parquet file")

    assert mirror_lineage(connection, lineage_folder).builds == 6
    assert_mirrors(connection, lineage_folder, query)


def test_two_mirrorings_at_once_mirror_everything_once(
    connection: Connection, database_url: str, five_weeks: list[int], tmp_path: Path, query: Query
) -> None:
    mirrored: list[int] = []

    def run() -> None:
        with connect(database_url) as own:
            mirrored.append(mirror_lineage(own, tmp_path).builds)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(mirrored) == [0, 0, 0, 7]
    assert_mirrors(connection, tmp_path, query)


@pytest.fixture
def few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge early, so that a test needs few builds."""
    monkeypatch.setattr(mirror, "MERGE_AT", 3)


def write_small_builds(connection: Connection, history: "History", folder: Path, count: int) -> None:
    for number in range(count):
        history.change(history.build(day=number / 24), "added", "new_pair", f"s:{number}")
        mirror_lineage(connection, folder)


def parts_of(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "changes").glob("month=*/*"))


def test_small_parts_of_a_month_are_merged_and_nothing_counts_twice(
    connection: Connection, history: "History", tmp_path: Path, query: Query, few_parts: None
) -> None:
    write_small_builds(connection, history, tmp_path, 3)

    assert "part-000001-000003.parquet" in parts_of(tmp_path)
    assert len(parts_of(tmp_path)) == 4
    assert_mirrors(connection, tmp_path, query)


def test_merged_pieces_stay_for_readers_and_go_later(
    connection: Connection, history: "History", tmp_path: Path, query: Query, few_parts: None
) -> None:
    write_small_builds(connection, history, tmp_path, 3)

    mirror_lineage(connection, tmp_path, keep_superseded=timedelta(0))

    assert parts_of(tmp_path) == ["part-000001-000003.parquet"]
    assert_mirrors(connection, tmp_path, query)


def test_a_month_that_is_over_ends_up_in_one_file(
    connection: Connection, history: "History", tmp_path: Path, query: Query
) -> None:
    write_small_builds(connection, history, tmp_path, 2)
    history.change(history.build(day=20), "added", "new_pair", "t:0")

    assert mirror_lineage(connection, tmp_path, keep_superseded=timedelta(0)).merged_parts == 2
    assert parts_of(tmp_path) == ["part-000001-000002.parquet", "part-000003.parquet"]
    assert_mirrors(connection, tmp_path, query)


def test_a_merged_file_that_goes_missing_is_mirrored_again(
    connection: Connection, history: "History", tmp_path: Path, query: Query, few_parts: None
) -> None:
    write_small_builds(connection, history, tmp_path, 3)
    mirror_lineage(connection, tmp_path, keep_superseded=timedelta(0))
    next((tmp_path / "changes").glob("month=*/part-000001-000003.parquet")).unlink()

    assert mirror_lineage(connection, tmp_path).builds == 3
    assert_mirrors(connection, tmp_path, query)


def test_the_folder_of_another_database_is_refused(lineage_folder: Path, new_database: Callable[[], str]) -> None:
    with connect(new_database()) as other:
        other.execute("insert into memory.build (mode, scope, status) values ('full', '{}', 'failed')")
        with pytest.raises(InstallationMismatch, match="another database") as refusal:
            mirror_lineage(other, lineage_folder)
    assert str(lineage_folder) in str(refusal.value)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=200))
def test_a_month_keeps_few_parts_and_rewrites_a_row_a_few_times(sizes: list[int]) -> None:
    parts: list[StoredPart] = []
    written = 0
    for number, size in enumerate(sizes, start=1):
        parts.append(StoredPart(Part("2026-11", number, number), {"changes": size}))
        for group in parts_to_merge(parts):
            assert group == parts[-len(group) :]
            rows = sum(part.size for part in group)
            parts[-len(group) :] = [
                StoredPart(Part("2026-11", group[0].part.first, group[-1].part.last), {"changes": rows})
            ]
            written += rows
        assert len(parts) <= 2 * MERGE_AT
    assert written <= 8 * sum(sizes)
