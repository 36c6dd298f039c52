"""`orbit up` for real: the embedded PostgreSQL, Dagster's webserver and daemon, over a tiny code location."""

import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from orbit_pipelines.database import embedded
from orbit_pipelines.database.server import embedded_server
from orbit_pipelines.errors import ServiceFailed
from orbit_pipelines.services.service import Address, Service
from orbit_pipelines.services.up import down, up
from orbit_pipelines.settings import PROJECT_ROOT, Settings

UP = """
import sys
from pathlib import Path
from orbit_pipelines.services.dagster import dagster_services
from orbit_pipelines.services.up import up
from orbit_pipelines.settings import Settings

home, port, workspace = sys.argv[1:]
up(Settings(home=Path(home)), dagster_services(int(port), workspace=Path(workspace)),
   lambda service: print(service.title, flush=True))
"""
DEFINITIONS = """
import dagster as dg

@dg.asset
def greeting() -> None: ...

defs = dg.Definitions(assets=[greeting])
"""
WORKSPACE = """
load_from:
  - python_module: {module_name: tiny_definitions, working_directory: .}
"""


@pytest.fixture
def settings() -> Iterator[Settings]:
    """An installation whose embedded server doesn't run yet; its path is short enough for a socket."""
    home = Path(tempfile.mkdtemp(prefix="orbit-up-"))
    settings = Settings(home=home, database_url=None)
    yield settings
    down(settings)
    shutil.rmtree(home, ignore_errors=True)


def processes_of(settings: Settings) -> list[str]:
    """The command lines of every process that works on an installation, however it was started."""
    found = []
    for process in psutil.process_iter():
        try:
            home = process.environ().get("ORBIT_HOME")
            command = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if process.status() != psutil.STATUS_ZOMBIE and (home == str(settings.home) or str(settings.home) in command):
            found.append(command)
    return found


def test_up_serves_dagster_and_down_leaves_nothing_running(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "tiny_definitions.py").write_text(DEFINITIONS)
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", UP, settings.home, str(port), tmp_path / "workspace.yaml"],
        cwd=PROJECT_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    announced = {process.stdout.readline().strip(), process.stdout.readline().strip()}
    assert announced == {"Dagster UI", "Dagster daemon"}
    assert loaded_assets(port) == [["greeting"]]

    stopped = down(settings)

    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (0, "", "")
    assert stopped.up == process.pid
    assert processes_of(settings) == []
    assert (settings.home / "dagster" / "dagster.yaml").read_bytes() == (PROJECT_ROOT / "dagster.yaml").read_bytes()


def loaded_assets(port: int) -> object:
    """Ask the webserver which assets it shows: the code location loaded, and the storage answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    query = json.dumps({"query": "{ assetNodes { assetKey { path } } runsOrError { ... on Runs { results { id } } } }"})
    connection.request("POST", "/graphql", query, {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer["data"]["runsOrError"] == {"results": []}
    return [node["assetKey"]["path"] for node in answer["data"]["assetNodes"]]


def test_a_taken_port_is_found_before_postgresql_starts(settings: Settings) -> None:
    taken = Service("web", "Pages", ("true",), address=Address("203.0.113.1", 80, "--web-port"))

    with pytest.raises(ServiceFailed, match="--web-port"):
        up(settings, [taken], lambda service: None)

    assert not settings.home.joinpath("postgres").exists()


def test_up_brings_the_database_up_to_date_and_stops_postgresql_when_a_service_fails(settings: Settings) -> None:
    failing = Service("failing", "Failing", (sys.executable, "-c", "raise SystemExit(7)"))

    with pytest.raises(ServiceFailed, match="exit code 7"):
        up(settings, [failing], lambda service: None)

    assert embedded.postmaster(embedded_server(settings)) is None
    assert settings.home.joinpath("postgres", "PG_VERSION").exists()


def test_down_stops_a_server_that_a_command_left_running(settings: Settings) -> None:
    embedded.start(embedded_server(settings))

    stopped = down(settings)

    assert (stopped.up, stopped.server) == (None, True)
    assert (down(settings).up, down(settings).server) == (None, False)
