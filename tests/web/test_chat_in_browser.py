"""The chat in a real browser: with scripts and without, by keyboard, on a small screen, in the dark."""

import re
from collections.abc import Iterator
from threading import Event
from typing import Literal

import pytest
from playwright.sync_api import ConsoleMessage, Page, expect, sync_playwright

from orbit_pipelines.forgetting.selection import ForgetRequest, Selectors
from orbit_pipelines.forgetting.service import forget
from orbit_pipelines.history.recalled import wrap
from orbit_pipelines.model import Store
from orbit_pipelines.sources.blinks import catch_reply
from orbit_pipelines.web.responders.offline import OfflineResponder
from orbit_pipelines.web.responders.protocol import Question
from tests.web.browsing import CHROMIUM, FLAGS, TIMEOUT, Visitors, needs_browser, serving
from tests.web.conftest import Pages
from tests.web.contrast import faint_texts
from tests.web.everything import everything

pytestmark = needs_browser

EYE = "Do not remember this message"
PENDING = "Remembered, from the next build on"


@pytest.fixture
def visitors(pages: Pages) -> Iterator[Visitors]:
    """People with browsers of their own; Ann and Bob have accounts."""
    expect.set_options(timeout=TIMEOUT)
    for user in ("ann", "bob"):
        pages.account(user)
    with serving(pages.app) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        visitors = Visitors(address, browser)
        yield visitors
        browser.close()
        assert visitors.outside == []


def complaints(page: Page) -> list[str]:
    """Collect what the browser complains of: errors of scripts, and what the content security policy stopped."""
    heard: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            heard.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: heard.append(str(error)))
    return heard


def say(page: Page, text: str, *, within: str = "main") -> None:
    """Say something in a composer."""
    page.locator(f"{within} textarea").fill(text)
    page.locator(within).get_by_role("button", name="Send").click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_on_every_page_in_both_schemes(
    pages: Pages, visitors: Visitors, scheme: Literal["light", "dark"]
) -> None:
    world, ann = pages.world, Store("ann")
    hushed, reply, *_ = world.say(ann, "s1", "Plums?", f"> Ripe.\n{wrap('You grow plums.')}", "Pears?", "> Not yet.")
    world.say(ann, "s2", "Figs?", "> Soon.")
    world.remember(ann, "s1", hushed, remembered=False)
    catch_reply(world.connection, ann, "s1", reply, pages.handle(reply))
    world.sql("update orbitpilot.account set is_admin = true")
    world.sql("update orbitpilot.plan set included_sources = 3")
    world.build()
    forget(world.connection, world.settings, ForgetRequest(Selectors("ann", sessions=("s2",))))
    world.sql("update orbitpilot.session set channel = 'orbitpilot.web' where session_id = 's2'")
    world.sql("update orbitpilot.plan set included_sources = 1")
    guest = visitors.guest(color_scheme=scheme)
    person = visitors.person("ann", color_scheme=scheme, viewport={"width": 700, "height": 900})
    faint = {}

    for page, paths in (
        (guest, ("/orbitpilot/", "/sign-in/", "/sign-up/", "/nowhere/")),
        (person, ("/orbitpilot/", "/orbitpilot/sessions/", "/orbitpilot/session/?session=s1", "/blinks/")),
        (person, ("/memory/", "/account/", "/account/?saved=true", "/admin/sources/", "/admin/sources/?saved=true")),
    ):
        for path in paths:
            page.goto(path)
            if page.locator("details[data-dock]").count():
                page.locator("details[data-dock] summary").click()
                expect(page.locator("details[data-dock] textarea")).to_be_focused()
            page.locator("[data-problem]").evaluate_all(
                "all => all.forEach((each) => { each.hidden = false; each.append('No.'); })"
            )
            faint[path] = faint_texts(page)
    person.get_by_role("button", name="Show what this does").click()
    expect(person.get_by_role("heading", name="What the next build will do if you save")).to_be_visible()
    faint["/admin/sources/preview/"] = faint_texts(person)

    assert {path: texts for path, texts in faint.items() if texts} == {}


