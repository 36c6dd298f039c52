"""Memory Status of one person, under the application's role."""

import pytest

from orbit_pipelines.errors import UnknownAccount
from orbit_pipelines.model import CHAT_HISTORY, Mode, Reason, Store
from orbit_pipelines.sources.administration import create_plan, switch_source
from orbit_pipelines.sources.resolution import resolve_build_sources
from orbit_pipelines.telling.honesty import honesty_note
from orbit_pipelines.telling.memory_status import MemoryStatus, SourceMemory, memory_status
from orbit_pipelines.telling.notice import NoticeKind, notice_for
from orbit_pipelines.telling.standing import State
from orbit_pipelines.telling.wording import wording_for
from tests.telling.conftest import Acting, counted_queries
from tests.worlds import World


def told(acting: Acting, store: Store) -> MemoryStatus:
    """Return somebody's Memory Status."""
    with acting(store.user_id) as app:
        return memory_status(app, store.user_id)


def chat(status: MemoryStatus) -> SourceMemory:
    """Return what a status says of chat history."""
    return next(source for source in status.sources if source.source_key == CHAT_HISTORY)


def newest_build(world: World) -> int:
    """Return the id of the build begun last."""
    return int(world.sql("select max(build_id) from memory.build")[0][0])


def test_before_the_first_build_everything_is_still_to_come(world: World, acting: Acting) -> None:
    ann = world.account("ann")
    world.say(ann, "s1", "Plums?", "> Ripe.", "And pears?")
    world.record(ann, "blink.blinks", "b1", "Plums are ripe.")

    status = told(acting, ann)

    assert status.last_build is None
    assert [(each.source_key, each.records, each.additions) for each in status.sources] == [
        ("blink.blinks", 0, 1),
        ("files.documents", 0, 0),
        ("profile.facts", 0, 0),
        (CHAT_HISTORY, 0, 2),
    ]


def test_after_a_build_it_counts_what_is_there_and_what_stays_out(world: World, acting: Acting) -> None:
    ann = world.account("ann")
    flagged, *_, asked, _, _ = world.say(ann, "s1", "Secret.", "> Hush.", "Plums?", "> Ripe.", "One.", "Two.", "> 3.")
    world.remember(ann, "s1", flagged, remembered=False)
    world.remember(ann, "s1", asked, remembered=False)
    world.build()

    status = told(acting, ann)

    assert status.last_build is not None
    assert (status.last_build.build_id, status.last_build.mode) == (newest_build(world), Mode.INCREMENTAL)
    source = chat(status)
    assert (source.records, source.chunks, source.characters > 0) == (2, 2, True)
    assert source.skipped == {Reason.NOT_REMEMBERED: 2, Reason.REPLY_NOT_REMEMBERED: 1}
    assert (source.additions, source.removals, source.changes) == (0, 0, 0)
    assert [(each.session_id, each.message_id, each.label.state) for each in status.not_remembered] == [
        ("s1", asked, State.NOT_REMEMBERED),
        ("s1", flagged, State.NOT_REMEMBERED),
    ]


def test_it_tells_what_the_next_build_adds_and_removes_and_changes(world: World, acting: Acting) -> None:
    ann = world.account("ann")
    back, _, out, _, one, *_ = world.say(ann, "s1", "Back.", "> B.", "Out.", "> O.", "One.", "Two.", "> 3.")
    world.remember(ann, "s1", back, remembered=False)
    world.record(ann, "blink.blinks", "b1", "Plums are ripe.")
    world.build()
    world.remember(ann, "s1", back, remembered=True)
    world.remember(ann, "s1", out, remembered=False)
    world.remember(ann, "s1", one, remembered=False)
    world.say(ann, "s1", "New.")
    world.sql("delete from orbitpilot.record where source_id = 'b1'")

    status = told(acting, ann)

    source = chat(status)
    assert (source.additions, source.removals, source.changes) == (2, 2, 1)
    assert status.sources[0].removals == 1
    world.build()
    after = chat(told(acting, ann))
    assert (after.records, after.additions, after.removals, after.changes) == (source.records, 0, 0, 0)


def test_the_notice_says_assigned_where_memory_status_says_crowded_out(world: World, acting: Acting) -> None:
    create_plan(world.connection, "essential")
    ann = world.account("ann", plan="essential")
    world.say(ann, "s1", "Plums?", "> Ripe.")

    status = told(acting, ann)
    with acting("ann") as app:
        notice = notice_for(app, "ann")

    assert notice.kind is NoticeKind.REMEMBERED
    assert chat(status).reason is Reason.SOURCE_OVER_CAP
    assert status.limit == 3
    assert chat(status).skipped == {Reason.SOURCE_OVER_CAP: 1}


@pytest.mark.parametrize("locale", ["en", "fr"])
def test_notice_and_reply_use_the_words_of_memory_status(locale: str, world: World, acting: Acting) -> None:
    wording = wording_for(locale)
    ann = world.account("ann")
    switch_source(world.connection, CHAT_HISTORY, in_rag=False)

    status = told(acting, ann)
    with acting("ann") as app:
        notice = notice_for(app, "ann")
        note = honesty_note(resolve_build_sources(app, "ann"), {}, "Do you remember my dog?", wording)

    words = wording.source_reason(CHAT_HISTORY, Reason.SOURCE_SWITCHED_OFF, limit=status.limit)
    assert chat(status).reason is Reason.SOURCE_SWITCHED_OFF
    assert words in notice.text(wording)
    assert words in str(note)


def test_forgotten_sessions_are_listed_by_date(world: World, acting: Acting) -> None:
    ann = world.account("ann")
    world.say(ann, "s1", "Plums?")
    for session, day in (("s1", "2026-01-01"), ("s2", "2026-02-01")):
        world.sql(
            "insert into memory.tombstone (user_id, agent_id, session_id, forgotten_at)"
            " values ('ann', 'orbitpilot', %s, %s)",
            session,
            day,
        )

    assert [each.session_id for each in told(acting, ann).forgotten_sessions] == ["s2", "s1"]


def test_a_build_of_somebody_else_is_not_the_last_build_over_a_person(world: World, acting: Acting) -> None:
    ann, bob = world.account("ann"), world.account("bob")
    world.say(ann, "s1", "Plums?")
    world.say(bob, "s1", "Pears?")
    world.build(full=True)
    first = newest_build(world)
    world.say(bob, "s1", "Apples?")
    world.build("bob")

    ours, theirs = told(acting, ann).last_build, told(acting, bob).last_build

    assert ours is not None
    assert theirs is not None
    assert (ours.build_id, ours.mode, theirs.build_id) == (first, Mode.FULL, newest_build(world))
    world.build("ann")
    unchanged = told(acting, ann).last_build
    assert unchanged is not None
    assert unchanged.build_id == newest_build(world)


def test_nobody_has_no_memory_status(world: World, acting: Acting) -> None:
    world.account("ann")
    with acting("ann") as app, pytest.raises(UnknownAccount):
        memory_status(app, "bob")


def test_it_takes_as_many_queries_as_the_manual_says(world: World, acting: Acting) -> None:
    ann = world.account("ann")
    world.say(ann, "s1", "Plums?", "> Ripe.")
    with acting("ann") as app:
        queries = counted_queries(app)
        memory_status(app, "ann")

    assert len(queries) == 15
