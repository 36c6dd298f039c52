"""Memory Status by HTTP: what it shows, to whom, in which language."""

import re
from html import unescape

import psycopg
import pytest
from psycopg.rows import TupleRow

from orbit_pipelines.history.recalled import wrap
from orbit_pipelines.model import CHAT_HISTORY
from orbit_pipelines.sources.administration import create_plan, switch_source
from orbit_pipelines.telling.memory_status import MemoryStatus, memory_status
from orbit_pipelines.web import status_pages
from tests.web.conftest import Browser, Pages

STATUS = "/memory/"


def shown(browser: Browser) -> str:
    """Return the words of somebody's Memory Status."""
    answer = browser.get(STATUS)
    assert answer.status_code == 200
    return words(answer.text)


def words(page: str) -> str:
    """Return a page's text, as one line."""
    main = page[page.index("<main") : page.index("</main>")]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def test_a_guest_is_led_to_signing_in(pages: Pages) -> None:
    answer = pages.guest().get(STATUS, follow_redirects=False)

    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in/?next=%2Fmemory%2F")


def test_somebody_without_a_history_sees_that_there_is_none(pages: Pages) -> None:
    told = shown(pages.person("ann"))

    assert "Your memory has not been built yet." in told
    assert "Nothing of yours waits for it." in told
    assert "You have marked no message." in told


def test_it_shows_sources_builds_and_what_waits(pages: Pages) -> None:
    world, store = pages.world, pages.account("ann")
    out, _, hushed, _ = world.say(store, "s1", "Plums?", "> Ripe.", "My secret.", "> Hush.")
    world.remember(store, "s1", hushed, remembered=False)
    world.record(store, "blink.blinks", "b1", "Plums are ripe.")
    world.build()
    world.remember(store, "s1", out, remembered=False)
    world.say(store, "s1", "Pears?")

    told = shown(pages.person("ann"))

    assert "quick update" in told
    assert "Next build adds 1 record removes 1 record" in told
    assert "Blinks included 1 record 1 chunk, 15 characters nothing nothing" in told
    assert "Chat history included 1 record" in told
    assert "2: marked not remembered" in told
    assert told.index("Blinks") < told.index("Documents") < told.index("Profile facts") < told.index("Chat history")


def test_messages_that_are_not_remembered_lead_back_and_can_be_remembered_again(pages: Pages) -> None:
    world, store = pages.world, pages.account("ann")
    hushed, _ = world.say(store, "s1", "My <secret>.", "> Hush.")
    world.build()
    world.remember(store, "s1", hushed, remembered=False)
    ann, handle = pages.person("ann"), pages.handle(hushed)

    page = ann.get(STATUS).text

    assert f'href="/orbitpilot/session/?agent=orbitpilot&amp;session=s1#m-{handle}"' in page
    assert f'id="m-{handle}"' in ann.get("/orbitpilot/session/?agent=orbitpilot&session=s1").text
    assert "My &lt;secret&gt;." in page
    assert "Not remembered , from the next build on" in words(page)
    answer = ann.post("/orbitpilot/message/remember/", {"message_id": handle, "next": STATUS})
    assert answer.headers["location"] == STATUS
    assert "You have marked no message." in shown(ann)


def test_a_blink_that_is_kept_out_has_its_eye_here_too(pages: Pages) -> None:
    world, store = pages.world, pages.account("ann")
    world.record(store, "blink.blinks", "b1", "Plums are ripe.")
    world.record(store, "files.documents", "d1", "A page.")
    world.exclude(store, "blink.blinks", "b1", excluded=True)
    world.exclude(store, "files.documents", "d1", excluded=True)
    ann = pages.person("ann")

    page = ann.get(STATUS).text

    assert page.count('action="/blinks/remember/"') == 1
    assert "Plums are ripe." in page
    assert "A page." in page
    answer = ann.post("/blinks/remember/", {"blink_id": "b1", "agent": "orbitpilot", "next": STATUS})
    assert answer.headers["location"] == STATUS
    assert "Plums are ripe." not in shown(ann)


def test_the_notice_says_assigned_where_the_page_says_crowded_out(pages: Pages) -> None:
    create_plan(pages.world.connection, "essential")
    pages.world.account("noor", plan="essential")
    noor = pages.person("noor")

    chat, told = noor.get("/orbitpilot/").text, shown(noor)

    assert "Conversations are remembered so I can help you better" in chat
    assert 'href="/memory/"' in chat
    assert "Conversations are not remembered. Chat history: left out by your plan's limit of 3 sources" in told


def test_the_notice_uses_the_words_of_the_page(pages: Pages) -> None:
    switch_source(pages.world.connection, CHAT_HISTORY, in_rag=False)
    ann = pages.person("ann")

    said = "Conversations are not remembered. Chat history: switched off by the administrator"
    assert said in words(ann.get("/orbitpilot/").text)
    assert said in shown(ann)


