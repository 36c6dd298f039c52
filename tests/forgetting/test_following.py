"""Sessions and accounts that were renamed or moved: a forget takes what memory has under their former names."""

from collections.abc import Sequence
from typing import Any

import pytest

from orbit_pipelines.forgetting.admission import Rule, RuleKind, add_rules
from orbit_pipelines.forgetting.failures import ForgetFailed
from orbit_pipelines.forgetting.following import following
from orbit_pipelines.forgetting.kinds import ArtifactKind
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.resolving import resolve
from orbit_pipelines.forgetting.selection import Selectors
from orbit_pipelines.forgetting.verifying import Verification, verify_now
from orbit_pipelines.model import Store
from orbit_pipelines.sources.records import put_record
from tests.forgetting.forgetful import ME, counts, forget_in, talk
from tests.worlds import World

MOVES = {
    "session renamed": ("update orbitpilot.session set session_id = 'new' where session_id = 's1'", "me", None, "new"),
    "agent changed": ("update orbitpilot.session set agent_id = 'other' where session_id = 's1'", "me", "other", "s1"),
    "person changed": ("update orbitpilot.session set user_id = 'you' where session_id = 's1'", "you", None, "s1"),
    "account renamed": ("update orbitpilot.account set user_id = 'mine' where user_id = 'me'", "mine", None, "s1"),
}
STAYS = {"s2:0", "s2:1", "s3:0", "s3:1"}


@pytest.fixture
def told(world: World) -> World:
    """Three sessions and a blink caught from the first, built; and somebody else."""
    talk(world)
    put_record(world.connection, ME, "blink.blinks", "b", "Tea it is, again.", origin_session_id="s1")
    world.build()
    world.account("you")
    return world


@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize("how", MOVES)
def test_a_forget_takes_what_memory_has_under_a_former_name(told: World, how: str, is_built: bool) -> None:
    move, user, agent, session = MOVES[how]
    told.sql(move)
    if is_built:
        told.build()
    preview = forget_in(told, user, agent_id=agent, sessions=(session,), dry_run=True)
    report = forget_in(told, user, agent_id=agent, sessions=(session,))
    assert (preview.digest, report.is_verified) == (report.digest, True)
    assert not {source for source in told.contents() if source.startswith((f"{session}:", "s1:"))}
    assert told.sql(
        "select count(*) from memory.change where content_hash is not null and source_id ~ '^(s1|new):'"
    ) == [(0,)]
    assert set(counts(forget_in(told, user, agent_id=agent, sessions=(session,)))) <= {"embedding_cache"}
    told.build()
    assert set(told.contents()) - {"b"} == STAYS


@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize("how", MOVES)
def test_a_forget_under_the_name_that_memory_has_holds_for_the_one_it_has_now(
    told: World, how: str, is_built: bool
) -> None:
    move, user, agent, session = MOVES[how]
    told.sql(move)
    if is_built:
        told.build()
    preview = forget_in(told, sessions=("s1",), dry_run=True)
    report = forget_in(told, sessions=("s1",))
    assert (preview.digest, report.is_verified) == (report.digest, True)
    if is_built and how == "person changed":
        # Another person's by now.
        assert report.selection.unresolved == ("s1",)
        assert {"s1:0", "s1:1"} <= set(told.contents())
        return
    assert report.selection.unresolved == ()
    now = {"user_id": user, "agent_id": agent or "orbitpilot", "session_id": session}
    named = report.as_json()
    assert now in named["other_names"]["sessions"] or (how == "session renamed" and named["sessions"] == ["new", "s1"])
    assert told.sql(
        "select 1 from memory.tombstone where (user_id, agent_id, session_id) = (%s, %s, %s)", *now.values()
    )
    for full in (False, True):
        told.build(full=full)
        assert set(told.contents()) - {"b"} == STAYS
    forget_in(told, sessions=("s1",))


@pytest.mark.parametrize("is_built", [False, True])
def test_a_renamed_account_is_taken_whole_by_its_former_name_too(told: World, is_built: bool) -> None:
    told.sql("update orbitpilot.account set user_id = 'mine' where user_id = 'me'")
    if is_built:
        told.build()
    report = forget_in(told, account=True)
    assert report.as_json()["other_names"]["accounts"] == [{"user_id": "mine"}]
    told.build()
    assert told.contents() == {}
    assert told.sql("select count(*) from orbitpilot.record where not is_excluded") == [(0,)]


