"""Memory Status, the eye's wordings and the administrators' matrix in a real browser, over the sample's household."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.roles import grant_roles
from orbit_pipelines.sample.loading import load_sample
from orbit_pipelines.settings import Settings
from orbit_pipelines.telling.memory_status import memory_status
from orbit_pipelines.web.application import create_app
from orbit_pipelines.web.passwords import set_password
from tests.web.browsing import CHROMIUM, FLAGS, TIMEOUT, Visitors, needs_browser, serving
from tests.web.conftest import PASSWORD, Listener
from tests.worlds import World

pytestmark = needs_browser


@pytest.fixture(scope="session")
def built_household(new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The sample's people, built; Mara administers. To be copied."""
    url = new_database()
    settings = Settings(home=tmp_path_factory.mktemp("household"), database_url=url, embedder="fake")
    world = World(url, settings, connect(url, autocommit=True))
    load_sample(world.connection, load_hash_key(settings))
    for user in ("mara", "noor", "sam", "camille"):
        set_password(world.connection, user, PASSWORD)
    world.sql("update orbitpilot.account set is_admin = true where user_id = 'mara'")
    world.build()
    world.close()
    return settings


@pytest.fixture
def household(server: EmbeddedServer, built_household: Settings) -> Iterator[World]:
    """A copy of the household for one test."""
    names = {
        "copy": sql.Identifier("household"),
        "original": sql.Identifier(str(conninfo_to_dict(str(built_household.database_url))["dbname"])),
    }
    with connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {copy} template {original}").format(**names))
        url = server.url("household")
        with connect(url) as owner:
            assert grant_roles(owner) == ()
        world = World(url, built_household.model_copy(update={"database_url": url}), connect(url, autocommit=True))
        yield world
        world.close()
        connection.execute(sql.SQL("drop database {copy} with (force)").format(**names))


@pytest.fixture
def visitors(household: World) -> Iterator[Visitors]:
    """The household's browsers."""
    expect.set_options(timeout=TIMEOUT)
    app = create_app(household.settings, household.url, responder=Listener(), embedder=household.embedder)
    with serving(app) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        visitors = Visitors(address, browser)
        yield visitors
        browser.close()
        assert visitors.outside == []


def source_row(page: Page, name: str) -> str:
    """Return what a row of Memory Status says, as a screen reader finds it."""
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True))
    return " ".join(row.inner_text().split())


@pytest.mark.parametrize("scripts", [True, False])
def test_the_eye_goes_through_its_four_wordings(scripts: bool, household: World, visitors: Visitors) -> None:
    [(handle, session)] = household.sql(
        "select handle::text, session_id from orbitpilot.message where user_id = 'mara' and role = 'user'"
        " and is_active and not not_remembered and content <> '' order by sent_at desc limit 1"
    )
    page = visitors.person("mara", java_script_enabled=scripts)
    page.goto(f"/orbitpilot/session/?agent=orbitpilot&session={session}")
    turn = page.locator(f"main #m-{handle}")
    eye = turn.get_by_role("button", name="Do not remember this message")
    label = turn.locator(".orbit-label")

    expect(label).to_have_text("Remembered")
    expect(eye).to_have_attribute("aria-pressed", "false")
    eye.click()
    expect(label).to_have_text("Not remembered, from the next build on")
    expect(eye).to_have_attribute("aria-pressed", "true")
    household.build()
    page.reload()
    expect(label).to_have_text("Not remembered, already out of memory")
    eye.click()
    expect(label).to_have_text("Remembered, from the next build on")
    household.build()
    page.reload()
    expect(label).to_have_text("Remembered")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_message_is_remembered_again_from_memory_status(scripts: bool, household: World, visitors: Visitors) -> None:
    page = visitors.person("sam", java_script_enabled=scripts)
    page.goto("/memory/")
    eye = page.get_by_role("button", name="Do not remember this message")
    expect(eye).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="To the message").click()
    expect(page.locator("li:target .orbit-label")).to_contain_text("Not remembered")
    page.go_back()

    eye.click()

    if scripts:
        expect(eye).to_have_attribute("aria-pressed", "false")
        page.reload()
    expect(page.get_by_text("You have marked no message.")).to_be_visible()
    assert household.sql("select 1 from orbitpilot.message where user_id = 'sam' and not_remembered") == []


