import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow.parquet as pq
import pytest
from psycopg.types.json import Jsonb

from orbit_pipelines.lineage.forgetting import blank_hashes, find_account, find_hashes, remove_account
from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.lineage.parts import live_parts, rewrite_companion, stored_parts
from orbit_pipelines.lineage.replay import replay_differences
from orbit_pipelines.model import Store
from tests.lineage.conftest import BLINKS, MARA, NOOR

if TYPE_CHECKING:
    from tests.lineage.conftest import History

Connection = psycopg.Connection[Any]
Query = Callable[[Path, str], list[tuple[Any, ...]]]

HASHED = "select user_id, source_id from changes where content_hash is not null order by 1, 2"


def forget_in_database(connection: Connection, store: Store, session: str) -> None:
    key = [store.user_id, store.agent_id, session]
    connection.execute("insert into memory.tombstone (user_id, agent_id, session_id) values (%s, %s, %s)", key)
    connection.execute(
        "update memory.change set content_hash = null where user_id = %s and agent_id = %s"
        " and source_id ~ ('^' || %s || ':[0-9]+$')",
        key,
    )
    connection.commit()


def files_with(folder: Path, text: bytes) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


def test_a_forgotten_sessions_rows_keep_their_ids_and_lose_their_hash(
    connection: Connection, lineage_folder: Path, query: Query
) -> None:
    rows = "select count(*) from changes where session_id = 'garden'"
    before = query(lineage_folder, rows)
    others = [row for row in query(lineage_folder, HASHED) if row[1].split(":")[0] != "garden"]
    forget_in_database(connection, MARA, "garden")

    done = blank_hashes(connection, lineage_folder, MARA, ["garden"])

    assert done.rows == 9
    assert query(lineage_folder, rows) == before
    assert query(lineage_folder, HASHED) == others
    assert find_hashes(lineage_folder, MARA, ["garden"]) == {}


def test_an_id_selects_no_longer_one_no_other_case_and_no_other_store(
    connection: Connection, history: "History", tmp_path: Path, query: Query
) -> None:
    build = history.build()
    for source_id in ("abc:0", "abcd:0", "ABC:0", "abc.1:0", "abc:1:0", "a\nb:0"):
        history.change(build, "added", "new_pair", source_id)
    history.change(build, "added", "new_pair", "abc:0", store=NOOR)
    history.change(build, "added", "new_pair", "abc:0", store=Store("mara", "other"))
    history.change(build, "added", "new_pair", "abc:0", source=BLINKS)
    mirror_lineage(connection, tmp_path)

    assert blank_hashes(connection, tmp_path, MARA, ["abc"]).rows == 1
    assert blank_hashes(connection, tmp_path, MARA, ["a\nb", "abc:1"]).rows == 2
    assert blank_hashes(connection, tmp_path, MARA, [], [(BLINKS, "abc:0")]).rows == 1

    left = "select user_id, agent_id, source_id from changes where content_hash is not null order by all"
    assert query(tmp_path, left) == [
        ("mara", "orbitpilot", "ABC:0"),
        ("mara", "orbitpilot", "abc.1:0"),
        ("mara", "orbitpilot", "abcd:0"),
        ("mara", "other", "abc:0"),
        ("noor", "orbitpilot", "abc:0"),
    ]


def test_merged_parts_pieces_and_leftovers_of_interrupted_writings_lose_it_too(
    connection: Connection, history: "History", tmp_path: Path
) -> None:
    for day in range(3):
        history.change(history.build(day=day), "added", "new_pair", f"s:{day}")
        mirror_lineage(connection, tmp_path)
    history.build(day=40)
    assert mirror_lineage(connection, tmp_path).merged_parts == 3
    assert len(stored_parts(tmp_path)) > len(live_parts(stored_parts(tmp_path)))
    [stray, *_] = (tmp_path / "changes").glob("month=*/part-000001.parquet")
    for name in ("part-000099.parquet", "part-000001.parquet.new"):
        stray.with_name(name).write_bytes(stray.read_bytes())

    blank_hashes(connection, tmp_path, MARA, ["s"])

    hashes = [path for path in (tmp_path / "changes").rglob("part-*") if pq.read_table(path)["content_hash"].null_count]
    assert len(hashes) == 4
    assert not stray.with_name("part-000099.parquet").exists()
    assert not stray.with_name("part-000001.parquet.new").exists()
    assert find_hashes(tmp_path, MARA, ["s"]) == {}


