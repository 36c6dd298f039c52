"""One build, measured in a process of its own: its seconds, what it did, and the most memory it took.

Run as ``python -m orbit_pipelines.bench.measured_build MODE``, with the settings in the environment; prints one JSON
object. Seconds count from after the imports and the connection's opening to the commit; Dagster is not in them.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass

from orbit_pipelines.bench.own_process import peak_mib
from orbit_pipelines.building.run import BuildRequest, BuildRun
from orbit_pipelines.database.connection import connect
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.model import Mode
from orbit_pipelines.settings import Settings


@dataclass(frozen=True, slots=True)
class MeasuredBuild:
    """What one build took. ``parts``: what it did, in order → the seconds of that."""

    build_id: int
    seconds: float
    added: int
    removed: int
    embedded: int
    peak_mib: float
    parts: dict[str, float]


def measure_build(settings: Settings, mode: Mode) -> MeasuredBuild:
    """Build once with the fake embedder, in this process."""
    embedder = FakeEmbedder()
    with connect(str(settings.database_url), autocommit=True) as connection:
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


if __name__ == "__main__":
    print(json.dumps(asdict(measure_build(Settings(), Mode(sys.argv[1])))))  # noqa: T201 - its one output