def test_a_cap_that_crowds_chat_history_out_is_told_by_the_page_and_not_by_the_notice(visitors: Visitors) -> None:
    page = visitors.person("noor")
    notice = page.locator("main .orbit-notice")
    expect(notice).to_have_text("Conversations are remembered so I can help you better")

    notice.get_by_role("link").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Memory status")
    expect(page.get_by_text("Conversations are not remembered.")).to_contain_text(
        "Chat history: left out by your plan's limit of 3 sources"
    )
    told = source_row(page, "Chat history")
    assert "left out by your plan's limit of 3 sources nothing nothing" in told


def test_a_plan_without_chat_history_is_told_alike_by_notice_and_page(visitors: Visitors) -> None:
    page = visitors.person("sam")
    said = "Conversations are not remembered. Chat history: not in your plan"
    expect(page.locator("main .orbit-notice")).to_have_text(said)
    page.goto("/memory/")
    expect(page.locator("main .alert")).to_have_text(said)


@pytest.mark.parametrize("scripts", [True, False])
def test_an_administrator_sees_the_effect_before_saving(scripts: bool, household: World, visitors: Visitors) -> None:
    page = visitors.person("mara", java_script_enabled=scripts)
    page.get_by_role("link", name="Sources by plan").click()
    expect(page.locator(".alert-warning")).to_contain_text("Essential: Chat history is assigned, but")

    page.get_by_label("Cap of Essential").fill("4")
    page.get_by_label("In-RAG switch of Documents").uncheck()
    page.get_by_role("button", name="Show what this does").click()

    effect = page.locator("[data-effect='essential orbitpilot.chat_history']")
    expect(effect.locator("[data-gaining]")).to_have_text("1 person")
    expect(page.locator("[data-effect$='files.documents'] [data-losing='1']")).to_have_count(4)
    expect(page.locator(".alert-warning")).to_have_count(0)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    foretold = {source.source_key: source for source in memory_status(household.connection, "noor").sources}
    household.build()
    noor = visitors.person("noor", java_script_enabled=scripts)
    noor.goto("/memory/")
    assert f"{foretold['orbitpilot.chat_history'].additions} records" in source_row(noor, "Chat history")
    assert "switched off by the administrator nothing" in source_row(noor, "Documents")


def test_it_is_french_for_camille_and_fits_a_small_dark_screen(visitors: Visitors) -> None:
    page = visitors.person("camille", viewport={"width": 360, "height": 740}, color_scheme="dark")
    page.goto("/memory/")

    expect(page.get_by_role("heading", level=1)).to_have_text("État de mémoire")
    expect(page.get_by_role("columnheader", name="Gardé dehors, et pourquoi")).to_be_attached()
    assert "source incluse" in source_row(page, "Historique de chat")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(33, 37, 41)"


def test_the_matrix_fits_a_small_screen_too(visitors: Visitors) -> None:
    page = visitors.person("mara", viewport={"width": 360, "height": 740})
    page.goto("/admin/sources/")

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_label("Cap of Essential").focus()
    expect(page.get_by_label("Cap of Essential")).to_be_in_viewport()


def test_everything_on_the_page_can_be_reached_and_turned_by_keyboard(household: World, visitors: Visitors) -> None:
    page = visitors.person("sam")
    page.goto("/memory/")
    eye = page.get_by_role("button", name="Do not remember this message")
    for _ in range(40):
        page.keyboard.press("Tab")
        if eye.evaluate("each => each === document.activeElement"):
            break
    page.keyboard.press("Enter")

    expect(eye).to_have_attribute("aria-pressed", "false")
    assert household.sql("select 1 from orbitpilot.message where user_id = 'sam' and not_remembered") == []
