"""Stories of messages whose session, or whose person's account, was called otherwise."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from orbit_pipelines.errors import UnknownMessage
from orbit_pipelines.lineage.former_names import Name, Period, Sighting, are_ours
from orbit_pipelines.lineage.telling import headline, notices, story_as_json, story_table
from orbit_pipelines.lineage.why import EventKind, Story, why
from orbit_pipelines.model import Reason, Store
from tests.worlds import World

ANN, BOB = Store("ann"), Store("bob")
RENAME = "update orbitpilot.session set session_id = %s where (user_id, session_id) = (%s, %s)"
MOVE = "update orbitpilot.session set user_id = %s where (user_id, session_id) = (%s, %s)"


@pytest.fixture
def told(world: World) -> World:
    """Ann's session ``garden`` with a pair that came to memory, left it, and came back, a build each; and Bob."""
    world.account("ann")
    world.account("bob")
    world.say(ANN, "garden", "When do I sow peas?", "> In March.")
    world.build()
    world.remember(ANN, "garden", message(world), remembered=False)
    world.build()
    world.remember(ANN, "garden", message(world), remembered=True)
    world.build()
    return world


def message(world: World) -> str:
    """Return the id of the message about peas."""
    [(found,)] = world.sql("select message_id from orbitpilot.message where content = 'When do I sow peas?'")
    return str(found)


def story_of(world: World, session: str, store: Store = ANN) -> Story:
    """Return the story of the message about peas, which goes by this name now."""
    return why(world.connection, store, session, message(world))


def shown(story: Story) -> str:
    """Return what a terminal shows."""
    console = Console(width=200)
    with console.capture() as capture:
        console.print(story_table(story))
    return capture.get()


def events(story: Story) -> list[tuple[str, Reason | None, str | None]]:
    """Return what builds decided about the pair, each with the session's name then; None for the present one."""
    return [
        (event.kind.value, event.reason, None if event.under is None else (event.under.session_id or "another's"))
        for event in story.events
        if event.kind not in (EventKind.SOURCE_INCLUDED, EventKind.SOURCE_NOT_INCLUDED)
    ]


def until_the_move(name: str | None, ending: str = "session_deleted") -> list[tuple[str, str, str | None]]:
    """Return what the three builds decided, under a former name, and that the next one took it away there."""
    return [
        ("added", "new_pair", name),
        ("removed", "not_remembered", name),
        ("skipped", "not_remembered", name),
        ("skip_ended", "not_remembered", name),
        ("added", "remembered_again", name),
        ("removed", ending, name),
    ]


def test_a_renamed_session_keeps_its_story(told: World) -> None:
    told.sql(RENAME, "beds", "ann", "garden")
    told.build()

    story = story_of(told, "beds")

    assert events(story) == [*until_the_move("garden"), ("added", "new_pair", None)]
    assert story.in_memory
    assert [chunk.under for chunk in story.chunks] == [None]
    [said] = notices(story)
    assert said.startswith("It was called garden:0 until 20")
    assert "called then" in shown(story)
    assert "garden:0" in shown(story)
    [name] = json.loads(json.dumps(story_as_json(story)))["former_names"]
    assert (name["user_id"], name["session_id"], name["was_anothers"]) == ("ann", "garden", False)


def test_until_the_next_build_memory_has_it_under_the_former_name(told: World) -> None:
    told.sql(RENAME, "beds", "ann", "garden")

    story = story_of(told, "beds")

    assert story.in_memory
    assert headline(story).startswith("In memory: remembered_again, decided by build 3 ")
    assert events(story) == until_the_move("garden")[:-1]
    assert notices(story)[1:] == ["Memory has it under its former name: the next build follows."]


@pytest.mark.parametrize("is_built", [True, False])
def test_a_chain_of_names_is_followed_to_its_beginning(told: World, is_built: bool) -> None:
    for former, name in (("garden", "beds"), ("beds", "borders")):
        told.sql(RENAME, name, "ann", former)
        if is_built:
            told.build()
    told.build()

    story = story_of(told, "borders")

    between = [("added", "new_pair", "beds"), ("removed", "session_deleted", "beds")] if is_built else []
    assert events(story) == [*until_the_move("garden"), *between, ("added", "new_pair", None)]
    assert [name.session_id for name in story.former_names] == ["garden", "beds"]


def test_a_name_that_came_back_has_the_whole_story(told: World) -> None:
    told.sql(RENAME, "beds", "ann", "garden")
    told.build()
    told.sql(RENAME, "garden", "ann", "beds")
    told.build()

    assert [event[0] for event in events(story_of(told, "garden"))].count("added") == 4
    assert [name.session_id for name in story_of(told, "garden").former_names] == ["beds"]


@pytest.mark.parametrize("is_built", [True, False])
def test_what_becomes_of_another_session_under_a_former_name_is_not_told(told: World, is_built: bool) -> None:
    told.sql(RENAME, "beds", "ann", "garden")
    if is_built:
        told.build()
    [other] = told.say(ANN, "garden", "Something else.")
    told.build()
    told.remember(ANN, "garden", other, remembered=False)
    told.build()
    told.sql(RENAME, "borders", "ann", "beds")
    told.build()

    mine = [event for event in events(story_of(told, "borders")) if event[2] == "garden"]

    assert mine[:5] == until_the_move("garden")[:5]
    assert [kind for kind, *_ in mine[5:]] == ["removed"]
    assert [event for event in events(why(told.connection, ANN, "garden", other)) if event[0] != "removed"] == [
        ("added", "new_pair" if is_built else "content_edited", None),
        ("skipped", "not_remembered", None),
    ]


