"""A real browser over a world's pages: a server in a thread, and people with a context each."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Browser, Page

from tests.web.conftest import PASSWORD

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
TIMEOUT = 60_000
"""Milliseconds; machines may be busy."""

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: the pages were not tried in a browser"),
]


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve an application from a thread, and return its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", proxy_headers=False, ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.02)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@dataclass
class Visitors:
    """People who look at a site with browsers of their own; ``outside`` are requests to anywhere else."""

    address: str
    browser: Browser
    outside: list[str] = field(default_factory=list)

    def guest(self, **options: Any) -> Page:
        """Open a page of somebody without cookies."""
        context = self.browser.new_context(base_url=self.address, **options)
        context.set_default_timeout(TIMEOUT)
        context.on("request", lambda request: self._note(request.url))
        return context.new_page()

    def person(self, user: str, password: str = PASSWORD, **options: Any) -> Page:
        """Open a page of somebody who has signed in by the form."""
        page = self.guest(**options)
        page.goto("/sign-in/")
        page.locator("main input[name=user]").fill(user)
        page.locator("main input[name=password]").fill(password)
        page.locator("main form button").first.click()
        page.wait_for_url("**/orbitpilot/")
        return page

    def _note(self, url: str) -> None:
        if not url.startswith((self.address, "data:", "blob:")):
            self.outside.append(url)
