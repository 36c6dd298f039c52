"""Records of forgotten sessions, and records that were forgotten by name: out at once, out for good, or taken back."""

from typing import Any

import duckdb
import pytest

from orbit_pipelines.checking.forgotten import no_artifact_of_a_forgotten_session
from orbit_pipelines.database.connection import connect
from orbit_pipelines.forgetting.failures import ForgetFailed
from orbit_pipelines.forgetting.fence import raise_fence
from orbit_pipelines.forgetting.kinds import Absence, Depth, Scene, Stage, Touched
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.resolving import resolve
from orbit_pipelines.forgetting.selection import SelectedRecord, Selectors
from orbit_pipelines.forgetting.snippets import read_snippets
from orbit_pipelines.forgetting.verifying import verify_now
from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.lineage.views import FILE_NAME
from orbit_pipelines.model import Store
from orbit_pipelines.recall.search import search_memory
from orbit_pipelines.sources.records import delete_record, put_record
from tests.forgetting.forgetful import ME, counts, forget_in, talk
from tests.worlds import World

CAUGHT = "A blink with words of its own."
FACT = "A fact with words of its own."
BLINK = ("blink.blinks", "b")
NAMED = ("profile.facts", "f")


@pytest.fixture
def told(world: World) -> World:
    """Three sessions, a blink caught from the first, and a fact; built."""
    talk(world)
    catch(world)
    put_record(world.connection, ME, *NAMED, FACT)
    world.build()
    return world


def catch(world: World) -> None:
    put_record(world.connection, ME, *BLINK, CAUGHT, origin_session_id="s1")


def verified(world: World, **selectors: Any) -> bool:
    selection = resolve(world.connection, Selectors("me", **selectors))
    return verify_now(world.connection, world.settings, selection, KINDS, world.embedder).is_passed


def is_sound(world: World) -> bool:
    return no_artifact_of_a_forgotten_session(world.connection, world.settings).passed


def recalled(world: World) -> set[str]:
    [query] = world.embedder.embed_passages([CAUGHT])
    found = search_memory(world.connection, ME, query, world.embedder.fingerprint, limit=50)
    return {each.source_id for each in found}


class Broken:
    """A kind whose turn comes last in a stage, and fails once."""

    tables: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    name = "broken"
    is_mended = False

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def touched(self, _scene: Scene) -> Touched:
        """Return nothing."""
        return Touched()

    def purge(self, _scene: Scene) -> Touched:
        """Fail the first time."""
        if not self.is_mended:
            self.is_mended = True
            raise OSError("no space left")
        return Touched()

    def verify(self, _scene: Scene) -> Absence:
        """Find nothing."""
        return Absence(0, Depth.ROWS_DELETED)


@pytest.mark.parametrize("stage", [Stage.ENTRIES, Stage.CHUNKS, Stage.CACHE, Stage.STATE, Stage.LINEAGE])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_rerun_after_a_failure_anywhere_ends_in_the_same_state(told: World, stage: Stage, is_there: bool) -> None:
    if not is_there:
        delete_record(told.connection, ME, *BLINK)
    kinds = (*KINDS, Broken(stage))
    with pytest.raises(ForgetFailed, match="broken"):
        forget_in(told, sessions=("s1",), kinds=kinds)
    report = forget_in(told, sessions=("s1",), kinds=kinds)
    assert report.selection.caught == (SelectedRecord("orbitpilot", *BLINK),)
    assert told.sql("select count(*) from memory.change where source_id = 'b' and content_hash is not null") == [(0,)]
    assert counts(forget_in(told, sessions=("s1",))) == {}
    assert verified(told, sessions=("s1",))


@pytest.mark.parametrize("is_there", [True, False])
def test_a_hash_of_a_caught_record_that_returned_is_found_and_taken(told: World, is_there: bool) -> None:
    [(known,)] = told.sql("select content_hash from memory.change where source_id = 'b'")
    forget_in(told, sessions=("s1",))
    if not is_there:
        delete_record(told.connection, ME, *BLINK)
    told.build()
    assert is_sound(told)
    told.sql("update memory.change set content_hash = %s where source_id = 'b' and action = 'added'", known)
    assert not verified(told, sessions=("s1",))
    assert not is_sound(told)
    assert counts(forget_in(told, sessions=("s1",)))["lineage"] == 1
    assert told.sql("select count(*) from memory.change where source_id = 'b' and content_hash is not null") == [(0,)]


