"""The Dagster UI in a real browser: the graph, a build by a click, its checks and its metadata."""

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from orbit_pipelines.building.run import BuildRequest, BuildRun, build
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.migrating import migrate
from orbit_pipelines.database.server import database_url
from orbit_pipelines.embedders.registry import create_embedder
from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.history.flags import set_remembered
from orbit_pipelines.history.messages import append_message
from orbit_pipelines.model import Store
from orbit_pipelines.services.up import down
from orbit_pipelines.settings import PROJECT_ROOT, Settings

ANN = Store("ann")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# A build in the UI starts a process that imports everything, on machines that may be busy.
MINUTES = 60_000
UP = """
import sys
from pathlib import Path
from orbit_pipelines.services.dagster import dagster_services
from orbit_pipelines.services.up import up
from orbit_pipelines.settings import Settings

up(Settings(home=Path(sys.argv[1]), embedder="fake"), dagster_services(int(sys.argv[2])),
   lambda service: print(service.title, flush=True))
"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: the Dagster UI was not tried"),
]


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a running UI over an installation where somebody has said something."""
    # A short path: it holds the database's socket.
    home = Path(tempfile.mkdtemp(prefix="orbit-ui-"))
    settings = Settings(home=home, database_url=None, embedder="fake")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    try:
        populate(settings)
        command = [sys.executable, "-c", UP, str(home), str(port)]
        with subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert {process.stdout.readline(), process.stdout.readline()} == {"Dagster UI\n", "Dagster daemon\n"}
            yield f"http://127.0.0.1:{port}"
            process.send_signal(signal.SIGTERM)
    finally:
        down(settings)
        shutil.rmtree(home, ignore_errors=True)


def populate(settings: Settings) -> None:
    """Have two pairs remembered, and one of them excluded since: a change that no sensor takes up by itself."""
    migrate(database_url(settings))
    with connect(database_url(settings), autocommit=True) as connection:
        create_account(connection, "ann")
        for question in ("What rhymes with orange?", "And with month?"):
            asked = append_message(connection, ANN, "s1", "user", question)
            append_message(connection, ANN, "s1", "assistant", "Nothing does.")
        build(BuildRun(connection, settings, BuildRequest(), create_embedder(settings), run_id="first"))
        set_remembered(connection, ANN, "s1", asked.message_id, remembered=False)


@pytest.fixture
def page() -> Iterator[Page]:
    """A page of a headless browser, with nothing in its profile."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_timeout(2 * MINUTES)
        yield page
        browser.close()


def test_a_build_by_a_click_shows_its_checks_and_what_it_did(url: str, page: Page) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    expect.set_options(timeout=2 * MINUTES)

    page.goto(f"{url}/locations/orbit_pipelines.definitions/asset-groups/memory/lineage")
    for asset in ("extraction", "pairing", "chunking", "embedding", "diff_apply"):
        expect(page.get_by_text(asset, exact=True).first).to_be_visible()

    page.goto(f"{url}/asset-groups")
    page.get_by_role("button", name="Materialize all").click()
    run = page.locator("a[href^='/runs/']").first.get_attribute("href")
    page.goto(f"{url}{run}")
    expect(page.get_by_text("Success", exact=True).first).to_be_visible(timeout=5 * MINUTES)

    page.goto(f"{url}/assets/diff_apply?view=overview")
    expect(page.get_by_text("Memory itself", exact=False).first).to_be_visible()
    expect(page.get_by_text("not_remembered", exact=True).first).to_be_visible()
    page.get_by_text("[Show Markdown]").click()
    expect(page.locator("img[src^='data:image/png']").first).to_be_visible()

    page.goto(f"{url}/assets/chunking?view=checks")
    expect(page.get_by_text("no_excluded_pair_is_staged").first).to_be_visible()
    expect(page.get_by_text("Passed").first).to_be_visible()

    page.goto(f"{url}/locations/orbit_pipelines.definitions/jobs/quick_update/playground")
    for option in ("mode: incremental", "re_embed: false", "users: []"):
        expect(page.get_by_text(option).first).to_be_visible()

    page.goto(f"{url}/automation")
    for automation in ("memory_changes", "hourly_quick_update", "nightly_audit"):
        expect(page.get_by_text(automation).first).to_be_visible()
    assert [address for address in requests if not address.startswith((url, "data:", "blob:"))] == []
