"""The eye by HTTP: whose messages it turns, what it answers, what it writes."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from orbit_pipelines.database.connection import connect
from tests.web.conftest import Pages
from tests.web.everything import everything

REMEMBER = "/orbitpilot/message/remember/"


def test_a_tap_writes_its_message_and_nothing_else(pages: Pages) -> None:
    world, store = pages.world, pages.account("ann")
    first, _, second, _ = world.say(store, "s1", "Plums?", "> Ripe.", "Pears?", "> Not yet.")
    world.build()
    ann = pages.person("ann")
    before = everything(world)

    ann.post(REMEMBER, {"message_id": pages.handle(first)})

    after = everything(world)
    assert [table for table in before if before[table] != after[table]] == ["orbitpilot.message"]
    [was], [now] = (
        set(a["orbitpilot.message"]) - set(b["orbitpilot.message"]) for a, b in ((before, after), (after, before))
    )
    assert first in was
    assert first in now
    [(flag, other)] = world.sql(
        "select (select not_remembered from orbitpilot.message where message_id = %s),"
        " (select not_remembered from orbitpilot.message where message_id = %s)",
        first,
        second,
    )
    assert (flag, other) == (True, False)


def test_a_script_is_answered_by_the_state_and_its_words(pages: Pages) -> None:
    store = pages.account("ann")
    message, _ = pages.world.say(store, "s1", "Plums?", "> Ripe.")
    pages.world.build()
    ann, handle = pages.person("ann"), pages.handle(message)

    out = ann.post(REMEMBER, {"message_id": handle, "format": "json"})
    back = ann.post(REMEMBER, {"message_id": handle, "format": "json"})

    assert (out.status_code, out.json()) == (
        200,
        {
            "message_id": handle,
            "not_remembered": True,
            "state": "pending_removal",
            "label": "Not remembered, from the next build on",
        },
    )
    assert back.json() == {
        "message_id": handle,
        "not_remembered": False,
        "state": "remembered",
        "label": "Remembered",
    }


@pytest.mark.parametrize(
    ("wanted", "referer", "leads_to"),
    [
        ("/orbitpilot/session/?session=s1", None, "/orbitpilot/session/?session=s1"),
        ("https://evil.example/", None, "/orbitpilot/"),
        ("//evil.example/", None, "/orbitpilot/"),
        ("/\\evil.example/", None, "/orbitpilot/"),
        ("/a\r\nSet-Cookie: x=y", None, "/orbitpilot/"),
        (None, "http://testserver/blinks/?a=1", "/blinks/?a=1"),
        (None, "http://evil.example/blinks/", "/orbitpilot/"),
    ],
)
def test_a_form_goes_back_to_a_page_of_this_site_only(
    pages: Pages, wanted: str | None, referer: str | None, leads_to: str
) -> None:
    [message] = pages.world.say(pages.account("ann"), "s1", "Plums?")
    ann = pages.person("ann")
    form = {"message_id": pages.handle(message)} | ({"next": wanted} if wanted else {})

    answer = ann.post(REMEMBER, form, headers={"referer": referer} if referer else {})

    assert (answer.status_code, answer.headers["location"]) == (303, leads_to)


def test_taps_at_once_turn_the_eye_one_after_another(pages: Pages) -> None:
    store = pages.account("ann")
    message, _ = pages.world.say(store, "s1", "Plums?", "> Ripe.")
    pages.world.record(store, "blink.blinks", "b1", "Plums.")
    ann = pages.person("ann")

    for page, named in ((REMEMBER, {"message_id": pages.handle(message)}), ("/blinks/remember/", {"blink_id": "b1"})):
        form = {"csrf_token": ann.token(), "format": "json", **named}
        with connect(pages.world.url) as holder, ThreadPoolExecutor(6) as taps:
            holder.execute("select from orbitpilot.message for update")
            holder.execute("select from orbitpilot.record for update")
            answers = [taps.submit(ann.client.post, page, data=form) for _ in range(6)]
            wait_for_waiting(pages, 6)
            holder.rollback()
        closed = [
            answer.result().json().get("not_remembered", answer.result().json().get("is_excluded"))
            for answer in answers
        ]

        assert sorted(closed) == [False] * 3 + [True] * 3
    assert pages.world.sql("select not_remembered from orbitpilot.message where role = 'user'") == [(False,)]
    assert pages.world.sql("select is_excluded from orbitpilot.record") == [(False,)]


def wait_for_waiting(pages: Pages, queries: int) -> None:
    """Wait until so many queries stand before a row that somebody holds."""
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    while pages.world.sql(waiting) != [(queries,)]:
        time.sleep(0.02)


def test_other_peoples_messages_are_nowhere(pages: Pages) -> None:
    message, reply = pages.world.say(pages.account("ann"), "s1", "Plums?", "> Ripe.")
    bob = pages.person("bob")

    for handle in (pages.handle(message), pages.handle(reply), "c0d01e33-a39a-5d06-b9ce-3e6f66b71c17", message, "x'"):
        assert bob.post(REMEMBER, {"message_id": handle, "format": "json"}).status_code == 404
    assert pages.world.sql("select count(*) from orbitpilot.message where not_remembered") == [(0,)]


def test_a_guest_is_told_to_sign_in_and_a_reply_has_no_eye(pages: Pages) -> None:
    message, reply = pages.world.say(pages.account("ann"), "s1", "Plums?", "> Ripe.")

    assert pages.guest().post(REMEMBER, {"message_id": pages.handle(message)}).status_code == 401
    assert pages.person("ann").post(REMEMBER, {"message_id": pages.handle(reply)}).status_code == 400
    assert pages.person("ann").post(REMEMBER, {}).status_code == 400
    assert pages.person("ann").get(REMEMBER).status_code == 405


@pytest.mark.parametrize("token", [None, "", "x", "é"])
def test_without_the_token_nothing_is_done(pages: Pages, token: str | None) -> None:
    [message] = pages.world.say(pages.account("ann"), "s1", "Plums?")
    ann = pages.person("ann")
    form = {"message_id": pages.handle(message)} | ({} if token is None else {"csrf_token": token})

    refused = ann.client.post(REMEMBER, data=form)
    another = ann.client.post(REMEMBER, data={**form, "csrf_token": pages.guest().token()})
    guest = pages.guest().client.post(REMEMBER, data=form)

    assert [refused.status_code, another.status_code, guest.status_code] == [403, 403, 403]
    assert pages.world.sql("select count(*) from orbitpilot.message where not_remembered") == [(0,)]


def test_the_same_imported_id_in_two_sessions_is_two_messages(pages: Pages) -> None:
    store = pages.account("ann")
    pages.world.say(store, "s1", "Plums?", "> Ripe.")
    pages.world.say(store, "s2", "Plums?", "> Ripe.")
    pages.world.sql("update orbitpilot.message set message_id = 'm' || position")
    [(handle,)] = pages.world.sql(
        "select handle::text from orbitpilot.message where (session_id, message_id) = ('s2', 'm0')"
    )

    assert pages.person("ann").post(REMEMBER, {"message_id": handle}).status_code == 303

    assert pages.world.sql(
        "select session_id, message_id, not_remembered from orbitpilot.message where role = 'user' order by 1"
    ) == [("s1", "m0", False), ("s2", "m0", True)]


def test_excluded_and_remembered_again_between_builds_leaves_the_very_same_chunk(pages: Pages) -> None:
    world = pages.world
    message, _ = world.say(pages.account("ann"), "s1", "Plums?", "> Ripe.")
    world.build()
    ann = pages.person("ann")
    chunks = world.sql("select ctid::text, xmin::text, t::text from memory.chunk as t")
    changes, embedded = world.sql("select count(*) from memory.change"), world.embedder.texts_embedded

    for _ in range(2):
        ann.post(REMEMBER, {"message_id": pages.handle(message)})
    world.build()

    assert world.sql("select ctid::text, xmin::text, t::text from memory.chunk as t") == chunks
    assert world.sql("select count(*) from memory.change") == changes
    assert world.embedder.texts_embedded == embedded


@pytest.mark.parametrize("spelt", ["{}", "urn:uuid:{}", "{{{}}}"])
@pytest.mark.parametrize("is_bare", [False, True])
def test_a_handle_is_known_however_it_is_spelt(spelt: str, is_bare: bool, pages: Pages) -> None:
    message, _ = pages.world.say(pages.account("ann"), "s1", "Plums?", "> Ripe.")
    handle = pages.handle(message)
    given = spelt.format(handle.replace("-", "") if is_bare else handle.upper())

    told = pages.person("ann").post(REMEMBER, {"message_id": given, "format": "json"}).json()

    assert (told["message_id"], told["state"]) == (handle, "not_remembered")
