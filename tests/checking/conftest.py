"""A world with a build whose frames are still there, as checks find it inside a run."""

from collections.abc import Callable, Iterator

import pytest

from orbit_pipelines.building.run import BuildRun
from orbit_pipelines.checking.build_of_run import BuildOfRun, find_build
from tests.worlds import World

ChecksBuild = Callable[..., BuildOfRun]


@pytest.fixture
def build_in_run(world: World) -> Iterator[ChecksBuild]:
    """Build, and return the build as the checks of its run find it; ``until`` names the last step."""
    runs: list[BuildRun] = []

    def run(*users: str, full: bool = False, until: str = "diff_apply") -> BuildOfRun:
        made = world.run(*users, full=full)
        made.dagster_run_id = made.run_id
        runs.append(made)
        getattr(made, until)()
        found = find_build(world.connection, made.run_id)
        assert found is not None
        return found

    yield run
    for made in runs:
        made.close()
        made.connection.close()
