"""The resources by the names that assets ask for, and the executor that settings choose."""

import dagster as dg

from orbit_pipelines.settings import ExecutorName
from resources.build import BuildResource
from resources.database import MemoryDatabase
from resources.embedder import ConfiguredEmbedder
from resources.handover import NoHandOver

PRELOADED = ["orbit_pipelines.definitions"]


def resources() -> dict[str, dg.ConfigurableResource | dg.ConfigurableIOManager]:
    """Return one of each resource."""
    database, embedder = MemoryDatabase(), ConfiguredEmbedder()
    return {
        "database": database,
        "embedder": embedder,
        "build": BuildResource(database=database, embedder=embedder),
        # Dagster takes whatever stands under this name in place of its default.
        "io_manager": NoHandOver(),
    }


def executor(name: ExecutorName) -> dg.ExecutorDefinition:
    """Return the executor: all steps in the run's process, or each in one of its own."""
    match name:
        case "in_process":
            return dg.in_process_executor
        case "multiprocess":
            return dg.multiprocess_executor
        case "forkserver":
            return dg.multiprocess_executor.configured(
                {"start_method": {"forkserver": {"preload_modules": PRELOADED}}}, name="forkserver"
            )