def test_what_became_of_another_session_under_the_present_name_is_not_told(told: World) -> None:
    told.sql(RENAME, "beds", "ann", "garden")
    told.build()
    told.say(ANN, "garden", "Something else.")
    told.build()
    told.sql(RENAME, "shed", "ann", "garden")
    told.build()
    told.sql(RENAME, "garden", "ann", "beds")
    told.build()
    [(other,)] = told.sql("select message_id from orbitpilot.message where session_id = 'shed'")

    own = events(story_of(told, "garden"))
    others = events(why(told.connection, ANN, "shed", other))

    assert [event for event in own if event[2] is None] == [
        *[(kind, reason, None) for kind, reason, _ in until_the_move("")],
        ("added", "new_pair", None),
    ]
    assert others == [
        ("added", "new_pair", "garden"),
        ("removed", "session_deleted", "garden"),
        ("added", "new_pair", None),
    ]


def test_a_session_that_moved_names_nobody(told: World) -> None:
    told.sql(MOVE, "bob", "ann", "garden")

    waiting = story_of(told, "garden", BOB)
    assert (waiting.in_memory, waiting.decision, waiting.is_with_another_person) == (False, None, True)
    assert notices(waiting)[1:] == ["Memory has it with the person it belonged to: the next build takes it away there."]
    told.build()

    story = story_of(told, "garden", BOB)
    assert events(story) == [*until_the_move("another's"), ("added", "new_pair", None)]
    assert headline(story).startswith("In memory: new_pair, decided by build 4 ")
    assert notices(story)[0].startswith("It belonged to another person until 20")
    assert "another person's" in shown(story)
    for text in (shown(story), json.dumps(story_as_json(story)), *notices(story)):
        assert "ann" not in text
    with pytest.raises(UnknownMessage, match="Its session belongs to another person now") as refusal:
        story_of(told, "garden")
    assert "bob" not in str(refusal.value)


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_renamed_account_keeps_its_stories(told: World, is_deleted: bool) -> None:
    found = message(told)
    if is_deleted:
        told.sql("delete from orbitpilot.session")
        told.build()
    told.sql("update orbitpilot.account set user_id = 'anne' where user_id = 'ann'")
    told.build()

    story = why(told.connection, Store("anne"), "garden", found)

    ending = "session_deleted" if is_deleted else "account_deleted"
    assert [event for event in events(story) if event[2]] == until_the_move("garden", ending)
    assert {name.user_id for name in story.former_names} == {"ann"}
    sources = [event for event in story.events if event.kind is EventKind.SOURCE_INCLUDED]
    assert [event.under and event.under.user_id for event in sources] == ["ann", None]
    assert notices(story)[0].startswith("It was called ann garden:0 until 20")
    assert story.in_memory is not is_deleted


def test_statuses_of_another_person_under_a_former_account_name_are_not_told(told: World) -> None:
    told.sql("update orbitpilot.account set user_id = 'anne' where user_id = 'ann'")
    told.build()
    told.account("ann", "default")
    told.say(ANN, "garden", "Something else.")
    told.build()

    story = why(told.connection, Store("anne"), "garden", message(told))

    assert [event.build_id for event in story.events if event.kind is EventKind.SOURCE_INCLUDED] == [1, 4]
    assert events(story) == [*until_the_move("garden", "account_deleted"), ("added", "new_pair", None)]
    [(other,)] = told.sql("select message_id from orbitpilot.message where user_id = 'ann'")
    story = why(told.connection, ANN, "garden", other)
    assert [event.build_id for event in story.events if event.kind is EventKind.SOURCE_INCLUDED] == [5]
    assert events(story) == [("added", "new_pair", None)]


def test_who_asks_by_a_former_name_is_told_the_present_one(told: World) -> None:
    told.sql(RENAME, "beds", "ann", "garden")

    with pytest.raises(UnknownMessage, match="Its session is called 'beds' now, of user 'ann', agent 'orbitpilot'"):
        story_of(told, "garden")


def test_without_times_all_that_was_decided_under_the_names_is_told(told: World) -> None:
    told.sql(RENAME, "beds", "ann", "garden")
    told.build()
    told.sql("update memory.former_session set called_until = null")

    story = story_of(told, "beds")

    assert events(story) == [*until_the_move("garden"), ("added", "new_pair", None)]
    assert notices(story) == ["It was called garden:0 before."]


BEGIN = datetime(2026, 11, 2, tzinfo=UTC)


def hour(number: int) -> datetime:
    """Return the time so many hours after the beginning."""
    return BEGIN + timedelta(hours=number)


@given(had=st.permutations(range(4)).flatmap(lambda names: st.sampled_from([names[:n] for n in range(1, 5)])), back=...)
def test_every_build_is_about_who_had_the_name_then(had: list[int], back: bool) -> None:
    """A thing has one name after another for an hour each, perhaps the first one again; each build finds all names."""
    had = [*had, had[0]] if back and len(had) > 1 else had
    *former, present = had
    names = [Name(str(present))] + [
        Name(str(name), period=Period(hour(number) if number else None, hour(number + 1)))
        for number, name in enumerate(former)
        if name != present
    ]
    for place, name in enumerate(names):
        builds = [
            Sighting(place, number, hour(number) + timedelta(minutes=20), hour(number) + timedelta(minutes=40))
            for number in range(len(had) + 2)
        ]

        assert are_ours(builds, names) == [
            name.user_id == str(had[min(build.build_id, len(had) - 1)]) for build in builds
        ]