def test_all_that_stands_on_a_page_once_there_are_messages_stands_there_after_the_first(
    pages: Pages, visitors: Visitors
) -> None:
    page = visitors.person("ann")
    expect(page.get_by_role("button", name="Close this conversation")).to_be_hidden()
    shown = (
        "[...document.querySelectorAll('main *')].filter((each) => each.checkVisibility())"
        ".map((each) => [each.tagName, each.id, each.className, each.getAttribute('href'), each.dataset.state].join())"
    )

    say(page, "Plums?")
    expect(page.locator("main .orbit-label")).to_have_count(1)
    expect(page.locator("main [data-coming]")).to_have_count(0)
    without_reloading = page.evaluate(shown)
    page.reload()
    assert page.evaluate(shown) == without_reloading
    expect(page.get_by_text("Say something to begin a conversation.")).to_be_hidden()
    page.get_by_role("button", name="Close this conversation").click()
    expect(page.locator("main")).to_contain_text("closed on")


@pytest.mark.parametrize("place", ["main", "details[data-dock]"])
def test_the_keyboard_stays_at_every_control_of_a_thread_that_is_pressed(
    pages: Pages, visitors: Visitors, place: str
) -> None:
    pages.world.say(Store("ann"), "s1", "Plums?", "> Ripe.", "Pears?", "> Not yet.")
    pages.world.sql("update orbitpilot.session set channel = 'orbitpilot.web'")
    page = visitors.person("ann")
    if place != "main":
        page.goto("/blinks/")
        page.locator(f"{place} summary").click()
    controls = page.locator(f"{place} .orbit-cluster button")
    expect(controls).to_have_count(4)
    focused = "[document.activeElement.id, document.activeElement.closest('li')?.id]"

    for control, turn in controls.evaluate_all("all => all.map((each) => [each.id, each.closest('li').id])"):
        page.locator(f"#{control}").focus()
        with page.expect_response("**/orbitpilot/thread/*"):
            page.keyboard.press("Enter")
        expect(page.locator(f"#{control}")).to_be_focused()
        assert page.evaluate(focused) == [control, turn]
    expect(page.locator(place).get_by_role("link", name="Caught as a blink")).to_have_count(2)


def test_the_docked_window_fits_a_low_screen_and_closes_by_escape(pages: Pages, visitors: Visitors) -> None:
    pages.world.say(Store("ann"), "s1", *["Plums?", "> Ripe."] * 6)
    pages.world.sql("update orbitpilot.session set channel = 'orbitpilot.web'")
    page = visitors.person("ann", viewport={"width": 640, "height": 360})
    page.goto("/blinks/")
    dock = page.locator("details[data-dock]")
    dock.locator("summary").click()
    expect(dock.locator(".orbit-label")).to_have_count(6)

    box = dock.bounding_box()
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 360
    for inside in (dock.locator("summary"), dock.locator(".orbit-notice a"), dock.locator("textarea")):
        inside.scroll_into_view_if_needed()
        expect(inside).to_be_in_viewport(ratio=1)
    dock.locator("textarea").focus()
    page.keyboard.press("Escape")
    expect(dock.locator("textarea")).to_be_hidden()
    expect(dock.locator("summary")).to_be_focused()


