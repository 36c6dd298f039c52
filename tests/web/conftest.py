"""The pages of a world, looked at by people: each a client with its own cookies, over the application's own role."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Any

import pytest
from fastapi import FastAPI
from httpx2 import Response
from starlette.testclient import TestClient

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.roles import grant_roles
from orbit_pipelines.model import Store
from orbit_pipelines.settings import Settings
from orbit_pipelines.web.application import create_app
from orbit_pipelines.web.passwords import set_password
from orbit_pipelines.web.responders.protocol import Question
from tests.worlds import World

PASSWORD = "a long password"
_TOKEN = re.compile(r'data-csrf="([^"]+)"')


@dataclass
class Listener:
    """A responder that keeps what it was given, and answers with what a test wants."""

    answers: list[str] = field(default_factory=lambda: ["Indeed."])
    questions: list[Question] = field(default_factory=list)
    failure: Exception | None = None

    def reply(self, question: Question) -> Iterator[str]:
        """Yield the answers, and fail after them if a test wants that."""
        self.questions.append(question)
        yield from self.answers
        if self.failure is not None:
            raise self.failure


@dataclass
class Browser:
    """Somebody who looks at the pages."""

    client: TestClient

    def get(self, page: str, **options: Any) -> Response:
        """Open a page."""
        return self.client.get(page, **options)

    def token(self) -> str:
        """Return the token of this browser's forms."""
        found = _TOKEN.search(self.get("/sign-in/").text) or _TOKEN.search(self.get("/orbitpilot/").text)
        assert found is not None
        return unescape(found[1])

    def post(self, page: str, data: dict[str, Any] | None = None, **options: Any) -> Response:
        """Send a form, with the token that the page's own would carry; redirects aren't followed."""
        options.setdefault("follow_redirects", False)
        return self.client.post(page, data={"csrf_token": self.token(), **(data or {})}, **options)

    def say(self, text: str) -> Response:
        """Say something in the chat, and go where that leads."""
        return self.post("/orbitpilot/say/", {"text": text}, follow_redirects=True)

    def sign_in(self, user: str, password: str = PASSWORD) -> Response:
        """Sign in."""
        return self.post("/sign-in/", {"user": user, "password": password})


@dataclass
class Pages:
    """The pages of one world."""

    world: World
    app: FastAPI
    listener: Listener
    opened: list[TestClient] = field(default_factory=list)

    def guest(self, **options: Any) -> Browser:
        """Open a browser with no cookies."""
        self.opened.append(TestClient(self.app, **options))
        return Browser(self.opened[-1])

    def person(self, user: str) -> Browser:
        """Open a browser in which somebody is signed in; their account and password are made if need be."""
        self.account(user)
        browser = self.guest()
        assert browser.sign_in(user).status_code == 303
        return browser

    def account(self, user: str) -> Store:
        """Make an account with a password."""
        store = self.world.account(user)
        if not self.world.sql("select 1 from orbitpilot.credential where user_id = %s", user):
            set_password(self.world.connection, user, PASSWORD)
        return store

    def handle(self, message_id: str) -> str:
        """Return the handle of a message, which the pages call its id."""
        [(handle,)] = self.world.sql("select handle::text from orbitpilot.message where message_id = %s", message_id)
        return str(handle)

    def close(self) -> None:
        """Close what was opened."""
        for client in self.opened:
            client.close()
        self.app.state.site.database.close()


@pytest.fixture
def new_pages(world: World) -> Iterator[Callable[..., Pages]]:
    """Make the world's pages, with settings of the test's own."""
    made: list[Pages] = []
    with connect(world.url) as connection:
        assert grant_roles(connection) == ()

    def create(**settings: Any) -> Pages:
        listener = Listener()
        with_these: Settings = world.settings.model_copy(update=settings)
        app = create_app(with_these, world.url, responder=listener, embedder=world.embedder)
        made.append(Pages(world, app, listener))
        return made[-1]

    yield create
    for pages in made:
        pages.close()


@pytest.fixture
def pages(new_pages: Callable[..., Pages]) -> Pages:
    """The world's pages."""
    return new_pages()
