"""Forgetting in a built world: what goes, what stays, what is told."""

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.errors import UnknownAccount, UsageError
from orbit_pipelines.forgetting.failures import ForgetFailed
from orbit_pipelines.forgetting.kinds import Absence, Depth, Scene, Stage, Touched
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.report import Report
from orbit_pipelines.forgetting.selection import SelectedRecord, Selectors
from orbit_pipelines.forgetting.service import NotVerified, PlanChanged
from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.lineage.replay import replay_differences
from orbit_pipelines.model import Store
from orbit_pipelines.sources.records import put_record
from tests.building.scratch_rebuild import rebuild_from_scratch, stored_chunks
from tests.forgetting.forgetful import ME, Entries, counts, forget_in, talk
from tests.worlds import World


def everything(world: World) -> dict[str, Any]:
    """Return every row of every table with its xmin, and every file of the installation."""
    tables = world.sql(
        "select n.nspname || '.' || c.relname from pg_class as c join pg_namespace as n on n.oid = c.relnamespace"
        " where n.nspname in ('orbitpilot', 'memory') and c.relkind = 'r' order by 1"
    )
    rows = {table: world.sql(f"select xmin::text, t::text from {table} as t order by 2") for (table,) in tables}
    home = world.settings.home
    files = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} if home.exists() else {}
    sequences = world.sql("select schemaname, sequencename, last_value from pg_sequences order by 1, 2")
    return {**rows, "files": files, "sequences": sequences}


def assert_index_is_exact(world: World) -> None:
    stored, expected = stored_chunks(world), rebuild_from_scratch(world)
    assert stored.rows() == expected.select(stored.columns).rows()
    assert replay_differences(world.connection).is_sound


def test_a_session_leaves_memory_at_once_and_for_good(world: World) -> None:
    talk(world)
    report = forget_in(world, sessions=("s2",))
    assert set(world.contents()) == {"s1:0", "s1:1", "s3:0", "s3:1"}
    assert counts(report) == {"chunks": 2, "embedding_cache": 6, "lineage": 2}
    assert report.is_verified
    assert replay_differences(world.connection).is_sound
    assert world.changes() == [("s2:0", "removed", "session_forgotten"), ("s2:1", "removed", "session_forgotten")]
    for full in (False, True):
        world.build(full=full)
        assert set(world.contents()) == {"s1:0", "s1:1", "s3:0", "s3:1"}
        assert_index_is_exact(world)
    assert world.skips() == {"s2:0": "session_forgotten", "s2:1": "session_forgotten"}
    assert world.sql("select count(*) from orbitpilot.message") == [(12,)]


def test_a_dry_run_writes_nothing_at_all_and_tells_what_the_forget_then_does(world: World) -> None:
    talk(world)
    put_record(world.connection, ME, "blink.blinks", "b", "Tea it is.", origin_session_id="s1")
    world.build()
    mirror_lineage(world.connection, world.settings.lineage)
    before = everything(world)
    preview = forget_in(world, sessions=("s1", "none"), dry_run=True)
    assert everything(world) == before
    done = forget_in(world, sessions=("s1", "none"))
    later = {"dry_run", "verified", "receipt"}

    def compared(report: Report) -> dict[str, Any]:
        return {key: value for key, value in report.as_json().items() if key not in later}

    assert compared(preview) == compared(done)
    assert preview.artifacts["lineage_mirror"].count == 3
    assert "verified" not in preview.as_json()


def test_a_dry_run_needs_no_hash_key_and_makes_none(world: World) -> None:
    world.account("me")
    world.say(ME, "s1", "Unbuilt yet.")
    forget_in(world, account=True, dry_run=True)
    assert not world.settings.home.exists()


def test_the_second_run_reports_zeros_also_after_a_build(world: World) -> None:
    talk(world)
    mirror_lineage(world.connection, world.settings.lineage)
    first = forget_in(world, sessions=("s1",))
    assert counts(forget_in(world, sessions=("s1",))) == {}
    world.build()
    world.build(full=True)
    mirror_lineage(world.connection, world.settings.lineage)
    assert set(counts(forget_in(world, sessions=("s1",)))) <= {"embedding_cache"}
    assert first.selection.unresolved == ()