def test_a_reply_is_streamed_and_the_eye_and_catch_work_by_keyboard(pages: Pages, visitors: Visitors) -> None:
    page = visitors.person("ann")
    heard = complaints(page)
    pages.listener.answers = ["Plums ", "are <b>ripe</b>."]

    page.locator("main textarea").fill("Plums?")
    page.keyboard.press("Control+Enter")

    expect(page.locator("main .orbit-label")).to_have_text(PENDING)
    expect(page.locator("main .orbit-turn-assistant .orbit-text")).to_have_text("Plums are <b>ripe</b>.")
    expect(page.locator("main textarea")).to_be_focused()
    eye = page.get_by_role("button", name=EYE)
    expect(eye).to_have_attribute("aria-pressed", "false")
    expect(eye.locator("use")).to_have_attribute("href", re.compile("#eye$"))
    eye.focus()
    page.keyboard.press("Enter")
    expect(eye).to_have_attribute("aria-pressed", "true")
    expect(page.locator("main .orbit-label")).to_have_text("Not remembered, already out of memory")
    expect(page.locator("main .orbit-label .badge")).to_have_text("Not remembered")
    expect(page.get_by_role("status")).to_have_text("Not remembered, already out of memory")
    expect(eye).to_be_focused()
    assert page.evaluate("getComputedStyle(document.querySelector('main .bi-eye-slash')).fill") != "none"
    page.locator("main").get_by_role("button", name="Catch").click()
    expect(page.locator("main")).to_contain_text("The blink is kept out of memory")
    page.get_by_role("link", name="Caught as a blink").click()
    expect(page.locator("main .orbit-text")).to_have_text("Plums are <b>ripe</b>.")
    expect(page.get_by_role("button", name="Keep this out of memory")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Keep this out of memory").click()
    expect(page.locator("main .orbit-label")).to_have_text(PENDING)
    assert heard == []


def test_dates_are_in_the_browsers_zone_until_the_account_has_one(pages: Pages, visitors: Visitors) -> None:
    pages.world.say(Store("ann"), "s1", "Plums?")
    pages.world.sql("update orbitpilot.message set sent_at = '2026-03-01 23:30:00+00'")
    page = visitors.person("ann", timezone_id="Asia/Tokyo", locale="en-GB")
    assert pages.world.sql("select time_zone from orbitpilot.account where user_id = 'ann'") == [("Asia/Tokyo",)]
    pages.world.sql("update orbitpilot.account set time_zone = null")

    page.goto("/orbitpilot/session/?session=s1")

    expect(page.locator("main .orbit-turn time")).to_contain_text("Mar 2, 2026, 8:30:00")


def test_the_docked_window_goes_on_with_the_running_session(pages: Pages, visitors: Visitors) -> None:
    page = visitors.person("ann")
    heard = complaints(page)
    say(page, "Plums?")
    expect(page.locator("main .orbit-label")).to_have_count(1)
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))

    page.goto("/blinks/")
    dock = page.locator("details[data-dock]")
    expect(dock.locator("textarea")).to_be_hidden()
    assert not any("/orbitpilot/thread/" in url for url in requested)
    dock.locator("summary").click()
    expect(dock.locator(".orbit-label")).to_have_count(1)
    expect(dock.locator(".orbit-notice")).to_have_text("Conversations are remembered so I can help you better")
    say(page, "And pears?", within="details[data-dock]")
    expect(dock.locator(".orbit-label")).to_have_count(2)
    dock.get_by_role("button", name=EYE).last.click()
    expect(dock.locator(".orbit-label").last).to_have_text("Not remembered, already out of memory")
    expect(dock.locator(".orbit-label").first).to_have_text(PENDING)

    assert page.url.endswith("/blinks/")
    assert [turn.text for turn in pages.listener.questions[-1].thread] == ["Plums?", "Indeed.", "And pears?"]
    assert heard == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_guest_chats_and_leaves_nothing(pages: Pages, visitors: Visitors, scripts: bool) -> None:
    before = everything(pages.world)
    page = visitors.guest(java_script_enabled=scripts)
    heard = complaints(page)

    page.goto("/")
    for number, text in enumerate(("Plums?", "And pears?"), start=1):
        say(page, text)
        expect(page.locator("main .orbit-turn-assistant")).to_have_count(number)
        expect(page.locator("main").get_by_role("button", name="Send")).to_be_enabled()

    assert [turn.text for turn in pages.listener.questions[-1].thread] == ["Plums?", "Indeed.", "And pears?"]
    assert everything(pages.world) == before
    expect(page.get_by_role("button", name=EYE)).to_have_count(0)
    expect(page.locator("main .orbit-notice")).to_contain_text("Create a free account")
    page.reload()
    assert heard == []


def test_everything_works_without_scripts(pages: Pages, visitors: Visitors) -> None:
    page = visitors.person("ann", java_script_enabled=False)

    say(page, "Plums?")
    expect(page.locator("main .orbit-label")).to_have_text(PENDING)
    page.get_by_role("button", name=EYE).click()
    expect(page.locator("main .orbit-label")).to_have_text("Not remembered, already out of memory")
    page.get_by_role("button", name=EYE).click()
    expect(page.locator("main .orbit-label")).to_have_text(PENDING)
    page.locator("main").get_by_role("button", name="Catch").click()
    expect(page.get_by_role("link", name="Caught as a blink")).to_be_visible()
    page.get_by_role("button", name="Close this conversation").click()
    expect(page.locator("main")).to_contain_text("closed on")
    page.get_by_role("button", name=EYE).click()
    expect(page.locator("main .orbit-label")).to_contain_text("Not remembered")
    assert "/orbitpilot/session/" in page.url
    page.locator("details[data-dock] summary").click()
    say(page, "Pears?", within="details[data-dock]")
    expect(page.locator("main .orbit-label")).to_have_text(PENDING)
    assert page.url.endswith("/orbitpilot/#latest")
    page.get_by_role("button", name="Français").click()
    expect(page.locator("main .orbit-notice")).to_have_text(
        "Les conversations sont mémorisées pour que je puisse vous aider mieux"
    )
    expect(page.get_by_role("button", name="Ne pas mémoriser ce message")).to_have_count(1)


