"""A whole ``orbit build`` that finds nothing to do, and where its seconds go."""

import json
import sys
import time
from collections.abc import Mapping, Sequence

from orbit_pipelines.bench.measurements import CommandMeasured
from orbit_pipelines.bench.own_process import environment_of, run_program
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.server import database_url
from orbit_pipelines.database.statements import statement
from orbit_pipelines.settings import Settings

_BUILD = [sys.executable, "-c", "from orbit_pipelines.cli.app import main; main()", "build", "--json"]
_IMPORTS = [sys.executable, "-c", "import orbit_pipelines.cli.builds, orbit_pipelines.launching"]


_TIMES = 3
"""The imports are measured so often, and the fastest counts: they can't be what another program delayed."""


def measure_command(settings: Settings, pairs: int) -> CommandMeasured:
    """Measure the command over a memory that is up to date.

    Args:
        settings: of an installation whose memory is built, with a Dagster database of its own.
        pairs: how many it has; for the record.
    """
    dagster_url = database_url(Settings(database_url=settings.dagster_database_url))
    environment = environment_of(settings)
    run_program(_BUILD, environment)  # makes Dagster's tables
    imports = min(_seconds_of(_IMPORTS, environment) for _ in range(_TIMES))
    start = time.perf_counter()
    answer = json.loads(run_program(_BUILD, environment))
    seconds = time.perf_counter() - start
    run_id = {"run_id": answer["dagster_run_id"]}
    with connect(dagster_url) as dagster, connect(str(settings.database_url)) as memory:
        [(run, events)] = dagster.execute(statement("time_dagster_run"), run_id).fetchall()
        [(build,)] = memory.execute(
            "select extract(epoch from finished_at - started_at)::float8 from memory.build"
            " where dagster_run_id = %(run_id)s",
            run_id,
        ).fetchall()
    return CommandMeasured(pairs, seconds, imports, run - build, build, events)


def _seconds_of(command: Sequence[str], environment: Mapping[str, str]) -> float:
    start = time.perf_counter()
    run_program(command, environment)
    return time.perf_counter() - start