def test_no_selector_is_refused() -> None:
    with pytest.raises(UsageError, match="--session"):
        Selectors("me")


@pytest.mark.parametrize("value", ["", " ", "s\0", "s\ud800"])
@pytest.mark.parametrize("option", ["sessions", "participants", "hook_sources", "records", "agent_id"])
def test_what_can_be_no_id_is_refused(option: str, value: str) -> None:
    given: Any = {"agent_id": value, "records": (("blink.blinks", value),)}.get(option, (value,))
    with pytest.raises(UsageError, match="no id"):
        Selectors("me", **{"sessions": ("s1",), option: given})


def test_an_id_of_any_length_that_can_be_stored_can_be_selected(world: World) -> None:
    long = "".join(sha256(bytes([part])).hexdigest() for part in range(24))
    talk(world, "s1")
    world.say(ME, long, "A question in a session of a long id.", "> And its answer.")
    world.record(ME, "profile.facts", long, "A fact under a long id.")
    world.build()
    report = forget_in(world, sessions=(long,), records=(("profile.facts", long),))
    assert counts(report)["chunks"] == 2
    assert report.selection.unresolved == ()
    world.build(full=True)
    assert set(world.contents()) == {"s1:0", "s1:1"}


def test_an_id_that_is_too_long_for_anything_to_have_is_said_to_be(world: World) -> None:
    talk(world, "s1")
    long = "".join(sha256(bytes([part])).hexdigest() for part in range(200))
    with pytest.raises(ForgetFailed, match="longer than PostgreSQL can keep") as caught:
        forget_in(world, sessions=("s1", long))
    assert "Nothing was deleted" in str(caught.value)
    assert world.sql("select count(*) from memory.tombstone") == [(0,)]


def test_what_resolves_to_nothing_writes_nothing(world: World) -> None:
    talk(world)
    before = everything(world)
    report = forget_in(world, participants=("guest",), hook_sources=("mail",))
    assert report.selection.is_empty
    assert report.receipt is None
    assert everything(world) == before


def test_an_unknown_id_is_tombstoned_told_and_empties_the_cache(world: World) -> None:
    talk(world)
    report = forget_in(world, sessions=("later",))
    assert report.selection.unresolved == ("later",)
    assert counts(report) == {"embedding_cache": 6}
    world.say(ME, "later", "Said after it was forgotten.", "> Indeed.")
    world.build()
    assert world.skips() == {"later:0": "session_forgotten"}
    assert len(world.contents()) == 6


def test_an_account_nobody_knows_is_refused_and_one_that_went_is_not(world: World) -> None:
    talk(world)
    with pytest.raises(UnknownAccount):
        forget_in(world, "you", sessions=("s1",))
    world.sql("delete from orbitpilot.account")
    assert counts(forget_in(world, sessions=("s1",)))["chunks"] == 2


@pytest.mark.parametrize("given", ["s", "S1", "s1 ", "s1:0", "s1.1", "s11"])
def test_ids_are_exact(world: World, given: str) -> None:
    talk(world, "s1", "s1:0x", "s12")
    forget_in(world, sessions=(given,))
    assert len(world.contents()) == 6


def test_a_session_whose_id_begins_another_ones_takes_only_itself(world: World) -> None:
    talk(world, "a", "a:1", "a:1:0")
    forget_in(world, sessions=("a:1",))
    assert set(world.contents()) == {"a:0", "a:1", "a:1:0:0", "a:1:0:1"}
    assert world.sql("select distinct source_id from memory.change where content_hash is null order by 1") == [
        ("a:1:0",),
        ("a:1:1",),
    ]


def test_a_participant_selects_the_sessions_that_recorded_it(world: World) -> None:
    talk(world)
    world.sql(
        "insert into orbitpilot.session_participant values ('me', 'orbitpilot', 's1', 'guest'),"
        " ('me', 'orbitpilot', 's2', 'Guest')"
    )
    assert forget_in(world, participants=("guest",)).selection.session_ids == ["s1"]


