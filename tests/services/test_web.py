"""The pages as a process: `orbit web`, and the service of it that `orbit up` runs."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import httpx2
import pytest

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.migrating import migrate
from orbit_pipelines.database.roles import grant_roles
from orbit_pipelines.services.service import answers
from orbit_pipelines.services.web import web_service
from orbit_pipelines.settings import PROJECT_ROOT, Settings


@pytest.fixture
def port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def web(settings: Settings, port: int) -> Iterator[subprocess.Popen[str]]:
    """The running pages of this test's installation."""
    with running_pages(settings, port) as process:
        yield process


@contextmanager
def running_pages(settings: Settings, port: int, **more: str) -> Iterator[subprocess.Popen[str]]:
    """Run the pages until the end, with more variables in their environment."""
    migrate(str(settings.database_url))
    with connect(str(settings.database_url)) as connection:
        assert grant_roles(connection) == ()
    service = web_service(port)
    environment = {
        "ORBIT_HOME": str(settings.home),
        "ORBIT_DATABASE_URL": str(settings.database_url),
        "ORBIT_EMBEDDER": "fake",
    }
    with subprocess.Popen(
        service.command,
        cwd=PROJECT_ROOT,
        env=os.environ | environment | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert service.address is not None
            while not answers(service.address):
                assert process.poll() is None, process.communicate()[0]
                time.sleep(0.1)
            yield process
        finally:
            process.kill()


class Silent(BaseHTTPRequestHandler):
    """A model that says a word and then nothing more, for as long as anybody waits."""

    ended = Event()

    def do_POST(self) -> None:
        """Answer with one piece."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        piece = json.dumps({"choices": [{"index": 0, "delta": {"content": "Half "}}]})
        self.wfile.write(f"data: {piece}\n\n".encode())
        self.wfile.flush()
        self.ended.wait(120)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def silent_model() -> Iterator[str]:
    """The address of an endpoint that never ends a reply."""
    Silent.ended = Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        Silent.ended.set()
        server.shutdown()
        thread.join()


def visitor(port: int, *, signs_up: bool) -> httpx2.Client:
    """Return a browser with a token, of a person or of a guest."""
    client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
    token = re.search(r'data-csrf="([^"]+)"', client.get("/sign-up/").text)
    assert token is not None
    client.headers["x-csrf-token"] = unescape(token[1])
    if signs_up:
        made = client.post("/sign-up/", data={"user": "ann", "password": "a long password"})
        assert made.status_code == 303
        token = re.search(r'data-csrf="([^"]+)"', client.get("/orbitpilot/").text)
        assert token is not None
        client.headers["x-csrf-token"] = unescape(token[1])
    return client


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_replies_are_streamed_ends_them_quietly_and_keeps_what_came(
    number: signal.Signals, settings: Settings, port: int, silent_model: str
) -> None:
    model = {"ORBIT_CHAT_MODEL": "silent", "ORBIT_CHAT_BASE_URL": silent_model}
    with (
        running_pages(settings, port, **model) as web,
        closing(visitor(port, signs_up=True)) as ann,
        closing(visitor(port, signs_up=False)) as guest,
        ExitStack() as streams,
    ):
        heard = []
        for client in (ann, guest):
            client.headers["accept"] = "application/x-ndjson"
            said = client.stream("POST", "/orbitpilot/say/", data={"text": "A secret plum?"})
            lines = streams.enter_context(said).iter_lines()
            heard.append((next(lines), lines))

        web.send_signal(number)
        rest = [list(lines) for _, lines in heard]
        output, _ = web.communicate()

    assert [first for first, _ in heard] == ['{"text": "Half "}'] * 2
    assert rest == [[], []]
    assert "Traceback" not in output
    assert "CancelledError" not in output
    assert "secret" not in output
    assert web.returncode == (0 if number == signal.SIGINT else -signal.SIGTERM)
    with connect(str(settings.database_url)) as connection:
        stored = connection.execute("select content, is_partial from orbitpilot.message where role = 'assistant'")
        assert stored.fetchall() == [("Half ", True)]


def test_the_pages_are_served_log_no_address_and_end_when_asked(web: subprocess.Popen[str], port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/orbitpilot/?q=a-secret-plum")
    answer = connection.getresponse()
    page = answer.read().decode()
    connection.close()

    web.send_signal(signal.SIGTERM)
    output, _ = web.communicate()

    assert answer.status == 200
    assert "Nothing of yours is remembered yet" in page
    assert answer.getheader("server") is None
    assert output.startswith(f"Web pages: http://127.0.0.1:{port}")
    assert "secret" not in output
    assert "Traceback" not in output
    assert web.returncode in {0, -signal.SIGTERM}
