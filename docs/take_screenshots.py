"""Take the README's screenshots: the sample's household in an installation of its own, looked at with Chromium.

    .venv/bin/python docs/take_screenshots.py

Needs a Chromium on this machine. Writes docs/images/*.png.
"""

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.building.run import BuildRequest, BuildRun, build
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.migrating import migrate
from orbit_pipelines.database.server import database_url
from orbit_pipelines.embedders.registry import create_embedder
from orbit_pipelines.model import Mode
from orbit_pipelines.sample.loading import load_sample
from orbit_pipelines.services.up import down
from orbit_pipelines.settings import Settings
from orbit_pipelines.web.application import create_app
from orbit_pipelines.web.passwords import set_administrator, set_password

IMAGES = Path(__file__).parent / "images"
PASSWORD = token_urlsafe()
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDE = {"width": 1000, "height": 820}
NARROW = {"width": 360, "height": 820}


def main() -> None:
    """Take them all."""
    # A short path: it holds the database's socket.
    home = Path(tempfile.mkdtemp(prefix="orbit-pictures-"))
    settings = Settings(home=home, database_url=None, web_sign_up=True)
    try:
        with served(settings) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            take_all(browser, address)
            browser.close()
    finally:
        down(settings)
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """Build the sample's memory, and serve its pages."""
    url = database_url(settings)
    migrate(url)
    with connect(url, autocommit=True) as connection:
        load_sample(connection, load_hash_key(settings))
        build(BuildRun(connection, settings, BuildRequest(Mode.FULL), create_embedder(settings), run_id="pictures"))
        for user in ("mara", "noor", "camille"):
            set_password(connection, user, PASSWORD)
        set_administrator(connection, "mara", is_admin=True)
        connection.execute("update orbitpilot.account set time_zone = 'Europe/Paris'")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app(settings, url), log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.05)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def take_all(browser: Browser, address: str) -> None:
    """Look at each page as somebody whom it shows well."""
    mara = person(browser, address, "mara", viewport=WIDE)
    say(mara, "Which carrier does Biscuit like, and when does the vet open?")
    say(mara, "The code of the new bike lock is 4471.")
    mara.locator("main .orbit-turn-user").last.get_by_role("button", name="Do not remember").click()
    mara.locator("main .orbit-turn-user").last.get_by_text("Not remembered").wait_for()
    mara.evaluate("scrollTo(0, 0)")
    picture(mara, "chat")

    mara.goto(f"{address}/memory/")
    picture(mara, "memory-status")

    mara.goto(f"{address}/admin/sources/")
    mara.get_by_label("Cap of Essential").fill("4")
    mara.get_by_label("In-RAG switch of Documents").uncheck()
    mara.get_by_role("button", name="Show what this does").click()
    picture(mara, "sources-by-plan", full_page=True)

    camille = person(browser, address, "camille", viewport=NARROW, color_scheme="dark", locale="fr-FR")
    camille.goto(f"{address}/memory/")
    picture(camille, "memory-status-fr")


def person(browser: Browser, address: str, user: str, **options: Any) -> Page:
    """Open a page of somebody who is signed in."""
    page = browser.new_context(base_url=address, **options).new_page()
    page.goto("/sign-in/")
    page.locator("main input[name=user]").fill(user)
    page.locator("main input[name=password]").fill(PASSWORD)
    page.locator("main form button").first.click()
    page.wait_for_url("**/orbitpilot/")
    return page


def say(page: Page, text: str) -> None:
    """Say something in the chat, and wait for the whole reply."""
    said = page.locator("main .orbit-turn-user").count()
    page.locator("main textarea").fill(text)
    page.locator("main [data-say] button").click()
    page.locator("main .orbit-turn-assistant [data-catch]").nth(said).wait_for()


def picture(page: Page, name: str, *, full_page: bool = False) -> None:
    """Keep a picture of what is in view, or of the whole page."""
    IMAGES.mkdir(exist_ok=True)
    page.screenshot(path=IMAGES / f"{name}.png", full_page=full_page, animations="disabled")


if __name__ == "__main__":
    main()
