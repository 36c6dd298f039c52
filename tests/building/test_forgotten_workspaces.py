"""Hand-over files lose the stores that are forgotten from, also in what is written while that happens."""

import threading
from pathlib import Path

import polars as pl
import pytest

from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.model import Store

ME, YOU = Store("me"), Store("you")
ROWS = pl.DataFrame(
    {"user_id": ["me", "you", "me"], "agent_id": ["orbitpilot"] * 3, "content": ["mine", "yours", "mine too"]}
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """The workspace of a run."""
    return Workspace.create(tmp_path / "workspaces", "run")


def test_a_file_loses_the_store_and_keeps_the_others(workspace: Workspace) -> None:
    workspace.write("pairs", "m0", ROWS)
    workspace.write("pairs", "m1", ROWS.filter(pl.col("user_id") == "you"))
    assert workspace.parts_with(frozenset({ME})) == ["pairs/m0"]
    assert workspace.forget(frozenset({ME})) == ["pairs/m0"]
    assert workspace.read("pairs", "m0")["content"].to_list() == ["yours"]
    assert workspace.read("pairs", "m1")["content"].to_list() == ["yours"]
    assert workspace.forget(frozenset({ME})) == []


def test_a_file_of_the_store_alone_stays_as_an_empty_one(workspace: Workspace) -> None:
    workspace.write("pairs", "m0", ROWS.filter(pl.col("user_id") == "me"))
    workspace.forget(frozenset({ME}))
    assert workspace.read("pairs", "m0").schema == ROWS.schema
    assert workspace.read("pairs", "m0").is_empty()


def test_what_is_written_later_leaves_the_store_out_until_the_build_starts_over(workspace: Workspace) -> None:
    workspace.forget(frozenset({ME}))
    assert workspace.forgotten_stores() == {ME}
    workspace.write("chunks", "m0", ROWS)
    assert workspace.read("chunks", "m0")["content"].to_list() == ["yours"]
    workspace.clear()
    assert workspace.forgotten_stores() == frozenset()
    workspace.write("chunks", "m0", ROWS)
    assert workspace.read("chunks", "m0").height == 3


def test_frames_of_keys_stay_whole(workspace: Workspace) -> None:
    keys = ROWS.select("user_id", "agent_id")
    workspace.write("stores", "all", keys)
    workspace.forget(frozenset({ME}))
    workspace.write("sources", "all", keys.select("user_id"))
    assert workspace.read("stores", "all").height == 3
    assert workspace.read("sources", "all").height == 3


def test_a_half_written_file_goes_and_is_written_again_without_the_store(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = pl.LazyFrame.sink_parquet
    times = iter(range(10))

    def write_and_forget(rows: pl.LazyFrame, path: Path, **options: object) -> None:
        write(rows, path, **options)  # type: ignore[call-overload]
        if next(times) == 0:
            workspace.forget(frozenset({ME}))
            assert not path.exists()

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", write_and_forget)
    workspace.write("messages", "m0", ROWS)
    assert workspace.read("messages", "m0")["content"].to_list() == ["yours"]


def test_forgets_and_writers_at_once_leave_nothing_of_the_store(workspace: Workspace) -> None:
    def write() -> None:
        for number in range(40):
            workspace.write("pairs", f"m{number}", ROWS)

    writer = threading.Thread(target=write)
    writer.start()
    workspace.forget(frozenset({ME}))
    writer.join()
    assert workspace.parts_with(frozenset({ME})) == []
    assert len(workspace.parts_with(frozenset({YOU}))) == 40


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(workspace: Workspace) -> None:
    many = pl.concat([ROWS] * 500)
    is_over = threading.Event()
    workspace.write("pairs", "m0", ROWS)

    def write() -> None:
        while not is_over.is_set():
            workspace.write("pairs", "m0", many)
            workspace.write("pairs", "m0", ROWS)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            elsewhere = Workspace(workspace.root)
            assert elsewhere.read("pairs", "m0").height in (ROWS.height, many.height)
            assert elsewhere.parts_with(frozenset({ME})) == ["pairs/m0"]
    finally:
        is_over.set()
        writer.join()


def test_a_folder_that_is_gone_is_no_fault(workspace: Workspace) -> None:
    workspace.remove()
    assert workspace.forget(frozenset({ME})) == []
    assert workspace.parts_with(frozenset({ME})) == []