def test_a_hook_source_selects_its_sessions_and_selectors_add_up(world: World) -> None:
    talk(world)
    world.sql("update orbitpilot.session set hook_source = 'mail' where session_id = 's3'")
    assert forget_in(world, hook_sources=("mail",), sessions=("s1",)).selection.session_ids == ["s1", "s3"]


def test_since_leaves_out_what_began_before_and_lists_what_is_undated(world: World) -> None:
    talk(world)
    world.sql(
        "update orbitpilot.session set hook_source = 'mail',"
        " started_at = case session_id when 's1' then '2026-01-01T00:00Z'::timestamptz"
        "                              when 's2' then '2026-03-01T00:00Z'::timestamptz end"
    )
    report = forget_in(world, hook_sources=("mail",), since=datetime(2026, 3, 1, tzinfo=UTC))
    assert report.selection.session_ids == ["s2"]
    assert report.selection.undated == ("s3",)
    with pytest.raises(UsageError, match="offset"):
        Selectors("me", sessions=("s",), since=datetime(2026, 3, 1))  # noqa: DTZ001


def test_an_unknown_id_is_kept_out_whenever_it_may_begin(world: World) -> None:
    talk(world, "s1")
    world.sql("update orbitpilot.session set started_at = null")
    asked: dict[str, Any] = {"sessions": ("s1", "unknown"), "since": datetime(2026, 3, 1, tzinfo=UTC)}
    preview = forget_in(world, **asked, dry_run=True)
    for report in (preview, forget_in(world, **asked), forget_in(world, **asked)):
        selection = report.selection
        assert (selection.session_ids, selection.unresolved, selection.undated) == (["unknown"], ("unknown",), ("s1",))
    world.say(ME, "unknown", "Said under the id that was forgotten.", "> Yes.")
    world.build()
    assert world.skips()["unknown:0"] == "session_forgotten"
    assert set(world.contents()) == {"s1:0", "s1:1"}


def test_an_equally_named_session_of_another_agent_or_person_stays_byte_for_byte(world: World) -> None:
    other_agent, other_person = Store("me", "other"), Store("you")
    for store in (ME, other_agent, other_person):
        talk(world, "s1", "s2", store=store)

    def of_others() -> list[Any]:
        return [
            world.sql(
                f"select xmin::text, t::text from {table} as t where (user_id, agent_id) <> ('me', 'orbitpilot')"
                " order by 2"
            )
            for table in ("memory.chunk", "memory.embedding_cache", "memory.change", "memory.pair", "memory.store")
        ]

    before = of_others()
    forget_in(world, sessions=("s1",))
    assert of_others() == before
    assert world.sql("select count(*) from memory.chunk") == [(10,)]


def test_records_caught_from_a_session_leave_with_it_until_their_owner_turns_them_on(world: World) -> None:
    talk(world)
    put_record(world.connection, ME, "blink.blinks", "b", "Tea it is.", origin_session_id="s1")
    put_record(world.connection, ME, "blink.blinks", "c", "Jam it is.", origin_session_id="s2")
    world.build()
    report = forget_in(world, sessions=("s1",))
    assert report.selection.caught == (SelectedRecord("orbitpilot", "blink.blinks", "b"),)
    assert world.sql("select source_id, is_excluded from orbitpilot.record order by 1") == [("b", True), ("c", False)]
    assert "b" not in world.contents()
    world.build()
    assert "b" not in world.contents()
    assert counts(forget_in(world, sessions=("s1",))) == {}
    world.exclude(ME, "blink.blinks", "b", excluded=False)
    world.build()
    assert world.contents()["b"] == "Tea it is."
    assert_index_is_exact(world)


def test_a_record_that_vanished_from_its_source_still_leaves_with_its_session(world: World) -> None:
    talk(world)
    put_record(world.connection, ME, "blink.blinks", "b", "Tea it is.", origin_session_id="s1")
    world.build()
    world.sql("delete from orbitpilot.record")
    assert counts(forget_in(world, sessions=("s1",)))["chunks"] == 3
    world.build()
    assert_index_is_exact(world)


