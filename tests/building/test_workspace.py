"""The run's private files: whole parts or none, split by store, readable by their owner only."""

import stat
from pathlib import Path

import polars as pl

from orbit_pipelines.building.workspace import Workspace, split_by_store
from orbit_pipelines.model import Store

ROWS = pl.DataFrame({"user_id": ["ann", "bob", "ann"], "agent_id": ["a", "a", "b"], "text": ["1", "2", "3"]})


def test_only_the_owner_can_read_a_workspace(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "workspaces", "run")
    workspace.write("frame", "part", ROWS)
    for folder in (tmp_path / "workspaces", workspace.root, workspace.root / "frame"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_one_step_writes_another_reads(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path, "run")
    workspace.write("frame", "b", ROWS[:1])
    workspace.write("frame", "a", ROWS[1:])
    assert workspace.parts("frame") == ["a", "b"]
    assert workspace.read("frame", "a", ["text"])["text"].to_list() == ["2", "3"]
    assert workspace.read_all("frame", ROWS.schema)["text"].to_list() == ["2", "3", "1"]
    assert workspace.read_all("none", ROWS.schema).schema == ROWS.schema


def test_a_part_that_a_forget_replaced_is_read_without_the_store(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path, "run")
    workspace.write("frame", "part", ROWS)
    Workspace(workspace.root).forget(frozenset({Store("ann", "a")}))
    assert workspace.read("frame", "part")["text"].to_list() == ["2", "3"]
    Workspace(workspace.root).forget(frozenset({Store("ann", "b")}))
    assert workspace.read("frame", "part", ["text"])["text"].to_list() == ["2"]


def test_a_part_is_what_was_written_last_however_many_were(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path, "run")
    for count in (3, 2):
        for part in range(50):
            workspace.write("frame", f"{part:02d}", ROWS[:count])
    assert {workspace.read("frame", part).height for part in workspace.parts("frame")} == {2}


def test_a_frame_is_finished_when_it_was_said_to_be(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path, "run")
    workspace.write("frame", "part", ROWS)
    assert workspace.facts("frame") is None
    workspace.finish("frame", {"rows": 3})
    assert Workspace.create(tmp_path, "run").facts("frame") == {"rows": 3}


def test_a_half_written_part_is_no_part(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path, "run")
    workspace.write("frame", "part", ROWS)
    (workspace.root / "frame" / ".other.draft").write_bytes(b"half")
    assert workspace.parts("frame") == ["part"]


def test_a_store_is_in_one_shard_only() -> None:
    people = pl.DataFrame({"number": range(10_000)}).select(
        (pl.col("number") % 40).cast(pl.String).alias("user_id"), pl.lit("a").alias("agent_id"), "number"
    )
    shards = list(split_by_store(people))
    assert len(shards) == 4
    assert sum(rows["user_id"].n_unique() for _, rows in shards) == 40
    assert sorted(number for _, rows in shards for number in rows["number"]) == list(range(10_000))
    assert all(rows["number"].is_sorted() for _, rows in shards)


def test_a_small_frame_is_one_part() -> None:
    assert [(number, rows.height) for number, rows in split_by_store(ROWS)] == [(0, 3)]
