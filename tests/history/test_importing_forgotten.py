"""An export with forgotten sessions: history again, and never memory."""

import logging

import pytest

from orbit_pipelines.history.importing import ImportResult, import_sessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession
from orbit_pipelines.model import Store
from tests.worlds import World

ME = Store("me")
TOMBSTONE = "insert into memory.tombstone (user_id, agent_id, session_id) values ('me', 'orbitpilot', %s)"


def said(*turns: str, session_id: str | None = "s", ids: bool = True) -> ParsedSession:
    messages = tuple(
        ParsedMessage(
            f"m{place}" if ids else None,
            None,
            "assistant" if turn.startswith(">") else "user",
            turn.removeprefix(">").strip(),
        )
        for place, turn in enumerate(turns)
    )
    return ParsedSession(session_id, messages)


def bring(world: World, *sessions: ParsedSession) -> ImportResult:
    return import_sessions(world.connection, ME, sessions, hash_key=b"k" * 32)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_re_import_keeps_the_history_and_revives_no_memory(world: World, is_deleted: bool) -> None:
    world.account("me")
    bring(world, said("A secret.", "> I see."), said("Tea.", session_id="t"))
    world.build()
    world.sql(TOMBSTONE, "s")
    world.build()
    if is_deleted:
        world.sql("delete from orbitpilot.session where session_id = 's'")

    result = bring(world, said("A secret.", "> I see.", "More of it.", "> Yes."), said("Tea.", session_id="t"))

    assert result.session_forgotten == 1
    assert world.sql("select count(*) from orbitpilot.message where session_id = 's'") == [(4,)]
    assert world.sql("select session_id from memory.tombstone") == [("s",)]
    for full in (False, True):
        world.build(full=full)
        assert set(world.contents()) == {"t:0"}
        assert world.skips() == {"s:0": "session_forgotten", "s:1": "session_forgotten"}


def test_a_session_in_pieces_counts_once_and_one_of_another_store_not_at_all(world: World) -> None:
    world.account("me")
    world.account("you")
    world.sql(TOMBSTONE, "s")
    world.sql("insert into memory.tombstone (user_id, agent_id, session_id) values ('you', 'orbitpilot', 't')")

    result = bring(world, said("One."), said("One.", "> Two."), said("Tea.", session_id="t"))

    assert (result.session_forgotten, result.sessions_new) == (1, 2)
    assert (result + result).session_forgotten == 2


def test_a_session_without_an_id_does_not_return_under_another(world: World) -> None:
    world.account("me")
    nameless = said("A secret.", "> I see.", session_id=None, ids=False)
    bring(world, nameless)
    [(name,)] = world.sql("select session_id from orbitpilot.session")
    world.build()
    world.sql(TOMBSTONE, name)
    world.build()
    world.sql("delete from orbitpilot.session")

    grown = said("A secret.", "> I see.", "More of it.", session_id=None, ids=False)
    assert bring(world, grown).session_forgotten == 1
    world.build()
    assert world.sql("select session_id from orbitpilot.session") == [(name,)]
    assert world.contents() == {}


def test_the_log_says_which_session_and_no_text(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.account("me")
    world.sql(TOMBSTONE, "s")
    with caplog.at_level(logging.INFO, "orbit_pipelines"):
        bring(world, said("A secret."))

    assert "session_forgotten: session me/orbitpilot/s is kept as history only" in caplog.text
    assert "secret" not in caplog.text


def test_a_message_that_an_application_appends_to_a_forgotten_session_is_history_only(world: World) -> None:
    world.account("me")
    world.say(ME, "s", "A secret.")
    world.sql(TOMBSTONE, "s")
    world.say(ME, "s", "More.")
    world.build()

    assert world.sql("select count(*) from orbitpilot.message") == [(2,)]
    assert world.contents() == {}
