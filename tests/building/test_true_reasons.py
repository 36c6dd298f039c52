"""Every reason of ``memory.change`` and ``memory.skipped``, in both directions, on real PostgreSQL."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from orbit_pipelines.history.importing import import_sessions
from orbit_pipelines.history.recalled import wrap
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession
from orbit_pipelines.model import Store
from orbit_pipelines.sources.administration import assign_source, set_cap, switch_source, unassign_source
from orbit_pipelines.sources.records import delete_record
from tests.worlds import World

ME = Store("me")
Step = Callable[[World], object]
Changes = set[tuple[str, str, str]]


@dataclass(frozen=True)
class Case:
    """A change to a world with a built memory, and what the next build says of it."""

    name: str
    change: Step
    changes: Changes
    skips: dict[str, str]
    before: tuple[Step, ...] = ()
    """Changes that each are followed by a build of their own first."""


def sql(query: str) -> Step:
    return lambda world: world.sql(query)


def flag(message: str, *, remembered: bool) -> Step:
    return lambda world: world.remember(ME, "s", message, remembered=remembered)


def branch(*messages: ParsedMessage, left_behind: tuple[str, ...] = ()) -> Step:
    session = ParsedSession("b", messages, left_behind=frozenset(left_behind))
    return lambda world: import_sessions(world.connection, ME, [session], hash_key=b"k" * 32)


def said(message_id: str, parent: str | None, role: str, content: str) -> ParsedMessage:
    return ParsedMessage(message_id, parent, "user" if role == "user" else "assistant", content)


ASKED = said("q", None, "user", "Question?")
FIRST, SECOND, THIRD = (said(f"a{n}", "q", "assistant", f"Answer {n}.") for n in (1, 2, 3))
EDITED = said("q2", None, "user", "Another question?")

OFF = {"s:0": "source_switched_off", "s:1": "source_switched_off", "s:2": "source_switched_off"}
RECALLED = wrap("You like tea.")
RULE = "insert into memory.admission_rule (kind, value) values ('session_kind', 'chat')"
UNRULE = "update memory.admission_rule set removed_at = now()"
GONE = {"s:0", "s:1", "s:2"}


def all_pairs(action: str, reason: str) -> Changes:
    return {(source, action, reason) for source in GONE}


CASES = [
    Case("new pair", lambda w: w.say(ME, "s", "More."), {("s:3", "added", "new_pair")}, {}),
    Case(
        "a message edited",
        sql("update orbitpilot.message set content = 'Coffee.' where message_id = 'u0'"),
        {("s:0", "removed", "content_edited"), ("s:0", "added", "content_edited")},
        {},
    ),
    Case(
        "a reply edited",
        sql("update orbitpilot.message set content = 'Hm.' where message_id = 'a0'"),
        {("s:0", "removed", "content_edited"), ("s:0", "added", "content_edited")},
        {},
    ),
    Case("excluded", flag("u0", remembered=False), {("s:0", "removed", "not_remembered")}, {"s:0": "not_remembered"}),
    Case(
        "excluded, and back",
        flag("u0", remembered=True),
        {("s:0", "added", "remembered_again")},
        {},
        before=(flag("u0", remembered=False),),
    ),
    Case(
        "excluded in a run: its reply is skipped",
        flag("u1", remembered=False),
        {
            ("s:1", "removed", "not_remembered"),
            ("s:2", "removed", "reply_not_remembered"),
            ("s:2", "added", "reply_not_remembered"),
        },
        {"s:1": "not_remembered", "s:2": "reply_not_remembered"},
    ),
    Case(
        "excluded in a run, and back",
        flag("u1", remembered=True),
        {
            ("s:1", "added", "remembered_again"),
            ("s:2", "removed", "reply_remembered_again"),
            ("s:2", "added", "reply_remembered_again"),
        },
        {},
        before=(flag("u1", remembered=False),),
    ),
    Case(
        "a message deleted",
        sql("delete from orbitpilot.message where message_id = 'u0'"),
        {("s:0", "removed", "message_deleted")},
        {},
    ),
    Case(
        "a reply deleted",
        sql("delete from orbitpilot.message where message_id = 'a0'"),
        {("s:0", "removed", "message_deleted"), ("s:0", "added", "content_edited")},
        {},
    ),
    Case(
        "a session deleted",
        sql("delete from orbitpilot.session where session_id = 's'"),
        all_pairs("removed", "session_deleted"),
        {},
    ),
    Case(
        "an account deleted",
        sql("delete from orbitpilot.account where user_id = 'me'"),
        all_pairs("removed", "account_deleted") | {("fact", "removed", "account_deleted")},
        {},
    ),
    Case(
        "an account deleted and made anew",
        lambda w: (w.sql("delete from orbitpilot.account where user_id = 'me'"), w.account("me")),
        all_pairs("removed", "account_deleted") | {("fact", "removed", "account_deleted")},
        {},
    ),
    Case(
        "an account deleted and made anew, and its session again",
        lambda w: (
            w.sql("delete from orbitpilot.account where user_id = 'me'"),
            w.account("me"),
            w.say(ME, "s", "Coffee."),
        ),
        all_pairs("removed", "account_deleted")
        | {("fact", "removed", "account_deleted"), ("s:3", "added", "new_pair")},
        {},
    ),
    Case(
        "a session deleted after its account was made anew",
        sql("delete from orbitpilot.session where session_id = 't'"),
        {("t:0", "removed", "session_deleted")},
        {},
        before=(
            lambda w: (
                w.sql("delete from orbitpilot.account where user_id = 'me'"),
                w.account("me"),
                w.say(ME, "t", "Coffee."),
            ),
        ),
    ),
    Case(
        "a session forgotten",
        sql("insert into memory.tombstone (user_id, agent_id, session_id) values ('me', 'orbitpilot', 's')"),
        all_pairs("removed", "session_forgotten"),
        dict.fromkeys(GONE, "session_forgotten"),
    ),
    Case(
        "forgotten outranks excluded and deleted",
        sql("insert into memory.tombstone (user_id, agent_id, session_id) values ('me', 'orbitpilot', 's')"),
        {("s:1", "removed", "session_forgotten"), ("s:2", "removed", "session_forgotten")},
        dict.fromkeys(GONE, "session_forgotten"),
        before=(flag("u0", remembered=False),),
    ),
    Case(
        "a source switched off",
        lambda w: switch_source(w.connection, "orbitpilot.chat_history", in_rag=False),
        all_pairs("removed", "source_switched_off"),
        OFF,
    ),
    Case(
        "a source switched on again",
        lambda w: switch_source(w.connection, "orbitpilot.chat_history", in_rag=True),
        all_pairs("added", "source_included"),
        {},
        before=(lambda w: switch_source(w.connection, "orbitpilot.chat_history", in_rag=False),),
    ),
    Case(
        "a source taken from the plan",
        lambda w: assign_source(w.connection, "default", "orbitpilot.chat_history", is_visible=False),
        all_pairs("removed", "source_not_assigned"),
        dict.fromkeys(GONE, "source_not_assigned"),
    ),
    Case(
        "the assignment's row deleted",
        lambda w: unassign_source(w.connection, "default", "orbitpilot.chat_history"),
        all_pairs("added", "source_included"),
        {},
        before=(lambda w: assign_source(w.connection, "default", "orbitpilot.chat_history", is_visible=False),),
    ),
    Case(
        "default_visible taken back",
        sql("update orbitpilot.memory_source set default_visible = false where source_key = 'profile.facts'"),
        {("fact", "removed", "source_not_assigned")},
        {"fact": "source_not_assigned"},
    ),
    Case(
        "the cap crowds a source out",
        lambda w: set_cap(w.connection, "default", 3),
        all_pairs("removed", "source_over_cap"),
        dict.fromkeys(GONE, "source_over_cap"),
    ),
    Case(
        "the cap raised again",
        lambda w: set_cap(w.connection, "default", 4),
        all_pairs("added", "source_included"),
        {},
        before=(lambda w: set_cap(w.connection, "default", 3),),
    ),
    Case(
        "an account moved to another plan",
        sql("update orbitpilot.account set plan_key = 'small'"),
        all_pairs("removed", "source_over_cap"),
        dict.fromkeys(GONE, "source_over_cap"),
        before=(sql("insert into orbitpilot.plan (plan_key, title, included_sources) values ('small', '', 3)"),),
    ),
    Case(
        "registry order",
        sql("update orbitpilot.memory_source set position = 0 where source_key = 'orbitpilot.chat_history'"),
        all_pairs("added", "source_included") | {("fact", "removed", "source_over_cap")},
        {"fact": "source_over_cap"},
        before=(lambda w: set_cap(w.connection, "default", 3),),
    ),
    Case(
        "a record excluded",
        lambda w: w.exclude(ME, "profile.facts", "fact", excluded=True),
        {("fact", "removed", "record_excluded")},
        {"fact": "record_excluded"},
    ),
    Case(
        "a record taken back in",
        lambda w: w.exclude(ME, "profile.facts", "fact", excluded=False),
        {("fact", "added", "remembered_again")},
        {},
        before=(lambda w: w.exclude(ME, "profile.facts", "fact", excluded=True),),
    ),
    Case(
        "a record deleted",
        lambda w: delete_record(w.connection, ME, "profile.facts", "fact"),
        {("fact", "removed", "message_deleted")},
        {},
    ),
    Case(
        "a record renamed",
        sql("update orbitpilot.record set source_id = 'renamed' where source_id = 'fact'"),
        {("fact", "removed", "message_deleted"), ("renamed", "added", "new_pair")},
        {},
    ),
    Case(
        "a session's kind changed",
        sql("update orbitpilot.session set session_kind = 'hook' where session_id = 's'"),
        all_pairs("updated", "metadata_changed"),
        {},
    ),
    Case(
        "a session moved to another person",
        sql("update orbitpilot.session set user_id = 'you' where session_id = 's'"),
        all_pairs("removed", "session_deleted") | all_pairs("added", "new_pair"),
        {},
        before=(lambda w: w.account("you"),),
    ),
    Case(
        "an answer regenerated",
        branch(ASKED, SECOND, left_behind=("a1",)),
        {("b:0", "removed", "left_branch"), ("b:0", "added", "content_edited")},
        {},
        before=(branch(ASKED, FIRST),),
    ),
    Case(
        "the first answer returns",
        branch(ASKED, FIRST, left_behind=("a2",)),
        {("b:0", "removed", "left_branch"), ("b:0", "added", "branch_returned")},
        {},
        before=(branch(ASKED, FIRST), branch(ASKED, SECOND, left_behind=("a1",))),
    ),
    Case(
        "an answer regenerated twice is no return",
        branch(ASKED, THIRD, left_behind=("a1", "a2")),
        {("b:0", "removed", "left_branch"), ("b:0", "added", "content_edited")},
        {},
        before=(branch(ASKED, FIRST), branch(ASKED, SECOND, left_behind=("a1",))),
    ),
    Case(
        "a reply leaves its branch alone",
        sql("update orbitpilot.message set is_active = false where message_id = 'a0'"),
        {("s:0", "removed", "left_branch"), ("s:0", "added", "content_edited")},
        {},
    ),
    Case(
        "a reply that left its branch alone returns",
        sql("update orbitpilot.message set is_active = true where message_id = 'a0'"),
        {("s:0", "removed", "left_branch"), ("s:0", "added", "branch_returned")},
        {},
        before=(sql("update orbitpilot.message set is_active = false where message_id = 'a0'"),),
    ),
    Case(
        "a reply that left its branch alone leaves it again",
        sql("update orbitpilot.message set is_active = false where message_id = 'a0'"),
        {("s:0", "removed", "left_branch"), ("s:0", "added", "branch_returned")},
        {},
        before=(
            sql("update orbitpilot.message set is_active = false where message_id = 'a0'"),
            sql("update orbitpilot.message set is_active = true where message_id = 'a0'"),
        ),
    ),
    Case(
        "a reply that returns to its branch with other words",
        sql("update orbitpilot.message set is_active = true, content = 'Hm.' where message_id = 'a0'"),
        {("s:0", "removed", "content_edited"), ("s:0", "added", "content_edited")},
        {},
        before=(sql("update orbitpilot.message set is_active = false where message_id = 'a0'"),),
    ),
    Case(
        "a reply that is edited to what another said that left is no return",
        sql("update orbitpilot.message set content = 'Answer 1.' where message_id = 'a2' and session_id = 'b'"),
        {("b:0", "removed", "content_edited"), ("b:0", "added", "content_edited")},
        {},
        before=(branch(ASKED, FIRST), branch(ASKED, SECOND, left_behind=("a1",))),
    ),
    Case(
        "a reply without its question's words leaves its branch",
        sql("update orbitpilot.message set is_active = false where message_id = 'a0'"),
        {("s:0", "removed", "left_branch")},
        {"s:0": "no_text"},
        before=(sql("update orbitpilot.message set content = '' where message_id = 'u0'"),),
    ),
    Case(
        "a reply without its question's words returns to its branch",
        sql("update orbitpilot.message set is_active = true where message_id = 'a0'"),
        {("s:0", "added", "branch_returned")},
        {},
        before=(
            sql("update orbitpilot.message set content = '' where message_id = 'u0'"),
            sql("update orbitpilot.message set is_active = false where message_id = 'a0'"),
        ),
    ),
    Case(
        "a prompt edited",
        branch(EDITED, left_behind=("q", "a1")),
        {("b:0", "removed", "left_branch"), ("b:1", "added", "new_pair")},
        {},
        before=(branch(ASKED, FIRST),),
    ),
    Case(
        "the first prompt returns",
        branch(ASKED, FIRST, left_behind=("q2",)),
        {("b:1", "removed", "left_branch"), ("b:0", "added", "branch_returned")},
        {},
        before=(branch(ASKED, FIRST), branch(EDITED, left_behind=("q", "a1"))),
    ),
    Case("a message without text", lambda w: w.say(ME, "s", " \n"), set(), {"s:3": "no_text"}),
    Case(
        "a message loses its text",
        sql("update orbitpilot.message set content = '' where message_id in ('u0', 'a0')"),
        {("s:0", "removed", "content_edited")},
        {"s:0": "no_text"},
    ),
    Case(
        "a message gets its text back",
        sql("update orbitpilot.message set content = 'Tea after all.' where message_id = 'u0'"),
        {("s:0", "added", "content_edited")},
        {},
        before=(sql("update orbitpilot.message set content = '' where message_id in ('u0', 'a0')"),),
    ),
    Case("a message of recalled memory alone", lambda w: w.say(ME, "s", RECALLED), set(), {"s:3": "recalled_block"}),
    Case(
        "recalled memory around a person's own words",
        lambda w: w.say(ME, "s", f"{RECALLED}\nMore."),
        {("s:3", "added", "new_pair")},
        {},
    ),
    Case(
        "a recalled message's reply is remembered",
        lambda w: w.say(ME, "s", RECALLED, "> Noted."),
        {("s:3", "added", "new_pair")},
        {},
    ),
    Case(
        "a message comes to hold recalled memory alone",
        lambda w: w.sql("update orbitpilot.message set content = %s where message_id in ('u0', 'a0')", RECALLED),
        {("s:0", "removed", "content_edited")},
        {"s:0": "recalled_block"},
    ),
    Case(
        "a person adds words to recalled memory",
        lambda w: w.sql("update orbitpilot.message set content = content || 'Tea!' where message_id = 'u0'"),
        {("s:0", "added", "content_edited")},
        {},
        before=(
            lambda w: w.sql("update orbitpilot.message set content = %s where message_id in ('u0', 'a0')", RECALLED),
        ),
    ),
    Case(
        "excluded outranks recalled",
        lambda w: w.remember(ME, "s", w.say(ME, "s", RECALLED)[0], remembered=False),
        set(),
        {"s:3": "not_remembered"},
    ),
    Case(
        "not admitted",
        lambda w: (w.sql(RULE), w.say(ME, "s", "More."), w.say(ME, "t", "Other.")),
        set(),
        {"s:3": "not_admitted", "t:0": "not_admitted"},
    ),
    Case(
        "what memory had stays and follows an edit",
        lambda w: (w.sql(RULE), w.sql("update orbitpilot.message set content = 'Coffee.' where message_id = 'u0'")),
        {("s:0", "removed", "content_edited"), ("s:0", "added", "content_edited")},
        {},
    ),
    Case(
        "what memory had stays and follows a flag",
        flag("u0", remembered=True),
        {("s:0", "added", "remembered_again")},
        {},
        before=(flag("u0", remembered=False), sql(RULE)),
    ),
    Case(
        "excluded at first sight counts as covered",
        lambda w: w.sql("update orbitpilot.message set not_remembered = false where session_id = 't'"),
        {("t:0", "added", "remembered_again")},
        {},
        before=(
            lambda w: w.remember(ME, "t", w.say(ME, "t", "Other.")[0], remembered=False),
            sql(RULE),
        ),
    ),
    Case(
        "excluded outranks not admitted",
        lambda w: w.remember(ME, "s", w.say(ME, "s", "More.")[0], remembered=False),
        set(),
        {"s:3": "not_remembered"},
        before=(sql(RULE),),
    ),
    Case(
        "a tombstone outranks every rule",
        lambda w: (
            w.say(ME, "s", "More."),
            w.sql("insert into memory.tombstone (user_id, agent_id, session_id) values ('me', 'orbitpilot', 's')"),
        ),
        all_pairs("removed", "session_forgotten"),
        dict.fromkeys({*GONE, "s:3"}, "session_forgotten"),
        before=(sql(RULE),),
    ),
    Case(
        "admitted again",
        sql(UNRULE),
        {("s:3", "added", "admitted_again"), ("t:0", "added", "admitted_again")},
        {},
        before=(lambda w: (w.sql(RULE), w.say(ME, "s", "More."), w.say(ME, "t", "Other.")),),
    ),
]


def built_world(world: World) -> World:
    world.account("me")
    world.say(ME, "s", "I like tea.", "> Noted.", "And jam.", "Which?", "> Plum.")
    names = ("u0", "a0", "u1", "u2", "a2")
    world.sql(
        "update orbitpilot.message set message_id = (%s::text[])[position + 1] where session_id = 's'", list(names)
    )
    world.record(ME, "profile.facts", "fact", "Born in May.")
    world.build()
    return world


@pytest.mark.parametrize("full", [False, True], ids=["incremental", "full"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_change_and_skip_has_its_true_reason(world: World, case: Case, full: bool) -> None:
    built_world(world)
    for step in case.before:
        step(world)
        world.build()
    count = world.sql("select count(*) from memory.build where status = 'published'")
    case.change(world)
    world.build(full=full)
    assert world.sql("select count(*) from memory.build where status = 'published'") != count
    assert set(world.changes()) == case.changes
    assert world.skips() == case.skips


def test_another_chunker_changes_the_chunks_it_cuts_otherwise(world: World) -> None:
    built_world(world)
    world.say(ME, "long", "word " * 40)
    world.build()
    shorter = world.settings.model_copy(update={"chunk_characters": 100})
    world.build(settings=shorter)
    assert ("long:0", "removed", "recipe_changed") in world.changes()
    assert ("long:0", "added", "recipe_changed") in world.changes()
    assert ("s:0", "updated", "metadata_changed") in world.changes()
    assert world.sql("select note from memory.build order by build_id desc limit 1") == [("the recipe changed",)]


def test_another_model_replaces_every_row(world: World) -> None:
    built_world(world)
    world.embedder = type(world.embedder)(dimensions=16)
    world.build()
    assert {(action, reason) for _, action, reason in world.changes()} == {
        ("removed", "recipe_changed"),
        ("added", "recipe_changed"),
    }


def test_a_build_of_one_person_does_not_hide_a_changed_recipe_from_the_others(world: World) -> None:
    built_world(world)
    world.account("you")
    world.say(Store("you"), "t", "Mine.")
    world.build()
    world.embedder = type(world.embedder)(dimensions=16)
    world.build("you")
    world.build()
    assert world.sql("select distinct vector_dims(embedding) from memory.chunk") == [(16,)]


def test_chunks_that_somebody_removed_or_slipped_in_are_repaired_by_a_full_rebuild(world: World) -> None:
    built_world(world)
    world.sql("delete from memory.chunk where source_id = 's:0'")
    world.sql(
        "insert into memory.chunk select user_id, agent_id, source_key, 'stray:0', chunk_index, content_hash, 'stray',"
        " message_id, reply_message_ids, content, spans, embedding, language, origin_class, session_kind, sent_at,"
        " recipe, build_id from memory.chunk where source_id = 's:1'"
    )
    world.build(full=True)
    assert world.changes() == [("s:0", "added", "repaired"), ("stray:0", "removed", "repaired")]


def test_a_dump_restored_elsewhere_is_taken_whole_and_finds_nothing_to_change(world: World) -> None:
    built_world(world)
    world.sql("update memory.watermark set system_identifier = 'another cluster'")
    published = world.build()
    assert (published.added, published.removed, published.updated, published.embedded) == (0, 0, 0, 0)
    assert world.sql("select note from memory.build order by build_id desc limit 1") == [
        ("the watermark is of another database",)
    ]