def test_it_speaks_french_and_writes_dates_in_the_persons_zone(pages: Pages) -> None:
    world, store = pages.world, pages.account("camille")
    world.say(store, "s1", "Des prunes ?", "> Mûres.")
    world.build(full=True)
    world.sql("update orbitpilot.account set locale = 'fr', time_zone = 'America/Montreal' where user_id = 'camille'")
    world.sql("update memory.build set published_at = '2026-03-01 02:30+00'")

    page = pages.person("camille").get(STATUS)

    told = words(page.text).replace("\xa0", " ").replace("\u202f", " ")
    assert page.headers["content-language"] == "fr"
    assert '<html lang="fr">' in page.text
    assert "État de mémoire" in told
    assert "28 févr. 2026, 21:30:00 , reconstruction complète" in told
    assert "Historique de chat source incluse 1 élément 1 extrait" in told


def test_forgotten_conversations_are_listed_by_day(pages: Pages) -> None:
    world, store = pages.world, pages.account("ann")
    world.say(store, "s1", "Plums?")
    for session, day in (("s1", "2026-01-02"), ("gone", "2026-02-03")):
        world.sql(
            "insert into memory.tombstone (user_id, agent_id, session_id, forgotten_at)"
            " values ('ann', 'orbitpilot', %s, %s)",
            session,
            day,
        )

    told = shown(pages.person("ann"))

    assert "February 3, 2026 gone January 2, 2026 Without a title" in told


def test_nobody_sees_another_persons_memory(pages: Pages) -> None:
    store = pages.account("ann")
    hushed, _ = pages.world.say(store, "s1", "My secret.", "> Hush.")
    pages.world.remember(store, "s1", hushed, remembered=False)

    assert "My secret." not in shown(pages.person("bob"))
    assert "My secret." in shown(pages.person("ann"))


def test_it_offers_nothing_that_forgets_or_purges(pages: Pages) -> None:
    page = pages.person("ann").get(STATUS).text

    main = page[page.index("<main") : page.index("</main>")]
    assert set(re.findall(r'action="([^"]+)"', main)) <= {"/orbitpilot/message/remember/", "/blinks/remember/"}


def test_a_message_off_the_branch_keeps_its_eye_and_no_link_leads_where_it_is_not_shown(pages: Pages) -> None:
    world, store = pages.world, pages.account("ann")
    hushed, _ = world.say(store, "s1", "My secret.", "> Hush.")
    world.remember(store, "s1", hushed, remembered=False)
    world.sql("update orbitpilot.message set is_active = false where message_id = %s", hushed)

    page = pages.person("ann").get(STATUS).text

    assert f"#m-{pages.handle(hushed)}" not in page
    assert "To the message" not in page
    assert "Off the conversation's current branch" in words(page)
    assert f'data-eye="{pages.handle(hushed)}"' in page


def test_lists_show_how_things_begin_without_what_they_recalled(pages: Pages) -> None:
    world, store = pages.world, pages.account("ann")
    hushed, _ = world.say(store, "s1", f"{wrap('You grow plums. ' * 30)}\nAre they ripe?", "> Hush.")
    world.remember(store, "s1", hushed, remembered=False)
    world.record(store, "blink.blinks", "b1", f"Ripe.\n{wrap('You grow plums.')}")
    world.exclude(store, "blink.blinks", "b1", excluded=True)
    ann = pages.person("ann")

    for page, own in ((STATUS, "Are they ripe?"), ("/orbitpilot/sessions/", "Are they ripe?"), ("/blinks/", "Ripe.")):
        told = words(ann.get(page).text)
        assert own in told
        assert "recalled-memory" not in told
    assert "You grow plums." not in shown(ann)
    assert "Recalled from memory: You grow plums." in words(ann.get("/blinks/").text)


def test_an_account_that_came_after_the_last_build_has_none(pages: Pages) -> None:
    pages.world.say(pages.account("bob"), "s1", "Plums?")
    pages.world.build()
    ann = pages.person("ann")

    assert "Your memory has not been built yet." in shown(ann)
    pages.world.say(pages.account("ann"), "s1", "Pears?")
    pages.world.build()
    assert "quick update" in shown(ann)


def test_memory_status_is_read_at_one_moment(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    world, store = pages.world, pages.account("ann")
    world.say(store, "s1", "Plums?", "> Ripe.")
    ann = pages.person("ann")

    def after_its_first_statement(connection: psycopg.Connection[TupleRow], user_id: str) -> MemoryStatus:
        connection.execute("select 1")
        world.build()
        return memory_status(connection, user_id)

    monkeypatch.setattr(status_pages, "memory_status", after_its_first_statement)

    told = shown(ann)
    assert "Your memory has not been built yet." in told
    assert "adds 1 record" in told
