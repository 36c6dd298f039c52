"""One import, twice, measured in a process of its own.

Run as ``python -m orbit_pipelines.bench.measured_import FILE``, with the settings in the environment; prints one JSON
object, in the words of ``measurements.ImportMeasured``.
"""

import json
import sys
import time
from pathlib import Path

from orbit_pipelines.bench.own_process import held_mib, peak_mib
from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.database.connection import connect
from orbit_pipelines.history.files import import_file
from orbit_pipelines.history.stream import Problems
from orbit_pipelines.model import Store
from orbit_pipelines.settings import Settings


def measure_import(settings: Settings, file: Path) -> dict[str, float]:
    """Import a file for somebody who has no history, and once more."""
    hash_key = load_hash_key(settings)
    with connect(str(settings.database_url), autocommit=True) as connection:
        baseline = held_mib()
        laps = [time.perf_counter()]
        for _ in range(2):
            import_file(
                connection,
                Store("reader"),
                file,
                hash_key=hash_key,
                problems=Problems(),
                creates_account=True,
                batch_messages=settings.batch_messages,
            )
            laps.append(time.perf_counter())
    first, again = laps[1] - laps[0], laps[2] - laps[1]
    return {"seconds": first, "again_seconds": again, "baseline_mib": baseline, "peak_mib": peak_mib()}


if __name__ == "__main__":
    print(json.dumps(measure_import(Settings(), Path(sys.argv[1]))))  # noqa: T201 - its one output