def test_a_second_person_gets_nowhere_with_the_firsts_ids(pages: Pages, visitors: Visitors) -> None:
    message, _ = pages.world.say(Store("ann"), "s1", "Plums?", "> Ripe.")
    handle = pages.handle(message)
    page = visitors.person("bob")
    say(page, "Mine.")
    eye = page.locator("main").get_by_role("button", name=EYE)
    expect(eye).to_have_count(1)

    page.locator("main [data-eye] input[name=message_id]").evaluate("(field, id) => { field.value = id; }", handle)
    eye.click()

    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    answer = page.goto("/orbitpilot/session/?session=s1")
    assert answer is not None
    assert answer.status == 404
    assert pages.world.sql("select count(*) from orbitpilot.message where not_remembered") == [(0,)]


@pytest.mark.parametrize("scripts", [True, False])
def test_it_is_readable_on_a_small_screen_and_in_the_dark(pages: Pages, visitors: Visitors, scripts: bool) -> None:
    pages.world.say(Store("ann"), "s1", "Plums?" * 60, "> " + "Ripe" * 200)
    pages.world.sql("update orbitpilot.account set is_admin = true")
    page = visitors.person(
        "ann", java_script_enabled=scripts, viewport={"width": 360, "height": 640}, color_scheme="dark"
    )
    say(page, "Plum" * 100)

    for path in (
        *("/orbitpilot/", "/orbitpilot/sessions/", "/orbitpilot/session/?session=s1", "/blinks/", "/account/"),
        *("/memory/", "/admin/sources/"),
    ):
        page.goto(path)
        page.locator("details[data-dock] summary").click() if page.locator("details[data-dock]").count() else None
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        background, ink = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        assert max(map(int, background.strip("rgb()").split(","))) < 60, path
        assert min(map(int, ink.strip("rgb()").split(","))) > 180, path


@pytest.mark.parametrize("place", ["/orbitpilot/session/?session=s1", "/memory/"])
def test_copies_of_a_message_keep_in_step_and_have_ids_of_their_own(
    place: str, pages: Pages, visitors: Visitors
) -> None:
    pages.world.say(Store("ann"), "s1", "Plums?", "> Ripe.")
    pages.world.sql("update orbitpilot.session set channel = 'orbitpilot.web'")
    page = visitors.person("ann")
    heard = complaints(page)
    page.goto(place)
    main, dock = page.locator("main"), page.locator("details[data-dock]")
    dock.locator("summary").click()

    # On Memory Status the message is listed from the first tap on.
    for tapped, is_closed in ((dock, "true"), (main, "false"), (main, "true"), (dock, "false"), (dock, "true")):
        if place == "/memory/" and is_closed == "false" and tapped is dock:
            break
        tapped.get_by_role("button", name=EYE).click()
        for container in (main, dock):
            eye = container.get_by_role("button", name=EYE)
            expect(eye).to_have_attribute("aria-pressed", is_closed)
            label = container.locator(f"#{eye.get_attribute('aria-describedby')}")
            expect(label).to_have_text("Not remembered, already out of memory" if is_closed == "true" else PENDING)

    ids = page.locator("[id]").evaluate_all("all => all.map(each => each.id)")
    assert len(ids) == len(set(ids))
    assert heard == []