def test_named_records_go_and_stay_excluded(world: World) -> None:
    talk(world)
    for key in ("b", "c"):
        world.record(ME, "profile.facts", key, f"A fact: {key}.")
    world.build()
    report = forget_in(world, records=(("profile.facts", "b"), ("profile.facts", "x")))
    assert [record.source_id for record in report.selection.records] == ["b"]
    assert [record.source_id for record in report.selection.unresolved_records] == ["x"]
    assert counts(report)["chunks"] == 1
    assert world.sql("select count(*) from memory.tombstone") == [(0,)]
    world.build(full=True)
    assert "b" not in world.contents()
    assert "c" in world.contents()


def test_hashes_leave_lineage_and_its_mirror_and_ids_stay(world: World) -> None:
    talk(world)
    mirror_lineage(world.connection, world.settings.lineage)
    report = forget_in(world, sessions=("s1",))
    assert report.artifacts["lineage_mirror"].count == 2
    assert world.sql(
        "select source_id, action, content_hash is null from memory.change where source_id like 's1:%%' order by 1, 2"
    ) == [(source, action, True) for source in ("s1:0", "s1:1") for action in ("added", "removed")]


# ---------------------------------------------------------------- kinds to come


def test_an_entry_with_a_selected_origin_goes_whole_and_mixed_ones_are_told(world: World) -> None:
    talk(world)
    entries = Entries(
        {"of-s1": {"s1"}, "of-both": {"s1", "s2"}, "of-s2": {"s2"}},
        edited=("of-both", "of-s2"),
        untargetable=("a line",),
        to_review=("notes.md",),
    )
    kinds = (*KINDS, entries)
    preview = forget_in(world, sessions=("s1",), kinds=kinds, dry_run=True).as_json()
    assert preview["mixed"] == [{"kind": "entries", "id": "of-both", "remaining_sessions": ["s2"]}]
    assert preview["edited"] == [{"kind": "entries", "id": "of-both"}]
    assert preview["untargetable"] == [{"kind": "entries", "id": "a line"}]
    assert preview["to_review"] == [{"kind": "entries", "id": "notes.md"}]
    assert set(entries.entries) == {"of-s1", "of-both", "of-s2"}
    forget_in(world, sessions=("s1",), kinds=kinds, rederive=True)
    assert set(entries.entries) == {"of-s2"}
    assert entries.rederived == ["of-both"]


class Recorder:
    """A kind that notes when its functions are called, and fails when told to."""

    tables: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    def __init__(self, name: str, stage: Stage, calls: list[str], fails: bool = False, remains: int = 0) -> None:
        self.name, self.stage, self.calls, self.fails, self.remains = name, stage, calls, fails, remains

    def touched(self, scene: Scene) -> Touched:
        stones = scene.connection.execute("select count(*) from memory.tombstone").fetchone()
        self.calls.append(f"touched {self.name} behind {stones[0] if stones else 0} tombstones")
        return Touched()

    def purge(self, scene: Scene) -> Touched:
        self.calls.append(f"purged {self.name}")
        if self.fails:
            raise PermissionError(13, "Permission denied", "/somewhere/MEMORY.md")
        return Touched()

    def verify(self, scene: Scene) -> Absence:
        self.calls.append(f"verified {self.name}")
        return Absence(self.remains, Depth.ROWS_DELETED)


def recorders(calls: list[str], **faults: dict[str, Any]) -> tuple[Recorder, ...]:
    # Registered in an order of their own: stages decide.
    return tuple(Recorder(stage.name, stage, calls, **faults.get(stage.name, {})) for stage in reversed(Stage))


def test_kinds_go_stage_by_stage_and_evidence_last_once_all_else_is_verified(world: World) -> None:
    talk(world)
    calls: list[str] = []
    forget_in(world, sessions=("s1",), kinds=(*KINDS, *recorders(calls)))
    others = [stage.name for stage in Stage if stage is not Stage.EVIDENCE]
    assert [call for call in calls if not call.startswith("touched")] == [
        *(f"purged {name}" for name in others),
        *(f"verified {name}" for name in others),
        "purged EVIDENCE",
        "verified EVIDENCE",
    ]
    assert all(call.endswith("behind 1 tombstones") for call in calls if call.startswith("touched"))


