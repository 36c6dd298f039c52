"""One Dagster run's build, shared by all of its steps in one process and found again by those in others."""

from typing import Any, Literal

import dagster as dg
from pydantic import Field, PrivateAttr

from orbit_pipelines.building.builds import close_build_of_run
from orbit_pipelines.building.run import BuildRequest, BuildRun
from orbit_pipelines.model import Mode
from orbit_pipelines.settings import Settings, load_settings
from resources.dagster_runs import first_failure, report_dead_runs, report_silent_runs
from resources.database import MemoryDatabase
from resources.embedder import ConfiguredEmbedder
from resources.progress import progress_listener


class BuildResource(dg.ConfigurableResource):
    """The options of a build, and the build itself once a step asks for it.

    The build is named by its Dagster run. While this resource lives, its connection holds the build's lock, by which
    others know that the build is alive.
    """

    database: dg.ResourceDependency[MemoryDatabase]
    embedder: dg.ResourceDependency[ConfiguredEmbedder]
    mode: Literal["incremental", "full"] = Field(
        default="incremental",
        description="incremental: take what changed since the last build. full: take everything, and replace memory.",
    )
    users: list[str] = Field(
        default=[], description="Build the memory of these people (user ids) only; empty: of everyone."
    )
    re_embed: bool = Field(
        default=False,
        description="Compute every embedding again instead of taking known ones from the cache. Makes the build full.",
    )

    _run: BuildRun | None = PrivateAttr(default=None)

    @property
    def request(self) -> BuildRequest:
        """What was asked for."""
        return BuildRequest(Mode(self.mode), tuple(self.users), self.re_embed)

    @property
    def run(self) -> BuildRun:
        """The build, registered; the first step of a Dagster run to ask begins it, the others take part."""
        if self._run is None:
            context = self.get_resource_context()
            if context.run is None:
                raise RuntimeError("a build belongs to a Dagster run; none is in progress")
            run_id = context.run.run_id
            self._run = BuildRun(
                connection=self.database.connect(),
                settings=load_settings(),
                request=self.request,
                embedder=self.embedder.connect(),
                run_id=run_id,
                dagster_run_id=run_id,
                on_progress=progress_listener(),
            )
            _ = self._run.build_id
            report_dead_runs(context.instance, self._run.buried)
            report_silent_runs(context.instance, self._run.connection)
        return self._run

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """End this process's part in the build, and with a single process the build."""
        if self._run is None:
            return
        try:
            if is_one_process(self._run.settings):
                failure = first_failure(context.instance, self._run.run_id)
                close_build_of_run(
                    self._run.connection, self._run.settings.workspaces, self._run.run_id, failure=failure
                )
        finally:
            self._run.connection.close()


def is_one_process(settings: Settings) -> bool:
    """Whether a Dagster run's steps share one process, which then ends the build itself."""
    return settings.executor == "in_process"


def build_config(request: BuildRequest) -> dict[str, Any]:
    """Return the run config that asks for a build."""
    options = {"mode": request.mode.value, "users": list(request.users), "re_embed": request.re_embed}
    return {"resources": {"build": {"config": options}}}
