"""The web pages as a process beside Dagster's."""

import sys
from pathlib import Path

from orbit_pipelines.services.service import Address, Service


def web_service(port: int, *, host: str = "127.0.0.1") -> Service:
    """Return the service of the pages; it finds its installation in the environment, as every command does."""
    return Service(
        name="web",
        title="Web pages",
        command=(str(Path(sys.executable).parent / "orbit"), "web", "--host", host, "--port", str(port)),
        address=Address(host, port, option="--web-port", path="/healthz"),
    )
