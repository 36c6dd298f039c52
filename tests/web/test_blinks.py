"""Catch, and the page of a person's blinks."""

import re
from collections.abc import Callable

import pytest

from orbit_pipelines.forgetting.selection import ForgetRequest, Selectors
from orbit_pipelines.forgetting.service import forget
from orbit_pipelines.history.recalled import wrap
from orbit_pipelines.model import Store
from orbit_pipelines.web.responders.offline import OfflineResponder
from tests.web.conftest import Browser, Pages
from tests.web.test_status_pages import words

CATCH, TURN = "/orbitpilot/message/catch/", "/blinks/remember/"
ANN = Store("ann")


def catch(pages: Pages, browser: Browser, message_id: str) -> dict[str, object]:
    """Catch a reply as a script does."""
    answer = browser.post(CATCH, {"message_id": pages.handle(message_id), "format": "json"})
    assert answer.status_code == 200
    told: dict[str, object] = answer.json()
    return told


def test_a_reply_becomes_a_blink_that_knows_where_it_is_from(pages: Pages) -> None:
    ann = pages.person("ann")
    _, reply = pages.world.say(ANN, "s1", "Plums?", "> They are ripe.")

    told = catch(pages, ann, reply)
    again = catch(pages, ann, reply)

    handle = pages.handle(reply)
    assert (
        told
        == again
        == {
            "message_id": handle,
            "blink_id": handle,
            "is_excluded": False,
            "state": "pending",
            "label": "Remembered, from the next build on",
        }
    )
    assert pages.world.sql(
        "select user_id, agent_id, source_key, source_id, title, content, is_excluded, origin_session_id,"
        " origin_message_id from orbitpilot.record"
    ) == [("ann", "orbitpilot", "blink.blinks", handle, None, "They are ripe.", False, "s1", reply)]
    thread = ann.get("/orbitpilot/session/?session=s1").text
    assert "Caught as a blink" in thread
    assert CATCH not in thread
    assert "They are ripe." in ann.get("/blinks/").text


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_blink_leads_back_to_its_reply_where_a_thread_still_shows_it(is_shown: bool, pages: Pages) -> None:
    ann = pages.person("ann")
    _, reply = pages.world.say(ANN, "s1", "Plums?", "> Ripe.")
    pages.world.record(ANN, "blink.blinks", "imported", "Ripe plums.")
    pages.world.sql(
        "update orbitpilot.record set origin_session_id = 's1', origin_message_id = %s where source_id = 'imported'",
        reply,
    )
    pages.world.sql("update orbitpilot.message set is_active = %s where message_id = %s", is_shown, reply)

    leads_to = re.findall(r'href="(/orbitpilot/session/[^"]+)"', ann.get("/blinks/").text)

    anchor = f"#m-{pages.handle(reply)}" if is_shown else ""
    assert leads_to == [f"/orbitpilot/session/?agent=orbitpilot&amp;session=s1{anchor}"]
    assert (f'id="m-{pages.handle(reply)}"' in ann.get("/orbitpilot/session/?session=s1").text) == is_shown