@pytest.mark.parametrize(
    ("selectors", "text"), [({"sessions": ("s1",)}, CAUGHT), ({"records": (NAMED,)}, FACT), ({"account": True}, FACT)]
)
def test_the_text_of_a_record_is_known_before_and_after_its_forget(
    told: World, selectors: dict[str, Any], text: str
) -> None:
    for _ in ("before", "after", "rerun"):
        assert text in read_snippets(told.connection, resolve(told.connection, Selectors("me", **selectors)))
        forget_in(told, **selectors)
    told.sql("update memory.recipe set details = to_jsonb(%s::text)", f"note: {text}")
    assert not verified(told, **selectors)


@pytest.mark.parametrize("way", ["put", "insert", "origin changed", "moved here"])
def test_a_record_that_comes_late_from_a_forgotten_session_starts_excluded(told: World, way: str) -> None:
    forget_in(told, sessions=("s2",))
    put = "insert into orbitpilot.record (user_id, source_key, source_id, content, origin_session_id)"
    if way == "put":
        put_record(told.connection, ME, "blink.blinks", "late", CAUGHT, origin_session_id="s2")
    elif way == "insert":
        told.sql(f"{put} values ('me', 'blink.blinks', 'late', 'Late.', 's2')")
    elif way == "origin changed":
        put_record(told.connection, ME, "blink.blinks", "late", CAUGHT)
        told.sql("update orbitpilot.record set origin_session_id = 's2' where source_id = 'late'")
    else:
        told.account("you")
        told.sql(f"{put} values ('you', 'blink.blinks', 'late', 'Late.', 's2')")
        told.sql("update orbitpilot.record set user_id = 'me' where user_id = 'you'")
    assert told.sql("select is_excluded from orbitpilot.record where source_id = 'late'") == [(True,)]
    told.build()
    assert "late" not in told.contents()
    assert told.skips()["late"] == "record_excluded"
    assert is_sound(told)
    assert verified(told, sessions=("s2",))
    told.exclude(ME, "blink.blinks", "late", excluded=False)
    told.build()
    assert "late" in told.contents()
    assert is_sound(told)


@pytest.mark.parametrize(
    ("selectors", "key"),
    [({"records": (NAMED,)}, NAMED), ({"sessions": ("s1",)}, BLINK), ({"account": True}, NAMED)],
)
def test_a_forgotten_record_that_is_put_again_stays_out(
    told: World, selectors: dict[str, Any], key: tuple[str, str]
) -> None:
    forget_in(told, **selectors)
    delete_record(told.connection, ME, *key)
    told.build()
    put_record(told.connection, ME, *key, "It is said again.")
    told.build(full=True)
    assert key[1] not in told.contents()
    assert is_sound(told)
    told.exclude(ME, *key, excluded=False)
    told.build()
    assert told.contents()[key[1]] == "It is said again."
    assert is_sound(told)
    assert key[1] in recalled(told)


@pytest.mark.parametrize("selectors", [{"records": (NAMED, BLINK)}, {"sessions": ("s1",)}, {"account": True}])
def test_the_fence_alone_hides_records_from_recall(told: World, selectors: dict[str, Any]) -> None:
    selection = resolve(told.connection, Selectors("me", **selectors))
    hidden = {record.source_id for record in (*selection.records, *selection.caught)}
    assert hidden & recalled(told) == hidden != set()
    raise_fence(told.connection, told.settings, selection)
    assert not hidden & recalled(told)


def test_an_exclusion_by_its_eye_still_changes_recall_with_the_next_build(told: World) -> None:
    told.exclude(ME, *NAMED, excluded=True)
    assert "f" in recalled(told)
    told.build()
    assert "f" not in recalled(told)


def test_a_caught_record_that_its_owner_took_back_is_the_owners_everywhere(told: World) -> None:
    forget_in(told, sessions=("s1",))
    told.exclude(ME, *BLINK, excluded=False)
    for full in (False, True):
        told.build(full=full)
        assert told.contents()["b"] == CAUGHT
        assert "b" in recalled(told)
        assert is_sound(told)
        assert verified(told, sessions=("s1",))
    again = forget_in(told, sessions=("s1",))
    assert again.selection.caught == ()
    assert set(counts(again)) <= {"embedding_cache"}
    assert told.contents()["b"] == CAUGHT
    # It is a record of its own now: by its name it goes.
    forget_in(told, records=(BLINK,))
    told.build()
    assert "b" not in told.contents()
    assert is_sound(told)
    assert verified(told, records=(BLINK,))


def test_a_record_taken_back_before_its_session_is_forgotten_leaves_with_it(told: World) -> None:
    forget_in(told, records=(BLINK,))
    told.exclude(ME, *BLINK, excluded=False)
    told.build()
    assert forget_in(told, sessions=("s1",)).selection.caught == (SelectedRecord("orbitpilot", *BLINK),)
    assert "b" not in told.contents()


