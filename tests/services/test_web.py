"""The pages as a process: `orbit web`, and the service of it that `orbit up` runs."""

import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from orbit_pipelines.database.migrating import migrate
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
    migrate(str(settings.database_url))
    service = web_service(port)
    environment = {
        "ORBIT_HOME": str(settings.home),
        "ORBIT_DATABASE_URL": str(settings.database_url),
        "ORBIT_EMBEDDER": "fake",
    }
    with subprocess.Popen(
        service.command,
        cwd=PROJECT_ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert service.address is not None
        while not answers(service.address):
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.1)
        yield process
        process.kill()


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
