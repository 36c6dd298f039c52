"""One build, measured in a process of its own: its seconds, what it did, and the most memory it took.

Run as ``python -m orbit_pipelines.bench.measuring HOME URL MODE``; prints one JSON object. Seconds count from after the
imports and the connection's opening to the commit, Dagster apart.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from orbit_pipelines.building.run import BuildRequest, BuildRun
from orbit_pipelines.database.connection import connect
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.model import Mode
from orbit_pipelines.settings import Settings

EMBEDDING_BATCH = 2_048


@dataclass(frozen=True, slots=True)
class Measured:
    """What one build took. ``steps``: the step's name → its seconds."""

    build_id: int
    seconds: float
    added: int
    removed: int
    embedded: int
    peak_mib: float
    steps: dict[str, float]


def measure_build(home: Path, url: str, mode: Mode) -> Measured:
    """Build once with the fake embedder, in this process."""
    settings = Settings(home=home, database_url=url, embedder="fake", embedding_batch_size=EMBEDDING_BATCH)
    embedder = FakeEmbedder()
    steps: dict[str, float] = {}
    with connect(url, autocommit=True) as connection:
        start = time.perf_counter()
        run = BuildRun(connection, settings, BuildRequest(mode), embedder, f"bench-{time.time_ns()}")
        last = start
        for name in ("extraction", "pairing", "chunking", "embedding", "diff_apply"):
            getattr(run, name)()
            now = time.perf_counter()
            steps[name], last = now - last, now
        published = run.published
        seconds = time.perf_counter() - start
        run.close()
    return Measured(
        build_id=run.build_id,
        seconds=seconds,
        added=published.added if published else 0,
        removed=published.removed if published else 0,
        embedded=embedder.texts_embedded,
        peak_mib=peak_mib(),
        steps=steps,
    )


def peak_mib() -> float:
    """Return the most memory this process ever held, in MiB; what its parent held doesn't count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


if __name__ == "__main__":
    home, url, mode = sys.argv[1:]
    print(json.dumps(asdict(measure_build(Path(home), url, Mode(mode)))))  # noqa: T201 - its one output
