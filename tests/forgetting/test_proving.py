"""Depth is told of each kind, and never beyond what was shown."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from orbit_pipelines.database.connection import connect
from orbit_pipelines.forgetting import service
from orbit_pipelines.forgetting.kinds import Depth
from orbit_pipelines.forgetting.proving import Taken, take_traces
from orbit_pipelines.forgetting.receipts import check_receipts, depths_of, least_depth, read_receipt
from orbit_pipelines.forgetting.report import Report
from orbit_pipelines.forgetting.service import NotVerified
from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.lineage.views import forgets_file
from tests.forgetting.forgetful import ME, forget_in
from tests.worlds import World


@pytest.fixture
def told(world: World) -> World:
    """A person with two sessions, built."""
    world.account("me")
    world.say(ME, "s1", "The plums of the north wall are ripe.", "> Then pick them before Sunday comes.")
    world.say(ME, "s2", "A bicycle needs new brakes and a bell.", "> The shop opens at nine in the morning.")
    world.build()
    return world


def depths(report: Report) -> dict[str, Depth]:
    assert report.verified is not None
    return {name: absence.depth for name, absence in report.verified.items()}


def receipt_of(report: Report) -> dict[str, object]:
    assert report.receipt is not None
    [receipt] = check_receipts([read_receipt(Path(report.receipt).read_bytes(), "it")])
    return dict(receipt.body)


def test_tables_that_lost_rows_are_vacuumed(told: World) -> None:
    report = forget_in(told, sessions=("s1",))

    assert depths(report)["chunks"] is Depth.VACUUMED
    assert depths(report)["embedding_cache"] is Depth.VACUUMED
    assert depths(report)["workspaces"] is Depth.ROWS_DELETED
    assert depths(report)["fence"] is Depth.UNREACHABLE
    assert depths(report)["texts"] is Depth.ROWS_DELETED
    not_covered = receipt_of(report)["not_covered"]
    assert any("--physical does" in each for each in not_covered)  # type: ignore[attr-defined]
    assert any(each.startswith("write-ahead log:") for each in not_covered)  # type: ignore[attr-defined]


def test_nothing_is_called_vacuumed_that_an_older_reader_may_still_see(told: World) -> None:
    with connect(told.url) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from memory.build")
        report = forget_in(told, sessions=("s1",))

    assert depths(report)["chunks"] is Depth.ROWS_DELETED
    assert any("memory.chunk: 1 dead rows" in each for each in receipt_of(report)["not_covered"])  # type: ignore[attr-defined]


def test_physical_shows_that_the_bytes_are_gone(told: World) -> None:
    report = forget_in(told, sessions=("s1",), physical=True)

    assert depths(report)["chunks"] is Depth.BYTES_GONE
    assert depths(report)["embedding_cache"] is Depth.BYTES_GONE
    assert depths(report)["bytes"] is Depth.BYTES_GONE
    assert depths(report)["workspaces"] is Depth.ROWS_DELETED
    physical = receipt_of(report)["physical"]
    assert isinstance(physical, dict)
    assert physical["is_proven"]
    assert "memory.chunk" in physical["locked"]
    assert not any("--physical does" in each for each in receipt_of(report)["not_covered"])  # type: ignore[attr-defined]


def test_a_second_physical_forget_looks_again_and_claims_nothing_of_what_it_could_not_look_for(told: World) -> None:
    forget_in(told, sessions=("s1",))

    report = forget_in(told, sessions=("s1",), physical=True)

    physical = receipt_of(report)["physical"]
    assert isinstance(physical, dict)
    assert (physical["wanted"]["texts"], physical["wanted"]["hashes"], physical["wanted"]["vectors"]) == (1, 1, 0)
    assert physical["not_at_hand"] == {"vectors": 1}
    assert not physical["is_proven"]
    assert {depths(report)[name] for name in ("bytes", "chunks", "embedding_cache")} == {Depth.VACUUMED}
    not_covered = receipt_of(report)["not_covered"]
    assert any(each.startswith("bytes of 1 vectors: not looked for") for each in not_covered)  # type: ignore[attr-defined]


@pytest.mark.parametrize("gone_earlier", ["texts", "all"])
def test_what_was_not_in_the_files_before_shows_nothing(told: World, gone_earlier: str) -> None:
    forget_in(told, sessions=("s1",), physical=gone_earlier == "all")
    if gone_earlier == "texts":
        told.sql("vacuum full memory.chunk")

    report = forget_in(told, sessions=("s1", "s2"), physical=True)

    physical = receipt_of(report)["physical"]
    assert isinstance(physical, dict)
    assert physical["unseen"]["texts"] == 1
    assert physical["not_at_hand"] == {"vectors": 1}
    assert not physical["is_proven"]
    assert depths(report)["chunks"] is Depth.VACUUMED
    assert any(
        each.startswith("bytes of 1 texts: not in the files before either")
        for each in receipt_of(report)["not_covered"]  # type: ignore[attr-defined]
    )


def test_pairs_that_never_were_in_memory_leave_the_claim_alone(told: World) -> None:
    """A forget that reads what it deletes needs no second look at the originals."""
    told.say(ME, "s1", "A sentence that no build has seen yet, of quinces.")

    report = forget_in(told, sessions=("s1",), physical=True)

    assert depths(report)["chunks"] is Depth.BYTES_GONE


def test_bytes_that_are_still_there_are_no_success(told: World) -> None:
    with connect(told.url) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from memory.build")
        with pytest.raises(NotVerified, match="of bytes"):
            forget_in(told, sessions=("s1",), physical=True)

    assert told.sql("select count(*) from memory.forget") == [(0,)]


def test_what_a_purge_left_behind_is_no_success(told: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def plant(*given: Any, **options: Any) -> Taken:
        taken = take_traces(*given, **options)
        told.sql("create table memory.copy as select 'me' as user_id, content from memory.chunk")
        return taken

    monkeypatch.setattr(service, "take_traces", plant)
    with pytest.raises(NotVerified, match=r"1 of texts \(memory.copy\).*memory.copy: delete the row"):
        forget_in(told, sessions=("s1",))

    assert told.sql("select count(*) from memory.forget") == [(0,)]


def test_a_receipt_holds_neither_text_nor_hash(told: World) -> None:
    hashes = [row[0] for row in told.sql("select encode(content_hash, 'hex') from memory.chunk")]
    report = forget_in(told, sessions=("s1",), physical=True)

    held = json.dumps(receipt_of(report))
    assert "plums" not in held
    assert "Sunday" not in held
    assert not any(each in held for each in hashes)


def test_a_rerun_says_that_an_earlier_run_may_have_removed_what_it_counts_as_nothing(
    told: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(service, "vacuum_touched", crash)
        with pytest.raises(KeyboardInterrupt):
            forget_in(told, sessions=("s1",))
    first = receipt_of(forget_in(told, sessions=("s2",)))["not_covered"]
    rerun = receipt_of(forget_in(told, sessions=("s1",)))["not_covered"]

    assert not any("earlier" in each for each in first)  # type: ignore[attr-defined]
    assert any("1 of the tombstones stood before, the first since" in each for each in rerun)  # type: ignore[attr-defined]
    assert any(each.startswith("1 chunks of the selection that were gone") for each in rerun)  # type: ignore[attr-defined]


def test_a_list_of_receipts_tells_how_deep_each_kind_is_gone_that_lost_something(told: World) -> None:
    deep = read_receipt(Path(str(forget_in(told, sessions=("s1",), physical=True).receipt)).read_bytes(), "it")
    plain = read_receipt(Path(str(forget_in(told, sessions=("s2",)).receipt)).read_bytes(), "it")
    empty = read_receipt(Path(str(forget_in(told, sessions=("s1",)).receipt)).read_bytes(), "it")

    assert depths_of(deep)["chunks"] == "bytes gone"
    assert (depths_of(plain)["chunks"], least_depth(plain)) == ("vacuumed", "vacuumed")
    assert "fence" not in depths_of(deep)
    assert (depths_of(empty), least_depth(empty)) == ({}, "")


def test_the_forgets_view_names_the_receipt_at_once(told: World) -> None:
    mirror_lineage(told.connection, told.settings.lineage)
    forget_in(told, sessions=("s1",))

    rows = pl.read_parquet(forgets_file(told.settings.lineage), hive_partitioning=False)
    assert rows.select("session_id", "receipt_number").rows() == [("s1", 1)]
