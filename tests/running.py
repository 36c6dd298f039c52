"""Dagster runs in a small world: jobs and single assets, on an ephemeral instance."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from orbit_pipelines.definitions import defs
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.embedders.protocol import Vectors
from orbit_pipelines.errors import EmbeddingFailed
from orbit_pipelines.jobs import QUICK_UPDATE
from orbit_pipelines.launching import plain
from orbit_pipelines.settings import Settings, load_settings
from tests.worlds import World


@dataclass
class Runs:
    """Runs of this code location over one world."""

    world: World
    instance: dg.DagsterInstance

    def job(self, name: str = QUICK_UPDATE, config: dict[str, Any] | None = None) -> dg.ExecuteInProcessResult:
        """Run a job to its end, however that is."""
        job = defs.resolve_job_def(name)
        return job.execute_in_process(instance=self.instance, run_config=config, raise_on_error=False)

    def materialize(self, *assets: str) -> dg.ExecuteInProcessResult:
        """Run some assets alone, as somebody does who selects them in the UI."""
        job = defs.resolve_implicit_global_asset_job_def()
        keys = [dg.AssetKey(asset) for asset in assets]
        return job.execute_in_process(instance=self.instance, asset_selection=keys, raise_on_error=False)

    def begin(self, job: str, status: DagsterRunStatus) -> dg.DagsterRun:
        """Register a run of a job that nobody executes."""
        return self.instance.create_run_for_job(defs.resolve_job_def(job), status=status)

    def status_of(self, run_id: str) -> DagsterRunStatus:
        """Return what Dagster says of a run."""
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run.status

    def builds(self) -> list[tuple[str, str | None]]:
        """Return each build's status and note, oldest first."""
        return self.world.sql("select status, note from memory.build order by build_id")

    def leftovers(self) -> list[str]:
        """Return the names of what lies in the workspaces' folder."""
        folder = self.world.settings.workspaces
        return [path.name for path in folder.iterdir()] if folder.exists() else []


class FailingEmbedder(FakeEmbedder):
    """Embeds a number of texts and then no more."""

    def __init__(self, texts: int = 0) -> None:
        super().__init__()
        self.texts = texts

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed, or fail."""
        if self.texts_embedded + len(texts) > self.texts:
            raise EmbeddingFailed("The endpoint answers no more. Start it again.")
        return super().embed_passages(texts)


def materialized(result: dg.ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    """Return asset → the metadata it was materialized with."""
    return {
        event.materialization.asset_key.to_user_string(): {
            name: plain(value) for name, value in event.materialization.metadata.items()
        }
        for event in (each.step_materialization_data for each in result.get_asset_materialization_events())
    }


@contextmanager
def use_settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have ``load_settings`` return these settings, in this process and in those it starts."""
    with monkeypatch.context() as environment:
        for name in settings.model_fields_set:
            environment.setenv(f"ORBIT_{name.upper()}", str(getattr(settings, name)))
        load_settings.cache_clear()
        yield
    load_settings.cache_clear()