def test_a_record_that_is_let_in_by_hand_is_flagged_by_the_check(told: World) -> None:
    forget_in(told, sessions=("s1",))
    told.build()
    told.sql("alter table orbitpilot.record disable trigger taken_back")
    told.sql("update orbitpilot.record set is_excluded = false where source_id = 'b'")
    finding = no_artifact_of_a_forgotten_session(told.connection, told.settings)
    assert finding.failures["records_that_are_not_kept_out"] == 1


def test_a_forgotten_record_keeps_its_tombstone_where_it_moves(told: World) -> None:
    forget_in(told, records=(NAMED,))
    told.sql("update orbitpilot.account set user_id = 'mine'")
    told.build()
    delete_record(told.connection, Store("mine"), *NAMED)
    put_record(told.connection, Store("mine"), *NAMED, FACT)
    told.build()
    assert "f" not in told.contents()


@pytest.mark.parametrize("selectors", [{"sessions": ("s1",)}, {"records": (BLINK,)}, {"account": True}])
def test_originals_that_are_deleted_after_their_forget_leave_nothing_to_be_found(
    told: World, selectors: dict[str, Any]
) -> None:
    forget_in(told, **selectors)
    told.sql("delete from orbitpilot.session where session_id = 's1'")
    delete_record(told.connection, ME, *BLINK)
    deletions = told.sql("select count(*) from orbitpilot.deletion")
    assert deletions > [(1,)]
    # The next build follows them, so that a forget leaves them too.
    assert verified(told, **selectors)
    assert counts(forget_in(told, **selectors)) == {}
    assert told.sql("select count(*) from orbitpilot.deletion") == deletions
    told.build()
    assert verified(told, **selectors)


def test_a_deletion_that_a_forget_should_have_taken_is_found_and_taken(told: World) -> None:
    forget_in(told, sessions=("s1",))
    told.sql("insert into orbitpilot.deletion (kind, user_id, agent_id, session_id, changed_xid)"
             " values ('message', 'me', 'orbitpilot', 's1', '3')")  # fmt: skip
    assert not verified(told, sessions=("s1",))
    assert counts(forget_in(told, sessions=("s1",))) == {"change_detection": 1}
    assert verified(told, sessions=("s1",))


@pytest.mark.parametrize("is_build_at_work", [False, True])
@pytest.mark.parametrize(
    ("selectors", "key"), [({"sessions": ("s1",)}, ("blink.blinks", "late")), ({"records": (NAMED,)}, NAMED)]
)
def test_a_record_that_comes_while_its_fence_is_raised_is_excluded_by_the_build_that_meets_it(
    told: World, selectors: dict[str, Any], key: tuple[str, str], is_build_at_work: bool
) -> None:
    delete_record(told.connection, ME, *NAMED)
    with connect(told.url, autocommit=True) as writer:
        with writer.transaction():
            put_record(writer, ME, *key, CAUGHT, origin_session_id="s1" if key != NAMED else None)
            # Neither sees the other.
            forget_in(told, **selectors)
            run = told.run(full=True)
            if is_build_at_work:
                assert run.build_id
        assert told.sql("select is_excluded from orbitpilot.record where source_id = %s", key[1]) == [(False,)]
        run.diff_apply()
        run.close()
    assert key[1] not in told.contents()
    assert told.sql("select is_excluded from orbitpilot.record where source_id = %s", key[1]) == [(True,)]
    assert is_sound(told)
    assert verified(told, **selectors)
    told.exclude(ME, *key, excluded=False)
    told.build()
    assert key[1] in told.contents()


def test_a_build_that_began_after_the_forget_of_a_record_reads_its_original_and_drops_it(told: World) -> None:
    forget_in(told, records=(NAMED,))
    run = told.run(full=True)
    run.extraction()
    assert verified(told, records=(NAMED,))
    run.diff_apply()
    run.close()
    assert "f" not in told.contents()


@pytest.mark.parametrize("is_built", [False, True])
def test_the_forgets_view_counts_caught_records_with_their_session(told: World, is_built: bool) -> None:
    mirror_lineage(told.connection, told.settings.lineage)
    forget_in(told, sessions=("s1",))
    forget_in(told, sessions=("s2",))
    if is_built:
        # What leaves after its owner took it back leaves for another reason.
        told.exclude(ME, *BLINK, excluded=False)
        told.build()
        told.exclude(ME, *BLINK, excluded=True)
        told.build()
    mirror_lineage(told.connection, told.settings.lineage)
    builds = [row[0] for row in told.sql("select build_id from memory.build where mode = 'forget' order by 1")]
    with duckdb.connect(told.settings.lineage / FILE_NAME, read_only=True) as database:
        seen = database.execute("select session_id, chunks, build_id from forgets order by 1").fetchall()
    assert seen == [("s1", 3, builds[0]), ("s2", 2, builds[1])]