def test_a_form_goes_back_to_its_page(pages: Pages) -> None:
    ann = pages.person("ann")
    _, reply = pages.world.say(ANN, "s1", "Plums?", "> Ripe.")

    answer = ann.post(CATCH, {"message_id": pages.handle(reply), "next": "/orbitpilot/session/?session=s1"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/orbitpilot/session/?session=s1")


def test_only_ones_own_replies_are_caught(pages: Pages) -> None:
    message, reply = pages.world.say(pages.account("ann"), "s1", "Plums?", "> Ripe.")
    ann, bob = pages.person("ann"), pages.person("bob")

    assert bob.post(CATCH, {"message_id": pages.handle(reply)}).status_code == 404
    assert ann.post(CATCH, {"message_id": "nonsense"}).status_code == 404
    assert ann.post(CATCH, {"message_id": pages.handle(message)}).status_code == 400
    assert pages.guest().post(CATCH, {"message_id": pages.handle(reply)}).status_code == 401
    assert pages.world.sql("select count(*) from orbitpilot.record") == [(0,)]


@pytest.mark.parametrize("flagged", [0, 1])
@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_blink_from_an_excluded_run_starts_excluded_and_says_so(pages: Pages, flagged: int, is_deleted: bool) -> None:
    ann = pages.person("ann")
    *asked, reply = pages.world.say(ANN, "s1", "Plums?", "And pears?", "> Ripe.")
    pages.world.remember(ANN, "s1", asked[flagged], remembered=False)
    if is_deleted:
        pages.world.sql("delete from orbitpilot.message where message_id = %s", asked[flagged])

    told = catch(pages, ann, reply)

    assert told["is_excluded"] is True
    assert "starts out of memory too" in str(told["label"])
    assert str(told["label"]).startswith("Not remembered, already out of memory")
    assert "The blink is kept out of memory" in ann.get("/orbitpilot/session/?session=s1").text
    pages.world.build()
    assert not any("Ripe" in text for text in pages.world.contents().values())


def test_another_message_of_the_session_excludes_nothing(pages: Pages) -> None:
    ann = pages.person("ann")
    first, _, _, reply = pages.world.say(ANN, "s1", "Plums?", "> Ripe.", "Pears?", "> Not yet.")
    pages.world.remember(ANN, "s1", first, remembered=False)

    assert catch(pages, ann, reply)["is_excluded"] is False


def test_a_message_excluded_later_leaves_the_blink_under_its_own_eye(pages: Pages) -> None:
    ann = pages.person("ann")
    message, reply = pages.world.say(ANN, "s1", "Plums?", "> Ripe.")
    blink = str(catch(pages, ann, reply)["blink_id"])
    handle = pages.handle(message)

    told = ann.post("/orbitpilot/message/remember/", {"message_id": handle, "format": "json"}).json()
    pages.world.build()
    kept = pages.world.contents()
    out = ann.post(TURN, {"blink_id": blink, "format": "json"})
    pages.world.build()

    assert "The blink caught from it remains under its own eye" in told["label"]
    assert kept == {blink: "Ripe."}
    assert out.json() == {
        "blink_id": blink,
        "is_excluded": True,
        "state": "pending_removal",
        "label": "Not remembered, from the next build on",
    }
    assert pages.world.contents() == {}


def test_a_blink_keeps_what_was_seen_and_what_it_recalled_is_never_learned(pages: Pages) -> None:
    ann = pages.person("ann")
    _, reply, _, quoting, _, silent = pages.world.say(
        ANN, "s1", *("Plums?", f"> Ripe.\n{wrap('You grow plums.')}"), *("Pears?", f"> {wrap('Grow pears.')}"), "?", ">"
    )
    why = "Nothing new in it: it only quotes memory or the conversation"

    some, none = catch(pages, ann, reply), catch(pages, ann, quoting)
    pages.world.build()

    shown = words(ann.get("/blinks/").text)
    assert "Ripe. Recalled from memory: You grow plums." in shown
    assert "Recalled from memory: Grow pears." in shown
    assert (some["label"], none["label"]) == ("Remembered, from the next build on", f"Not in memory. {why}")
    assert why in shown
    assert pages.world.contents() == {
        "s1:0": "Plums?\n\nRipe.",
        "s1:1": "Pears?",
        "s1:2": "?",
        some["blink_id"]: "Ripe.",
    }
    assert pages.world.skips() == {none["blink_id"]: "recalled_block"}
    assert ann.post(CATCH, {"message_id": pages.handle(silent)}).status_code == 400


def test_an_offline_reply_is_kept_as_it_was_seen_and_teaches_memory_nothing(new_pages: Callable[..., Pages]) -> None:
    pages = new_pages()
    object.__setattr__(pages.app.state.site, "responder", OfflineResponder())
    pages.world.say(pages.account("ann"), "s1", "I grow plums.", "> Good.")
    pages.world.build()
    ann = pages.person("ann")
    hushed = ann.say("My plums are hidden, and it is code 4711.")
    pages.world.sql("update orbitpilot.message set not_remembered = true where content like '%4711.'")
    ann.say("Which plums?")
    assert hushed.status_code == 200
    replies = pages.world.sql(
        "select message_id from orbitpilot.message where role = 'assistant' and session_id <> 's1' order by position"
    )

    for (reply,) in replies:
        catch(pages, ann, reply)
    pages.world.build()

    told = "I am no language model: I only quote what I find. From your memory: Chat history: I grow plums."
    quoted = "You said earlier in this conversation: – My plums are hidden, and it is code 4711."
    for page in ("/orbitpilot/", "/blinks/"):
        shown = words(ann.get(page).text)
        assert told in shown
        assert quoted in shown
        assert "Recalled from memory" not in shown
    assert sorted(pages.world.contents().values()) == ["I grow plums.\n\nGood.", "Which plums?"]


def test_a_blinks_eye_is_its_owners(pages: Pages) -> None:
    pages.world.record(pages.account("ann"), "blink.blinks", "b/1", "Plums.")
    pages.world.record(Store("ann"), "profile.facts", "f1", "Pears.")
    ann, bob = pages.person("ann"), pages.person("bob")

    assert bob.post(TURN, {"blink_id": "b/1"}).status_code == 404
    assert ann.post(TURN, {"blink_id": "f1"}).status_code == 404
    assert pages.guest().post(TURN, {"blink_id": "b/1"}).status_code == 401
    assert "Plums." not in bob.get("/blinks/").text
    assert ann.post(TURN, {"blink_id": "b/1"}).headers["location"] == "/blinks/"
    assert 'aria-pressed="true"' in ann.get("/blinks/").text
    assert pages.world.sql("select source_id, is_excluded from orbitpilot.record order by 1") == [
        ("b/1", True),
        ("f1", False),
    ]


def test_a_blink_from_a_forgotten_session_starts_excluded_and_is_its_owners_to_turn_on(pages: Pages) -> None:
    ann = pages.person("ann")
    _, reply = pages.world.say(ANN, "s1", "Plums?", "> Ripe.")
    pages.world.build()
    forget(pages.world.connection, pages.world.settings, ForgetRequest(Selectors("ann", sessions=("s1",))))

    told = catch(pages, ann, reply)
    thread = ann.get("/orbitpilot/session/?session=s1").text
    pages.world.build()
    before = pages.world.contents()
    listed = ann.get("/memory/").text
    back = ann.post(TURN, {"blink_id": str(told["blink_id"]), "format": "json"}).json()
    pages.world.build()

    why = "Its session was forgotten: it stays out until you turn it on"
    assert told["is_excluded"] is True
    assert told["label"] == f"Not remembered, already out of memory. {why}"
    assert catch(pages, ann, reply)["is_excluded"] is False
    assert why in thread
    assert why in listed
    assert before == {}
    assert (back["state"], back["label"]) == (
        "pending",
        "Remembered, from the next build on. Its session was forgotten; this is remembered by itself",
    )
    assert list(pages.world.contents().values()) == ["Ripe."]


def test_a_blink_from_a_session_that_is_not_admitted_says_so_and_is_remembered(pages: Pages) -> None:
    ann = pages.person("ann")
    _, reply = pages.world.say(ANN, "s1", "Plums?", "> Ripe.")
    pages.world.sql("update orbitpilot.session set channel = 'groupchat'")
    pages.world.sql("insert into memory.admission_rule (kind, value) values ('channel', 'groupchat')")

    told = catch(pages, ann, reply)
    pages.world.build()

    assert (told["is_excluded"], told["label"]) == (
        False,
        "Remembered, from the next build on. Its session is not admitted to memory; this is remembered by itself",
    )
    assert list(pages.world.contents().values()) == ["Ripe."]


def test_a_blink_that_its_owner_turned_off_is_not_told_as_caught_from_an_excluded_exchange(pages: Pages) -> None:
    ann = pages.person("ann")
    _, reply = pages.world.say(ANN, "s1", "Plums?", "> Ripe.")
    blink = str(catch(pages, ann, reply)["blink_id"])
    ann.post(TURN, {"blink_id": blink})

    assert catch(pages, ann, reply)["label"] == "Not remembered, already out of memory"