def test_a_forget_that_was_stopped_anywhere_is_done_again_and_then_finds_nothing(
    connection: Connection, history: "History", tmp_path: Path, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(3):
        history.change(history.build(day=day), "added", "new_pair", f"s:{day}")
        mirror_lineage(connection, tmp_path)
    forget_in_database(connection, MARA, "s")
    calls = []

    def stop_at_the_second(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        rewrite_companion(*arguments)

    monkeypatch.setattr("orbit_pipelines.lineage.forgetting.rewrite_companion", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        blank_hashes(connection, tmp_path, MARA, ["s"])
    monkeypatch.undo()
    assert query(tmp_path, "select count(*), count(content_hash) from changes") == [(3, 2)]

    assert blank_hashes(connection, tmp_path, MARA, ["s"]).files == 2
    assert blank_hashes(connection, tmp_path, MARA, ["s"]).files == 0
    assert query(tmp_path, "select count(*), count(content_hash) from changes") == [(3, 0)]


def test_a_later_mirroring_brings_no_hash_back(
    connection: Connection, history: "History", lineage_folder: Path, query: Query
) -> None:
    forget_in_database(connection, MARA, "garden")
    blank_hashes(connection, lineage_folder, MARA, ["garden"])
    history.change(history.build(day=31), "added", "new_pair", "new:0")
    mirror_lineage(connection, lineage_folder)
    anew = lineage_folder.with_name("anew")
    mirror_lineage(connection, anew)

    for folder in (lineage_folder, anew):
        assert query(folder, HASHED + " limit 0") == []
        assert query(folder, "select count(content_hash) from changes where session_id = 'garden'") == [(0,)]


def test_nothing_is_made_where_there_is_no_mirror(connection: Connection, tmp_path: Path) -> None:
    assert blank_hashes(connection, tmp_path / "none", MARA, ["s"]).files == 0
    assert remove_account(connection, tmp_path / "none", "mara").files == 0
    assert find_hashes(tmp_path / "none", MARA, ["s"]) == {}
    assert not (tmp_path / "none").exists()


def test_lineage_replays_to_the_index_without_the_hashes_of_what_left(
    connection: Connection, history: "History", five_weeks: list[int]
) -> None:
    build = history.build(day=32)
    for source_id in ("garden:0", "garden:1", "garden:2"):
        history.change(build, "removed", "session_forgotten", source_id)
    history.change(build, "removed", "session_forgotten", "garden:2", chunk=1)
    forget_in_database(connection, MARA, "garden")

    assert replay_differences(connection).is_sound
    assert replay_differences(connection, build_id=build).is_sound


def test_an_accounts_rows_go_from_every_file_and_its_name_from_the_builds_made_for_it(
    connection: Connection, history: "History", five_weeks: list[int], tmp_path: Path, query: Query
) -> None:
    build = history.build(day=33)
    history.change(build, "added", "new_pair", "own:0")
    connection.execute(
        "update memory.build set scope = %s where build_id = %s", [json.dumps({"users": ["mara", 'no"or']}), build]
    )
    mirror_lineage(connection, tmp_path)
    kept = {
        view: query(tmp_path, f"select * from {view} where user_id <> 'mara' order by all")
        for view in ("changes", "skipped", "source_statuses", "chunk_history")
    }
    [(builds,)] = query(tmp_path, "select count(*) from builds")
    assert find_account(tmp_path, "mara")

    assert remove_account(connection, tmp_path, "mara").rows > 0

    for view, rows in kept.items():
        assert query(tmp_path, f"select * from {view} order by all") == rows
    assert query(tmp_path, "select count(*), max(scope) from builds") == [(builds, '{"users": ["no\\"or"]}')]
    assert find_account(tmp_path, "mara") == {}
    assert files_with(tmp_path, b"mara") == []
    assert remove_account(connection, tmp_path, "mara").files == 0
    assert mirror_lineage(connection, tmp_path).builds == 0


def test_the_view_of_forgets_tells_each_tombstone_and_what_left_by_it(
    connection: Connection, history: "History", five_weeks: list[int], tmp_path: Path, query: Query
) -> None:
    mirror_lineage(connection, tmp_path)
    assert query(tmp_path, "select * from forgets") == []
    build = history.build(day=32)
    history.change(build, "removed", "session_forgotten", "garden:2")
    history.change(build, "removed", "session_forgotten", "garden:2", chunk=1)
    forget_in_database(connection, MARA, "garden")
    connection.execute("update memory.tombstone set reason = 'because of the divorce'")
    connection.execute("insert into memory.tombstone (user_id, agent_id, session_id) values ('noor', 'a', 'unknown')")
    for number, sessions in ((1, [["orbitpilot", "garden"]]), (2, [["orbitpilot", "garden"], ["a", "b"]]), (3, [])):
        receipt = {"receipt": {"selected": {"sessions": sessions}}}
        digest = "abcd"[number] * 64
        connection.execute(
            "insert into memory.forget (number, user_id, issued_at, digest, previous, receipt)"
            " values (%s, 'mara', now(), %s, (select max(digest) from memory.forget), %s)",
            [number, digest, Jsonb(receipt)],
        )
    mirror_lineage(connection, tmp_path)

    columns = "user_id, agent_id, session_id, build_id, chunks, forgotten_at is not null, receipt_number"
    assert query(tmp_path, f"select {columns} from forgets order by all") == [
        ("mara", "orbitpilot", "garden", build, 2, True, 2),
        ("noor", "a", "unknown", None, 0, True, None),
    ]
    assert files_with(tmp_path, b"divorce") == []


def test_the_view_follows_a_forget_that_no_build_follows(
    connection: Connection, lineage_folder: Path, query: Query
) -> None:
    forget_in_database(connection, MARA, "garden")

    blank_hashes(connection, lineage_folder, MARA, ["garden"])

    assert query(lineage_folder, "select session_id from forgets") == [("garden",)]
    connection.execute("delete from memory.tombstone")
    connection.commit()
    mirror_lineage(connection, lineage_folder)
    assert query(lineage_folder, "select session_id from forgets") == []
