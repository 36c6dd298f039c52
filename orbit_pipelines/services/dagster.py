"""Dagster's two long-running processes: the webserver with its UI, and the daemon of schedules, sensors and the queue.

`dagster dev` would run both in one, and leaves its children behind when it is told to end.
"""

import sys
from pathlib import Path

from orbit_pipelines.services.service import Address, Service
from orbit_pipelines.settings import PROJECT_ROOT

WORKSPACE = PROJECT_ROOT / "workspace.yaml"


def dagster_services(port: int, *, host: str = "127.0.0.1", workspace: Path = WORKSPACE) -> tuple[Service, ...]:
    """Return the services of Dagster. Folders in the workspace file are relative to the file's own."""
    programs = Path(sys.executable).parent
    return (
        Service(
            name="dagster-webserver",
            title="Dagster UI",
            command=(
                *(str(programs / "dagster-webserver"), "--workspace", str(workspace)),
                *("--host", host, "--port", str(port)),
            ),
            folder=workspace.parent,
            address=Address(host, port, option="--port", path="/server_info"),
        ),
        Service(
            name="dagster-daemon",
            title="Dagster daemon",
            command=(str(programs / "dagster-daemon"), "run", "--workspace", str(workspace)),
            folder=workspace.parent,
        ),
    )
