"""How deep something is gone: verified absent, then vacuumed, and with `--physical` written anew and searched for.

Depth is said of each kind, and never beyond what was looked at: a kind without tables stays at what its files show.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orbit_pipelines.forgetting.kinds import Absence, ArtifactKind, Depth, Scene, Touched
from orbit_pipelines.forgetting.physical.bytes_gone import IDS_ONLY, STATISTICS, BytesReport, remove_bytes, tables_of
from orbit_pipelines.forgetting.physical.rewriting import vacuum
from orbit_pipelines.forgetting.traces import Traces, read_traces, remake_traces
from orbit_pipelines.forgetting.verifying import deepened

BYTES = "bytes"
"""What the search of the server's files is called among what was verified."""


@dataclass(frozen=True, slots=True)
class Proof:
    """How deep each kind is gone, and what that doesn't cover.

    ``verified``: as it was verified, deeper where that was shown; with what was found in the files, if they were
    searched. ``not_covered``: sentences.
    """

    verified: dict[str, Absence]
    physical: BytesReport | None
    not_covered: tuple[str, ...]


def take_traces(scene: Scene, *, physical: bool) -> Traces:
    """Return what a selection is recognised by, before anything of it is deleted.

    For ``physical`` also what a build would make of its originals: an earlier forget that failed may have deleted rows
    whose bytes are still there.
    """
    snippets = scene.snippets()
    traces = read_traces(scene.connection, scene.selection, snippets)
    if not physical:
        return traces
    return traces | remake_traces(scene.connection, scene.settings, scene.selection, snippets)


def vacuum_touched(scene: Scene, kinds: Iterable[ArtifactKind], purged: Mapping[str, Touched]) -> dict[str, str | None]:
    """Vacuum the tables that a purge took rows from; return why dead rows may still be in each, None when none are.

    Before anything is verified: what the planner keeps of those rows goes with them.
    """
    touched = [kind for kind in kinds if purged.get(kind.name, Touched()).count]
    return {each.table: each.problem for each in vacuum(scene.connection, tables_of(touched))}


def deepen(kinds: Sequence[ArtifactKind], verified: Mapping[str, Absence], vacuumed: Mapping[str, str | None]) -> Proof:
    """Return what may be said after a vacuum.

    Args:
        kinds: the registry.
        verified: kind and road → what was found; nothing, or there is no depth to be told.
        vacuumed: as ``vacuum_touched`` returned it.
    """
    clean = {table for table, problem in vacuumed.items() if problem is None}
    return Proof(
        deepened(verified, _wholly_in(kinds, clean), Depth.VACUUMED),
        None,
        (
            *(f"{table}: {problem}" for table, problem in vacuumed.items() if problem is not None),
            "bytes of deleted rows in the server's files: they were not looked for (--physical does)",
        ),
    )


def deepen_to_bytes(
    scene: Scene, kinds: Sequence[ArtifactKind], verified: Mapping[str, Absence], traces: Traces
) -> Proof:
    """Write the tables of all kinds anew, which locks them, look for bytes in the server's files, and say what may be.

    Args:
        scene: its connection is in autocommit, outside a transaction.
        kinds: the registry.
        verified: as for ``deepen``.
        traces: as ``take_traces`` returned them for this.
    """
    report = remove_bytes(scene.connection, tables_of(kinds), traces)
    clean = set(report.locked) - report.problems.keys()
    deeper = deepened(verified, _wholly_in(kinds, clean), Depth.VACUUMED)
    if report.is_proven:
        deeper = deepened(deeper, _wholly_in(kinds, clean), Depth.BYTES_GONE)
    if report.not_verifiable is None:
        deeper[BYTES] = Absence(report.found, Depth.BYTES_GONE if report.is_proven else Depth.VACUUMED)
    return Proof(deeper, report, report.reservations)


def locked_tables(kinds: Iterable[ArtifactKind]) -> tuple[str, ...]:
    """Return the tables that are locked for everyone while ``--physical`` writes them anew."""
    return (*tables_of(kinds), STATISTICS)


def _wholly_in(kinds: Iterable[ArtifactKind], tables: set[str]) -> list[str]:
    """Return the kinds whose texts, hashes and vectors all lie in some tables, and nowhere else."""
    return [
        kind.name for kind in kinds if (held := set(kind.tables) - IDS_ONLY) and held <= tables and not kind.folders
    ]
