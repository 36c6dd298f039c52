import json
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from orbit_pipelines.errors import UnknownMessage
from orbit_pipelines.lineage.telling import headline, notices, story_as_json
from orbit_pipelines.lineage.why import EventKind, FlagState, Story, why
from orbit_pipelines.model import Reason, Store

if TYPE_CHECKING:
    from tests.lineage.conftest import History

Connection = psycopg.Connection[Any]
MARA = Store("mara")


def ask(history: "History", message_id: str, session_id: str = "garden") -> Story:
    return why(history.connection, MARA, session_id, message_id)


def decided(story: Story) -> tuple[Reason, int] | None:
    return None if story.decision is None else (story.decision.reason, story.decision.build_id)


def kinds(story: Story) -> list[tuple[int, EventKind, Reason | None]]:
    return [(event.build_id, event.kind, event.reason) for event in story.events]


@pytest.fixture
def built(history: "History") -> int:
    """Three pairs of one session, the first two in memory, the third skipped; the build that did so."""
    history.session("garden")
    for pair_index in range(3):
        history.turn("garden", pair_index)
    history.flag("garden", "u2")
    history.commit()
    build = history.build(embedded=2)
    history.source(build, "mara")
    for pair_index in range(2):
        history.change(build, "added", "new_pair", f"garden:{pair_index}", replies=(f"a{pair_index}",))
    history.skip(build, "not_remembered", "garden:2")
    history.watermark(build)
    history.commit()
    return build


@pytest.mark.parametrize("message_id", ["u0", "a0"])
def test_a_message_and_its_reply_are_in_memory_with_their_pair(history: "History", built: int, message_id: str) -> None:
    story = ask(history, message_id)

    assert story.in_memory
    assert decided(story) == (Reason.NEW_PAIR, built)
    assert (story.pair_index, story.source_id, story.flag) == (0, "garden:0", FlagState.REMEMBERED)
    assert [chunk.carries_message for chunk in story.chunks] == [message_id == "a0"]
    assert kinds(story) == [(built, EventKind.SOURCE_INCLUDED, None), (built, EventKind.ADDED, Reason.NEW_PAIR)]
    assert headline(story).startswith(f"In memory: new_pair, decided by build {built} on 2026-10-28")


@pytest.mark.parametrize("message_id", ["u2", "a2"])
def test_an_excluded_message_and_its_reply_are_out_by_the_build_that_skipped_them(
    history: "History", built: int, message_id: str
) -> None:
    story = ask(history, message_id)

    assert not story.in_memory
    assert decided(story) == (Reason.NOT_REMEMBERED, built)
    assert story.flag is FlagState.NOT_REMEMBERED
    assert notices(story) == []


def test_a_flag_set_since_the_last_build_is_pending(history: "History", built: int) -> None:
    history.flag("garden", "u0")
    history.commit()

    story = ask(history, "u0")

    assert story.in_memory
    assert decided(story) == (Reason.NEW_PAIR, built)
    assert story.flag is FlagState.PENDING_REMOVAL
    assert notices(story) == ["Marked not to be remembered since the last build: the next build removes it."]


def test_a_flag_that_a_build_has_seen_is_not_pending(history: "History", built: int) -> None:
    history.flag("garden", "u0")
    history.commit()
    history.watermark(history.build(day=1))
    history.commit()

    assert ask(history, "u0").flag is FlagState.NOT_REMEMBERED


def test_a_flag_lifted_since_the_last_build_is_a_pending_return(history: "History", built: int) -> None:
    history.flag("garden", "u2", False)
    history.commit()

    story = ask(history, "u2")

    assert story.flag is FlagState.PENDING_RETURN
    assert decided(story) == (Reason.NOT_REMEMBERED, built)


def test_the_story_goes_on_over_builds(history: "History", built: int) -> None:
    removing, returning = history.build(day=1), history.build(day=2)
    history.change(removing, "removed", "not_remembered", "garden:0")
    history.skip(removing, "not_remembered", "garden:0")
    history.end_skip(returning, "garden:0")
    history.change(returning, "added", "remembered_again", "garden:0")

    story = ask(history, "u0")

    assert decided(story) == (Reason.REMEMBERED_AGAIN, returning)
    assert kinds(story)[1:] == [
        (built, EventKind.ADDED, Reason.NEW_PAIR),
        (removing, EventKind.REMOVED, Reason.NOT_REMEMBERED),
        (removing, EventKind.SKIPPED, Reason.NOT_REMEMBERED),
        (returning, EventKind.SKIP_ENDED, Reason.NOT_REMEMBERED),
        (returning, EventKind.ADDED, Reason.REMEMBERED_AGAIN),
    ]


