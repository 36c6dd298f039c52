"""Catch, and the page of a person's blinks."""

import pytest

from orbit_pipelines.forgetting.selection import ForgetRequest, Selectors
from orbit_pipelines.forgetting.service import forget
from orbit_pipelines.history.recalled import wrap
from orbit_pipelines.model import Store
from tests.web.conftest import Browser, Pages

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


def test_what_a_reply_recalled_is_not_caught(pages: Pages) -> None:
    ann = pages.person("ann")
    _, reply, _, nothing = pages.world.say(
        ANN, "s1", "Plums?", f"> Ripe.\n{wrap('You grow plums.')}", "Pears?", f"> {wrap('You grow pears.')}"
    )

    catch(pages, ann, reply)

    assert pages.world.sql("select content from orbitpilot.record") == [("Ripe.",)]
    assert ann.post(CATCH, {"message_id": pages.handle(nothing)}).status_code == 400


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
