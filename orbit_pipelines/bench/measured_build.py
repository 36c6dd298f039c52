"""Builds, measured in one process that isn't the benchmark's: their seconds, what they did, and the most memory.

Run as ``python -m orbit_pipelines.bench.measured_build``, with the settings in the environment. Each line it is given
is a build's mode, and it answers with one JSON object in a line. All builds are over one connection. Seconds count to
the commit; the imports, the connection's opening and Dagster are not in them.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import psycopg

from orbit_pipelines.bench.own_process import forget_peak, peak_mib
from orbit_pipelines.building.run import BuildRequest, BuildRun
from orbit_pipelines.database.connection import connect
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.model import Mode
from orbit_pipelines.settings import Settings


@dataclass(frozen=True, slots=True)
class MeasuredBuild:
    """What one build took. ``parts``: what it did, in order → the seconds of that.

    ``peak_mib``: the most the process held during the build; where the system doesn't tell, since it started.
    """

    build_id: int
    seconds: float
    added: int
    removed: int
    embedded: int
    peak_mib: float
    parts: dict[str, float]


def measure_build(connection: psycopg.Connection[Any], settings: Settings, mode: Mode) -> MeasuredBuild:
    """Build once with the fake embedder, in this process."""
    forget_peak()
    embedder = FakeEmbedder()
    clock = _Clock()
    run = BuildRun(connection, settings, BuildRequest(mode), embedder, f"bench-{time.time_ns()}")
    try:
        build_id = run.build_id
        clock.lap("begin")
        run.extraction()
        clock.lap("extraction")
        run.pairing()
        clock.lap("pairing")
        run.chunking()
        clock.lap("chunking")
        run.embedding()
        clock.lap("embedding")
        published = run.diff_apply()
        clock.lap("diff_apply")
    except BaseException as error:
        run.close(error)
        raise
    run.close()
    # What this session wrote is counted by the server when it next has time; have it do so now.
    connection.execute("select pg_stat_force_next_flush()")
    return MeasuredBuild(
        build_id=build_id,
        seconds=sum(clock.parts.values()),
        added=published.added,
        removed=published.removed,
        embedded=embedder.texts_embedded,
        peak_mib=peak_mib(),
        parts=clock.parts,
    )


class _Clock:
    """The seconds of what is done, one after another."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, part: str) -> None:
        """Count what passed since the last lap as a part's."""
        now = time.perf_counter()
        self.parts[part] = now - self._last
        self._last = now


def main() -> None:
    """Answer each line with a build."""
    settings = Settings()
    with connect(str(settings.database_url), autocommit=True) as connection:
        for mode in sys.stdin:
            answer = asdict(measure_build(connection, settings, Mode(mode.strip())))
            print(json.dumps(answer), flush=True)  # noqa: T201 - its one output


if __name__ == "__main__":
    main()