def test_memory_status_says_the_same_in_its_counts_and_its_labels_after_a_tap(pages: Pages, visitors: Visitors) -> None:
    hushed, _ = pages.world.say(Store("ann"), "s1", "Plums?", "> Ripe.")
    pages.world.remember(Store("ann"), "s1", hushed, remembered=False)
    pages.world.build()
    page = visitors.person("ann")
    page.goto("/memory/")
    waiting = page.locator("[data-next-build]")
    expect(waiting).to_have_text("Nothing of yours waits for it.")

    page.get_by_role("button", name=EYE).click()

    expect(page.locator("main .orbit-label")).to_have_text(PENDING)
    expect(waiting).to_contain_text("adds 1 record")
    expect(page.locator("[data-source='orbitpilot.chat_history']")).to_contain_text("adds 1 record")
    page.get_by_role("button", name=EYE).click()
    expect(waiting).to_have_text("Nothing of yours waits for it.")


def test_recalled_memory_is_told_by_a_word_while_a_reply_streams_and_after(pages: Pages, visitors: Visitors) -> None:
    page = visitors.guest()
    page.goto("/orbitpilot/")
    block = "[[orbit:recalled-memory begin]]\nYou grow plums.\n[[orbit:recalled-memory end]]"
    pages.listener.answers = [
        "Yes. [[orbit:recal",
        "led-memory begin]]\nThey are",
        " ripe.\n[[orbit:recalled-memory end]]\nSo.",
    ]

    say(page, f"{block}\nAre they?")

    expect(page.locator("main .orbit-turn-assistant blockquote")).to_have_text("Recalled from memory:They are ripe.")
    expect(page.locator("main .orbit-turn-assistant > .card .orbit-text")).to_have_text(
        ["Yes.", "They are ripe.", "So."]
    )
    mine = page.locator("main .orbit-turn-user")
    expect(mine.locator("blockquote")).to_have_text("Recalled from memory:You grow plums.")
    expect(page.locator("main [data-guest-turns]")).not_to_contain_text("[[orbit")


def test_a_quotation_of_the_thread_is_told_as_such_while_it_streams_and_after(pages: Pages, visitors: Visitors) -> None:
    object.__setattr__(pages.app.state.site, "responder", OfflineResponder())
    object.__setattr__(pages.app.state.site, "guest_responder", OfflineResponder())
    expected = [
        "I am no language model: I only quote what I find.\n\nYour memory has nothing for this question.",
        "– Ripe plums?",
    ]
    for page in (visitors.guest(), visitors.person("ann")):
        page.goto("/orbitpilot/")
        say(page, "Ripe plums?")
        expect(page.locator("main").get_by_role("button", name="Send")).to_be_enabled()
        say(page, "And plums?")
        reply = page.locator("main .orbit-turn-assistant").last
        expect(reply.locator("blockquote")).to_have_text("You said earlier in this conversation:– Ripe plums?")
        expect(reply.locator(".orbit-text")).to_have_text(expected)
    page.reload()
    expect(page.locator("main .orbit-turn-assistant").last.locator(".orbit-text")).to_have_text(expected)


def test_an_eye_is_large_enough_to_be_tapped(pages: Pages, visitors: Visitors) -> None:
    pages.world.say(Store("ann"), "s1", "Plums?", "> Ripe.")
    page = visitors.person("ann")
    page.goto("/orbitpilot/session/?session=s1")

    for name in (EYE, "Catch"):
        box = page.locator("main").get_by_role("button", name=name).bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 24
    assert page.locator("main .orbit-text").first.get_attribute("dir") == "auto"


def test_an_eye_that_is_turned_while_a_reply_comes_leaves_the_reply_in_view(pages: Pages, visitors: Visitors) -> None:
    goes_on = Event()

    class Slow:
        def reply(self, question: Question) -> Iterator[str]:
            yield "Half "
            goes_on.wait(60)
            yield "a reply."

    page = visitors.person("ann")
    say(page, "Plums?")
    expect(page.locator("main .orbit-label")).to_have_count(1)
    object.__setattr__(pages.app.state.site, "responder", Slow())
    say(page, "Pears?")
    expect(page.locator("main .orbit-text").last).to_have_text("Half")

    page.locator("main").get_by_role("button", name=EYE).first.click()
    expect(page.locator("main .orbit-label")).to_have_count(2)
    expect(page.locator("main .orbit-text").last).to_have_text("Half")
    goes_on.set()

    expect(page.locator("main .orbit-text").last).to_have_text("Half a reply.")
    expect(page.locator("main .orbit-turn")).to_have_count(4)
