"""Dagster's two long-running processes: the webserver with its UI, and the daemon of schedules, sensors and the queue.

`dagster dev` would run both in one, and leaves its children behind when it is told to end.
"""

import sys
from pathlib import Path

from orbit_pipelines.dagster_home import project_file
from orbit_pipelines.services.service import Address, Service
from orbit_pipelines.settings import PROJECT_ROOT


def dagster_services(port: int, *, host: str = "127.0.0.1", workspace: Path | None = None) -> tuple[Service, ...]:
    """Return the services of Dagster, over this project or the code locations of another workspace file.

    Relative folders in a workspace file count from where Dagster is started: from the file's own folder, here.
    """
    programs = Path(sys.executable).parent
    folder = workspace.parent if workspace else PROJECT_ROOT
    location = ("--workspace", str(workspace or project_file("workspace.yaml")))
    return (
        Service(
            name="dagster-webserver",
            title="Dagster UI",
            command=(str(programs / "dagster-webserver"), *location, "--host", host, "--port", str(port)),
            folder=folder,
            address=Address(host, port, option="--port", path="/server_info"),
        ),
        Service(
            name="dagster-daemon",
            title="Dagster daemon",
            command=(str(programs / "dagster-daemon"), "run", *location),
            folder=folder,
        ),
    )
