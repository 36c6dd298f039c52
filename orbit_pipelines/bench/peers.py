"""Other incremental indexers over a corpus of the same kind, run by a folder that knows how.

Such a folder holds a ``run.py`` whose ``PEERS`` names the peers (each with its virtual environment first) and whose
``SIZES`` names sizes; called with a peer and a size, it appends its measurements to a JSON file. The environment tells
where it is set up: BENCH_VENVS, the folder of the virtual environments, and BENCH_DSN, a PostgreSQL server that makes
and drops databases for it.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbit_pipelines.bench.measurements import PeerMeasured
from orbit_pipelines.bench.measuring import Announce
from orbit_pipelines.bench.own_process import run_program
from orbit_pipelines.errors import BenchFailed

USUAL_PEERS = ("baseline-diff-stat", "cocoindex", "llamaindex", "langchain-pgvector-full")

_LIST = "import json, run; print(json.dumps([{name: peer[0] for name, peer in run.PEERS.items()}, run.SIZES]))"


@dataclass(frozen=True, slots=True)
class Peers:
    """A folder of peers that is set up. ``sizes``: pairs → the folder's name for that size."""

    folder: Path
    python: Path
    server_url: str
    names: tuple[str, ...]
    sizes: dict[int, str]


def find_peers(folder: Path, chosen: Sequence[str] = (), environment: Mapping[str, str] = os.environ) -> Peers:
    """Return the peers of a folder that can be run: those chosen, or the usual ones whose environment is there.

    Raises:
        BenchFailed: the folder is none of peers, they aren't set up, or one that was chosen isn't there.
    """
    folder = folder.absolute()
    if not (folder / "run.py").is_file():
        raise BenchFailed(f"{folder} holds no run.py, so it is no folder of peers. Name one that does.")
    missing = [name for name in ("BENCH_VENVS", "BENCH_DSN") if not environment.get(name)]
    if missing:
        raise BenchFailed(
            f"The peers in {folder} are not set up: {' and '.join(missing)} not in the environment. Run its setup.sh, "
            "and export what that prints."
        )
    venvs = Path(environment["BENCH_VENVS"])
    python = venvs / "venv-base" / "bin" / "python"
    if not python.exists():
        raise BenchFailed(f"BENCH_VENVS names {venvs}, where there is no venv-base. Run the setup.sh of {folder}.")
    known, sizes = json.loads(run_program([str(python), "-c", _LIST], _environment(), cwd=folder))
    ready = [name for name, venv in known.items() if (venvs / f"venv-{venv}" / "bin" / "python").exists()]
    for name in chosen:
        if name not in ready:
            why = "its virtual environment is missing" if name in known else "it knows no such peer"
            raise BenchFailed(f"{folder} can't run {name!r}: {why}. Ready are: {', '.join(ready) or 'none'}.")
    names = tuple(chosen) or tuple(name for name in USUAL_PEERS if name in ready)
    if not names:
        raise BenchFailed(f"None of the usual peers is set up in {venvs}. Ready are: {', '.join(ready) or 'none'}.")
    return Peers(folder, python, environment["BENCH_DSN"], names, {pairs: name for name, pairs in sizes.items()})


def run_peers(
    peers: Peers, folder: Path, sizes: Sequence[int], repeats: int, announce: Announce = lambda _what: None
) -> list[PeerMeasured]:
    """Run every peer at those of our sizes that the folder has too.

    Args:
        peers: what to run.
        folder: for their corpora and results; the caller removes it.
        sizes: in pairs.
        repeats: how often to run each.
        announce: told what comes next.
    """
    measured = []
    for pairs in sorted(sizes):
        for name in peers.names if pairs in peers.sizes else ():
            announce(f"{pairs:,} pairs: {name}")
            results = folder / f"peer-{name}-{pairs}.json"
            run_program(
                [
                    str(peers.python),
                    "run.py",
                    *("--peer", name, "--size", peers.sizes[pairs]),
                    *("--repeat", str(repeats), "--out", str(results)),
                ],
                # Its corpora lie in the folder for temporary files, and would stay there.
                _environment() | {"BENCH_DSN": peers.server_url, "TMPDIR": str(folder)},
                cwd=peers.folder,
            )
            measured += [_measured(record, pairs) for record in json.loads(results.read_text())]
    return measured


def _environment() -> dict[str, str]:
    """Return our environment, without what would put this project into a peer's interpreter."""
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"}  # the folder may not be ours to write to


def _measured(record: Mapping[str, Any], pairs: int) -> PeerMeasured:
    if "error" in record:
        return PeerMeasured(record["peer"], record["step"], pairs, trouble=f"failed: {record['error']}")
    check = record["check"]
    wrong = ", ".join(f"{count:,} {kind}" for kind, count in check.items() if count and kind not in ("rows", "ok"))
    return PeerMeasured(
        peer=record["peer"],
        step=record["step"],
        pairs=pairs,
        seconds=record["wall_s"],
        # Unlike ours, they rewrite a changed chunk in place.
        added=record["tup_ins"] + record["tup_upd"],
        removed=record["tup_del"] + record["tup_upd"],
        embedded=record["embed_texts"],
        wal_bytes=round(record["wal_mib"] * 2**20),
        peak_mib=record["rss_mib"],
        trouble=None if check["ok"] else wrong,
    )