SWAPS: dict[str, tuple[list[str], list[dict[str, Any]]]] = {
    "sessions": (
        ["update orbitpilot.session set session_id = 's1new' where session_id = 's1'",
         "update orbitpilot.session set session_id = 's1' where session_id = 's2'"],
        [{"sessions": ("s1",)}, {"sessions": ("s1new",)}],
    ),
    "a session renamed, another begun and deleted": (
        ["update orbitpilot.session set session_id = 's1new' where session_id = 's1'",
         "insert into orbitpilot.session (user_id, session_id) values ('me', 's1')",
         "delete from orbitpilot.session where session_id = 's1'"],
        [{"sessions": ("s1",)}],
    ),
    "a name passed on": (
        ["update orbitpilot.session set session_id = 's1new' where session_id = 's1'",
         "update orbitpilot.session set session_id = 's1' where session_id = 's2'",
         "update orbitpilot.session set session_id = 's2new' where session_id = 's1'"],
        [{"sessions": ("s1",)}, {"sessions": ("s1new",)}, {"sessions": ("s2new",)}],
    ),
    "records": (
        ["update orbitpilot.record set source_id = 'bnew' where source_id = 'b'",
         "update orbitpilot.record set source_id = 'b' where source_id = 'c'"],
        [{"records": (("blink.blinks", "b"),)}, {"records": (("blink.blinks", "bnew"),)}],
    ),
    "accounts": (
        ["update orbitpilot.account set user_id = 'mine' where user_id = 'me'",
         "update orbitpilot.account set user_id = 'me' where user_id = 'you'"],
        [{"account": True}, {"user": "mine", "account": True}, {"sessions": ("s1",)},
         {"user": "mine", "sessions": ("s1",)}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", SWAPS)
def test_what_memory_has_under_a_name_that_means_another_by_now_is_not_taken_before_a_build(
    told: World, how: str
) -> None:
    swaps, selections = SWAPS[how]
    put_record(told.connection, ME, "blink.blinks", "c", "Coffee it is, at last.")
    told.build()
    before = told.contents()
    for swap in swaps:
        told.sql(swap)
    for selectors in selections:
        with pytest.raises(ForgetFailed, match="orbit build"):
            forget_in(told, **selectors)
    assert told.contents() == before
    assert told.sql("select count(*) from memory.tombstone") == [(0,)]
    assert told.sql("select count(*) from memory.forgotten_record") == [(0,)]
    told.build()
    kept = told.contents()
    # Which session a record was taken from is told by that session's name alone.
    caught = {"b"} if "sessions" in selections[0] else set()
    report = forget_in(told, **selections[0])
    # By now the name means who has it, and nobody else.
    assert report.is_verified
    expected = {"sessions": ["s1:0", "s1:1"], "records": ["b"]}.get(how, [])
    assert [key for key in kept if key not in told.contents() and key not in caught] == expected
    told.build()
    assert [key for key in kept if key not in told.contents() and key not in caught] == expected


def test_both_of_two_that_changed_names_can_be_forgotten_at_once(told: World) -> None:
    told.sql("update orbitpilot.session set session_id = 's1new' where session_id = 's1'")
    told.sql("update orbitpilot.session set session_id = 's1' where session_id = 's2'")
    forget_in(told, sessions=("s1", "s1new"))
    told.build()
    assert set(told.contents()) - {"b"} == {"s3:0", "s3:1"}


def test_a_name_whose_session_was_renamed_and_deleted_leads_to_no_other_of_its_later_name(told: World) -> None:
    told.sql("update orbitpilot.session set session_id = 'new' where session_id = 's1'")
    told.sql("delete from orbitpilot.session where session_id = 'new'")
    told.sql("insert into orbitpilot.session (user_id, session_id) values ('me', 'bare')")
    told.sql("update orbitpilot.session set session_id = 'new' where session_id = 'bare'")
    forget_in(told, sessions=("s1",))
    assert told.sql("select session_id from memory.tombstone") == [("s1",)]


RECORD_MOVES = {
    "id changed": ("source_id = 'f2'", None, ("profile.facts", "f2")),
    "source changed": ("source_key = 'blink.blinks'", None, ("blink.blinks", "f")),
    "agent changed": ("agent_id = 'other'", "other", ("profile.facts", "f")),
}


@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize("by_former", [False, True])
@pytest.mark.parametrize("how", RECORD_MOVES)
def test_a_record_is_forgotten_under_every_name_it_has_and_had(
    told: World, how: str, by_former: bool, is_built: bool
) -> None:
    move, agent, now = RECORD_MOVES[how]
    put_record(told.connection, ME, "profile.facts", "f", "A fact with words of its own.")
    told.build()
    told.sql(f"update orbitpilot.record set {move} where source_id = 'f'")
    if is_built:
        told.build()
    asked = {"records": (("profile.facts", "f"),)} if by_former else {"agent_id": agent, "records": (now,)}
    report = forget_in(told, **asked)
    assert report.is_verified
    assert "A fact with words of its own." not in told.contents().values()
    for full in (False, True):
        told.build(full=full)
        assert "A fact with words of its own." not in told.contents().values()
    assert set(counts(forget_in(told, **asked))) <= {"embedding_cache"}


@pytest.mark.parametrize(
    "move",
    ["agent_id = 'other'", "source_id = 'b2'", "user_id = 'you'", "agent_id = 'other', origin_session_id = null"],
)
def test_a_caught_record_that_moved_since_the_last_build_stays_out_where_it_is_now(told: World, move: str) -> None:
    told.sql(f"update orbitpilot.record set {move} where source_id = 'b'")
    assert forget_in(told, sessions=("s1",)).is_verified
    assert told.sql("select is_excluded from orbitpilot.record") == [(True,)]
    told.build()
    assert set(told.contents()) == STAYS


def verify(world: World, user: str, kinds: Sequence[ArtifactKind] = KINDS, **selectors: Any) -> Verification:
    selection = resolve(world.connection, Selectors(user, **selectors))
    return verify_now(world.connection, world.settings, selection, following(kinds), world.embedder)


@pytest.mark.parametrize("how", MOVES)
def test_every_road_looks_under_former_names_too(told: World, how: str) -> None:
    move, user, agent, session = MOVES[how]
    selectors: dict[str, Any] = {"agent_id": agent, "sessions": (session,)}
    told.sql("create temp table kept as select * from memory.chunk where source_id = any(array['s1:0', 'b'])")
    told.sql(move)
    assert not verify(told, user, **selectors).is_passed
    forget_in(told, user, **selectors)
    verification = verify(told, user, **selectors)
    assert verification.is_passed, verification.as_json()
    # Under the keys that memory had it by, and by nothing but the roads.
    told.sql("insert into memory.chunk select * from kept where source_id = 's1:0'")
    found = {name: each.found for name, each in verify(told, user, (), **selectors).roads.items() if each.found}
    assert found == {"rows": 1, "texts": 1, "vectors": 1}
    told.sql("delete from memory.chunk where source_id = 's1:0'")
    told.sql("delete from memory.tombstone where (user_id, agent_id, session_id) = ('me', 'orbitpilot', 's1')")
    assert verify(told, user, (), **selectors).roads["fence"].found == 1


@pytest.mark.parametrize("how", ["agent changed", "session renamed"])
def test_what_was_caught_under_a_former_name_is_recognised_by_its_original(told: World, how: str) -> None:
    move, user, agent, session = MOVES[how]
    selectors: dict[str, Any] = {"agent_id": agent, "sessions": (session,)}
    [(content_hash,)] = told.sql("select content_hash from memory.chunk where source_id = 'b'")
    told.sql(move)
    forget_in(told, user, **selectors)
    told.sql("update memory.chunk set content_hash = %s where source_id = 's2:0'", content_hash)
    assert verify(told, user, (), **selectors).roads["rows"].found == 1


def test_a_road_that_is_not_gone_for_a_record_says_so_of_the_record(world: World) -> None:
    world.account("me")
    world.record(ME, "profile.facts", "f", "Short.")
    forget_in(world, records=(("profile.facts", "f"),))
    roads = verify(world, "me", records=(("profile.facts", "f"),)).roads
    assert {name: why for name, each in roads.items() if (why := each.not_looked) and "session" in why} == {}
    assert "selection" in str(roads["texts"].not_looked)


@pytest.mark.parametrize("is_built", [False, True])
def test_a_renamed_account_is_taken_whole_under_both_names(told: World, is_built: bool) -> None:
    told.sql("update orbitpilot.account set user_id = 'mine' where user_id = 'me'")
    if is_built:
        told.build()
    assert forget_in(told, "mine", account=True).is_verified
    assert told.contents() == {}
    assert told.sql("select count(*) from memory.change") == [(0,)]
    assert told.sql("select count(*) from memory.embedding_cache") == [(0,)]
    told.build()
    assert told.contents() == {}


def test_a_name_that_another_session_has_now_is_not_its_former_ones(told: World) -> None:
    told.sql("update orbitpilot.session set session_id = 'new' where session_id = 's1'")
    told.say(ME, "s1", "Another talk of the same name.", "> Yes.")
    with pytest.raises(ForgetFailed, match="orbit build"):
        forget_in(told, sessions=("new",))
    assert told.sql("select count(*) from memory.tombstone") == [(0,)]
    told.build()
    forget_in(told, sessions=("new",))
    told.build()
    assert {"s1:0"} <= set(told.contents())
    assert not {source for source in told.contents() if source.startswith("new:")}


@pytest.mark.parametrize("is_built", [False, True])
def test_former_names_of_a_deleted_session_outlast_another_ones_rename_onto_its_key(
    told: World, is_built: bool
) -> None:
    told.sql("update orbitpilot.session set session_id = 'new' where session_id = 's1'")
    told.sql("delete from orbitpilot.session where session_id = 'new'")
    told.sql("insert into orbitpilot.session (user_id, session_id) values ('me', 'bare')")
    told.sql("update orbitpilot.session set session_id = 'new' where session_id = 'bare'")
    if is_built:
        told.build()
    forget_in(told, sessions=("new",))
    assert told.sql("select session_id from memory.tombstone order by 1") == [("bare",), ("new",), ("s1",)]
    assert told.sql("select count(*) from memory.change where content_hash is not null and source_id ~ '^s1:'") == [
        (0,)
    ]
    told.build()
    assert set(told.contents()) - {"b"} == STAYS


def test_former_names_of_a_deleted_account_outlast_another_ones_rename_onto_its_name(told: World) -> None:
    told.sql("update orbitpilot.account set user_id = 'mine' where user_id = 'me'")
    told.sql("delete from orbitpilot.account where user_id = 'mine'")
    told.sql("update orbitpilot.account set user_id = 'mine' where user_id = 'you'")
    forget_in(told, "mine", account=True)
    assert told.contents() == {}
    assert told.sql("select count(*) from memory.change") == [(0,)]


def test_a_session_that_got_its_old_name_back_was_called_otherwise_only_in_between(told: World) -> None:
    told.sql("update orbitpilot.session set session_id = 'new' where session_id = 's1'")
    told.sql("update orbitpilot.session set session_id = 's1' where session_id = 'new'")
    assert told.sql("select session_id, former_session_id, covered_below from memory.former_session") == [
        ("s1", "new", 0)
    ]
    forget_in(told, sessions=("s1",))
    assert told.sql("select session_id from memory.tombstone order by 1") == [("new",), ("s1",)]
    told.build()
    assert set(told.contents()) - {"b"} == STAYS


@pytest.mark.parametrize("how", MOVES)
def test_what_memory_had_covered_stays_covered_after_a_move(told: World, how: str) -> None:
    move, user, agent, session = MOVES[how]
    told.sql(move)
    told.sql("update orbitpilot.session set channel = 'slack' where session_id = any(array['s1', 'new'])")
    add_rules(told.connection, [Rule(RuleKind.CHANNEL, "slack")])
    told.say(Store(user, agent or "orbitpilot"), session, "Said after the rule.", "> Is it?")
    for full in (False, True):
        told.build(full=full)
        assert {f"{session}:0", f"{session}:1"} <= set(told.contents())
        assert told.skips()[f"{session}:2"] == "not_admitted"