def test_a_failure_names_the_store_says_what_to_do_and_keeps_the_evidence(world: World) -> None:
    talk(world)
    calls: list[str] = []
    with pytest.raises(ForgetFailed) as caught:
        forget_in(world, sessions=("s1",), kinds=recorders(calls, FILES={"fails": True}))
    told = str(caught.value)
    assert "FILES" in told
    assert "Permission denied (/somewhere/MEMORY.md)" in told
    assert "Mend the named fault, run the same command again, then preview" in told
    assert "don't remove origins or corpus by hand" in told
    assert "purged CHUNKS" not in calls
    assert "purged EVIDENCE" not in calls
    assert world.sql("select session_id from memory.tombstone") == [("s1",)]


def test_what_is_still_found_is_no_success_and_keeps_the_evidence(world: World) -> None:
    talk(world)
    calls: list[str] = []
    with pytest.raises(NotVerified, match="3 of CHUNKS") as caught:
        forget_in(world, sessions=("s1",), kinds=recorders(calls, CHUNKS={"remains": 3}))
    assert "purged EVIDENCE" not in calls
    assert not caught.value.report.is_verified
    assert world.sql("select count(*) from memory.forget") == [(0,)]


def test_a_plan_that_no_longer_holds_refuses_before_anything_is_written(world: World) -> None:
    talk(world)
    plan = forget_in(world, sessions=("s1",), dry_run=True).digest
    world.say(ME, "s1", "One more thing.", "> Yes?")
    world.build()
    before = everything(world)
    with pytest.raises(PlanChanged) as caught:
        forget_in(world, sessions=("s1",), if_plan=plan)
    assert everything(world) == before
    assert caught.value.report.artifacts["chunks"].count == 3
    forget_in(world, sessions=("s1",), if_plan=caught.value.report.digest)


def test_a_preview_refuses_a_plan_that_no_longer_holds_as_the_forget_does(world: World) -> None:
    talk(world)
    with pytest.raises(PlanChanged):
        forget_in(world, sessions=("s1",), dry_run=True, if_plan="0" * 64)
    digest = forget_in(world, sessions=("s1",), dry_run=True).digest
    assert forget_in(world, sessions=("s1",), dry_run=True, if_plan=digest).digest == digest


def test_a_text_that_changed_under_an_id_changes_the_plan(world: World) -> None:
    talk(world)
    plan = forget_in(world, sessions=("s1",), dry_run=True).digest
    world.sql("update orbitpilot.message set content = 'I like rye.' where content = 'I like tea in s1.'")
    world.build()
    assert forget_in(world, sessions=("s1",), dry_run=True).digest != plan


def test_the_receipt_is_a_file_of_the_home_folder(world: World) -> None:
    talk(world)
    report = forget_in(world, sessions=("s1",))
    assert report.receipt is not None
    assert Path(report.receipt).is_relative_to(world.settings.home)
    assert world.sql("select number, user_id from memory.forget") == [(1, "me")]


def test_what_a_dead_build_left_damaged_goes_unread(world: World) -> None:
    talk(world)
    damaged = world.settings.workspaces / "dead" / "messages" / "p.parquet"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"PAR1 and then nothing")

    report = forget_in(world, sessions=("s1",))

    assert report.artifacts["workspaces"].ids == ("dead/messages/p",)
    assert not damaged.parent.parent.exists()
    assert report.is_verified


def test_a_damaged_file_of_a_build_at_work_is_named(world: World) -> None:
    talk(world)
    damaged = world.settings.workspaces / "alive" / "messages" / "p.parquet"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"PAR1 and then nothing")
    world.sql(
        "insert into memory.build (mode, scope, workspace) values ('incremental', '{\"bucket\": 0}', %s)",
        str(damaged.parent.parent),
    )

    with pytest.raises(ForgetFailed, match=r"stopped at workspaces: .*alive/messages/p.parquet can't be read"):
        forget_in(world, sessions=("s1",))