def test_a_reply_can_be_out_while_its_pair_is_in(history: "History", built: int) -> None:
    history.turn("garden", 3, reply=False)
    history.turn("garden", 4, run_index=3)
    history.flag("garden", "u3")
    build = history.build(day=1)
    history.change(build, "added", "new_pair", "garden:4")
    history.skip(build, "reply_not_remembered", "garden:4")

    assert ask(history, "u4").in_memory
    reply = ask(history, "a4")
    assert not reply.in_memory
    assert decided(reply) == (Reason.REPLY_NOT_REMEMBERED, build)
    assert notices(reply) == [
        "Another message that the same reply answers is not to be remembered, so neither is the reply."
    ]


def test_a_reply_that_came_after_the_build_was_decided_by_none(history: "History", built: int) -> None:
    edit = history.build(day=1)
    history.change(edit, "removed", "content_edited", "garden:0")
    history.change(edit, "added", "content_edited", "garden:0", "edited", replies=())

    assert decided(ask(history, "u0")) == (Reason.CONTENT_EDITED, edit)
    assert ask(history, "a0").decision is None


def test_a_message_no_build_has_seen_says_so(history: "History", built: int) -> None:
    history.turn("garden", 3)

    story = ask(history, "u3")

    assert (story.in_memory, story.decision) == (False, None)
    assert headline(story) == "Not in memory: no build has decided yet."


def test_a_source_that_left_decides_for_what_came_before_and_after(history: "History", built: int) -> None:
    leaving = history.build(day=1)
    history.source(leaving, "mara", "source_over_cap")
    for pair_index in range(2):
        history.change(leaving, "removed", "source_over_cap", f"garden:{pair_index}")
    history.turn("garden", 3)

    for message_id in ("u0", "a1", "u3"):
        story = ask(history, message_id)
        assert decided(story) == (Reason.SOURCE_OVER_CAP, leaving)
        assert notices(story) == ["Chat history is not included for this person: source_over_cap."]


def test_a_deleted_message_keeps_its_story(history: "History", built: int) -> None:
    history.connection.execute("delete from orbitpilot.message where message_id = 'u0'")
    build = history.build(day=1)
    history.change(build, "removed", "message_deleted", "garden:0")

    story = ask(history, "u0")

    assert decided(story) == (Reason.MESSAGE_DELETED, build)
    assert story.deleted_at is not None
    assert notices(story)[0].startswith("The message was deleted on ")
    assert notices(ask(history, "a0"))[0].startswith("The user message it answers was deleted on ")


def test_a_deleted_session_and_a_tombstone_show(history: "History", built: int) -> None:
    history.connection.execute(
        "insert into memory.tombstone (user_id, agent_id, session_id) values ('mara', 'orbitpilot', 'garden')"
    )
    history.connection.execute("delete from orbitpilot.session")

    said = notices(ask(history, "u0"))

    assert "The session was deleted." in said
    assert any(each.startswith("The session was forgotten on ") for each in said)


def test_a_message_off_the_active_branch_says_so(history: "History", built: int) -> None:
    history.connection.execute("update orbitpilot.message set is_active = false where message_id = 'u0'")
    build = history.build(day=1)
    history.change(build, "removed", "left_branch", "garden:0")

    story = ask(history, "u0")

    assert decided(story) == (Reason.LEFT_BRANCH, build)
    assert notices(story) == ["It is off the session's active branch."]


def test_assistant_text_that_answers_nothing_belongs_to_no_pair(history: "History", built: int) -> None:
    history.connection.execute(
        "insert into orbitpilot.message (user_id, agent_id, session_id, message_id, position, role, content)"
        " values ('mara', 'orbitpilot', 'garden', 'greeting', 99, 'assistant', 'a secret greeting')"
    )

    story = ask(history, "greeting")

    assert (story.in_memory, story.pair_index, story.events) == (False, None, ())
    assert headline(story) == "Not in memory: this assistant message belongs to no pair, so it is never remembered."


@pytest.mark.parametrize(("session_id", "message_id"), [("garden", "u9"), ("nowhere", "u0")])
def test_an_unknown_message_is_named_with_what_to_do(
    history: "History", built: int, session_id: str, message_id: str
) -> None:
    with pytest.raises(UnknownMessage) as refusal:
        ask(history, message_id, session_id)
    assert f"'{message_id}'" in str(refusal.value)
    assert "orbit pairs --user mara" in str(refusal.value)


def test_the_message_of_another_person_is_unknown(history: "History", built: int) -> None:
    with pytest.raises(UnknownMessage):
        why(history.connection, Store("noor"), "garden", "u0")


def test_the_story_as_json_holds_plain_values_and_no_text(history: "History", built: int) -> None:
    told = json.loads(json.dumps(story_as_json(ask(history, "u0"))))

    assert told["user_id"] == "mara"
    assert told["source_id"] == "garden:0"
    assert told["decision"] == {"reason": "new_pair", "build_id": built, "at": "2026-10-28T09:00:00+00:00"}
    assert len(told["chunks"][0]["content_hash"]) == 64
    assert "secret" not in json.dumps(told)
