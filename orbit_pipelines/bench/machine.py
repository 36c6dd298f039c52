"""What a benchmark ran on: without it a figure says nothing. No names of machines, people or folders."""

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from orbit_pipelines.database.connection import connect

_SERVER_SETTINGS = ("shared_buffers", "max_wal_size", "fsync", "synchronous_commit", "wal_level")


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine, its load when the run began, and the server with the settings that matter."""

    began_at: datetime
    processor: str
    cores: int
    memory_bytes: int
    load: float
    system: str
    python: str
    postgresql: str
    pgvector: str
    settings: dict[str, str]

    @property
    def sentence(self) -> str:
        """All of it, for people."""
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        return (
            f"Measured on {self.began_at:%Y-%m-%d at %H:%M} UTC: {self.processor}, {self.cores} cores, "
            f"{self.memory_bytes / 2**30:.0f} GiB of memory, load {self.load:.1f} at the start, {self.system}, "
            f"Python {self.python}, PostgreSQL {self.postgresql}, pgvector {self.pgvector} ({settings})."
        )


def describe_machine(server_url: str) -> Machine:
    """Look at this machine and a server."""
    with connect(server_url, autocommit=True) as connection:
        settings = connection.execute(
            "select name, current_setting(name) from unnest(%s::text[]) as name", [list(_SERVER_SETTINGS)]
        ).fetchall()
        pgvector = connection.execute(
            "select default_version from pg_available_extensions where name = 'vector'"
        ).fetchone()
        version = connection.info.parameter_status("server_version") or "of unknown version"
    return Machine(
        began_at=datetime.now(UTC),
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        load=psutil.getloadavg()[0],
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        postgresql=version.split(" ")[0],
        pgvector=pgvector[0] if pgvector else "unknown",
        settings=dict(settings),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "an unnamed processor"
