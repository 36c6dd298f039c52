import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg
import pytest

from orbit_pipelines.lineage import mirror
from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.lineage.views import FILE_NAME, VIEWS, write_views

if TYPE_CHECKING:
    from tests.lineage.conftest import History

Connection = psycopg.Connection[Any]
Query = Callable[[Path, str], list[tuple[Any, ...]]]

READER = """
import sys, time, duckdb
from pathlib import Path

folder, seen = Path(sys.argv[1]), 0
while not (folder / "stop").exists():
    with duckdb.connect(folder / "lineage.duckdb", read_only=True) as database:
        for _ in range(3):
            builds, changes = database.execute(
                "select (select count(*) from builds), (select count(*) from changes)").fetchone()
            if builds != changes or builds < seen:
                sys.exit(f"{builds} builds, {changes} changes, {seen} builds before")
            seen = builds
    (folder / "reading").touch()
    time.sleep(0.1)
print(seen)
"""


def test_an_empty_installation_has_every_view_and_no_rows(connection: Connection, tmp_path: Path, query: Query) -> None:
    mirror_lineage(connection, tmp_path)

    for view in VIEWS:
        assert query(tmp_path, f"select * from {view}") == []
    columns = query(tmp_path, "select column_name, data_type from duckdb_columns() where table_name = 'changes'")
    assert {("changed_at", "TIMESTAMP WITH TIME ZONE"), ("content_hash", "VARCHAR")} < set(columns)


def test_the_history_of_a_chunk_has_a_row_for_each_of_its_lives(lineage_folder: Path, query: Query) -> None:
    lives = "select added_build_id, added_reason, removed_build_id, removed_reason from chunk_history"

    assert query(lineage_folder, f"{lives} where source_id = 'garden:1' order by added_build_id") == [
        (1, "new_pair", 2, "not_remembered"),
        (7, "remembered_again", None, None),
    ]
    assert query(lineage_folder, f"{lives} where source_id = 'garden:2' and chunk_index = 0 order by 1") == [
        (1, "new_pair", 2, "content_edited"),
        (2, "content_edited", None, None),
    ]


def test_chunks_alive_in_history_are_the_chunks_in_memory(
    connection: Connection, lineage_folder: Path, query: Query
) -> None:
    alive = "select user_id, source_id, chunk_index, content_hash from chunk_history where removed_build_id is null"
    stored = "select user_id, source_id, chunk_index, encode(content_hash, 'hex') from memory.chunk"

    assert set(query(lineage_folder, alive)) == set(connection.execute(stored).fetchall())


def test_a_session_and_its_pair_are_read_from_the_source_id(
    connection: Connection, history: "History", tmp_path: Path, query: Query
) -> None:
    build = history.build()
    history.change(build, "added", "new_pair", "a:b c:12")
    history.change(build, "added", "new_pair", "doc:7", source="files.documents")
    mirror_lineage(connection, tmp_path)

    assert query(tmp_path, "select source_id, session_id, pair_index from changes order by source_id") == [
        ("a:b c:12", "a:b c", 12),
        ("doc:7", None, None),
    ]


def test_a_moved_folder_gets_views_of_its_new_place(
    connection: Connection, lineage_folder: Path, tmp_path: Path, query: Query
) -> None:
    moved = lineage_folder.rename(tmp_path / "it's moved")

    assert mirror_lineage(connection, moved).builds == 0
    assert query(moved, "select count(*) from builds") == [(7,)]


def test_a_damaged_views_file_is_written_anew(connection: Connection, lineage_folder: Path, query: Query) -> None:
    (lineage_folder / FILE_NAME).write_bytes(b"no database")

    mirror_lineage(connection, lineage_folder)

    assert query(lineage_folder, "select count(*) from builds") == [(7,)]


def test_views_over_the_same_files_are_not_written_again(lineage_folder: Path) -> None:
    before = (lineage_folder / FILE_NAME).stat()

    write_views(lineage_folder)

    assert (lineage_folder / FILE_NAME).stat().st_ino == before.st_ino


def test_an_open_reader_keeps_its_state_and_a_new_one_sees_the_newest(
    connection: Connection, history: "History", lineage_folder: Path
) -> None:
    with duckdb.connect(lineage_folder / FILE_NAME, read_only=True) as reader:
        history.change(history.build(day=31), "added", "new_pair", "s:0")
        mirror_lineage(connection, lineage_folder)
        assert reader.execute("select count(*) from builds").fetchall() == [(7,)]
    with duckdb.connect(lineage_folder / FILE_NAME, read_only=True) as reader:
        assert reader.execute("select count(*) from builds").fetchall() == [(8,)]


def test_someone_who_opened_it_for_writing_stops_no_build(
    connection: Connection, history: "History", lineage_folder: Path, query: Query
) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import duckdb; duckdb.connect({str(lineage_folder / FILE_NAME)!r}); print(1); input()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "1\n"
        history.build(day=31)
        mirror_lineage(connection, lineage_folder)
        assert query(lineage_folder, "select count(*) from builds") == [(8,)]
    finally:
        holder.communicate("\n")


def test_a_reader_in_another_process_never_sees_half_a_build_nor_a_row_twice(
    connection: Connection, history: "History", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "MERGE_AT", 3)
    mirror_lineage(connection, tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as reader:
        while not (tmp_path / "reading").exists() and reader.poll() is None:
            time.sleep(0.02)
        for number in range(7):
            history.change(history.build(day=number / 24), "added", "new_pair", f"s:{number}")
            mirror_lineage(connection, tmp_path)
        (tmp_path / "stop").touch()
        _, errors = reader.communicate()
    assert reader.returncode == 0, errors
