"""How deep something is gone: verified absent, then vacuumed, and with `--physical` written anew and searched for.

Depth is said of each kind, and never beyond what was looked at: a kind without tables stays at what its files show.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orbit_pipelines.forgetting.kinds import Absence, ArtifactKind, Depth, Scene, Touched
from orbit_pipelines.forgetting.physical.bytes_gone import IDS_ONLY, STATISTICS, BytesReport, remove_bytes, tables_of
from orbit_pipelines.forgetting.physical.rewriting import vacuum
from orbit_pipelines.forgetting.physical.still_held import may_still_hold
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


def deepen(
    scene: Scene,
    kinds: Sequence[ArtifactKind],
    purged: Mapping[str, Touched],
    verified: Mapping[str, Absence],
    traces: Traces,
    *,
    physical: bool,
) -> Proof:
    """Vacuum what the purge touched, or write it anew and look for its bytes; return what may be said then.

    Args:
        scene: its connection is in autocommit, outside a transaction.
        kinds: the registry.
        purged: kind → what went.
        verified: kind and road → what was found; nothing, or there is no depth to be told.
        traces: as ``take_traces`` returned them.
        physical: whether to write the tables anew, which locks them, and to search the server's files.
    """
    if physical:
        report = remove_bytes(scene.connection, tables_of(kinds), traces)
        problems, seen = report.problems, set(report.locked)
        reservations = (*report.reservations, *may_still_hold(scene.connection))
    else:
        report = None
        touched = [kind for kind in kinds if purged.get(kind.name, Touched()).count]
        tables = tables_of(touched)
        problems = {each.table: each.problem for each in vacuum(scene.connection, tables) if each.problem is not None}
        seen = set(tables)
        reservations = (
            *(f"{table}: {problem}" for table, problem in problems.items()),
            "bytes of deleted rows in the server's files: they were not looked for (--physical does)",
            *may_still_hold(scene.connection),
        )
    deeper = deepened(verified, _wholly_in(kinds, seen - problems.keys()), Depth.VACUUMED)
    if report is not None:
        if report.is_proven and report.is_rewritten:
            deeper = deepened(deeper, _wholly_in(kinds, seen), Depth.BYTES_GONE)
        if report.not_verifiable is None:
            depth = Depth.BYTES_GONE if report.is_proven else Depth.VACUUMED
            deeper[BYTES] = Absence(report.found, depth)
    return Proof(deeper, report, reservations)


def locked_tables(kinds: Iterable[ArtifactKind]) -> tuple[str, ...]:
    """Return the tables that are locked for everyone while ``--physical`` writes them anew."""
    return (*tables_of(kinds), STATISTICS)


def _wholly_in(kinds: Iterable[ArtifactKind], tables: set[str]) -> list[str]:
    """Return the kinds whose texts, hashes and vectors all lie in some tables, and nowhere else."""
    return [
        kind.name for kind in kinds if (held := set(kind.tables) - IDS_ONLY) and held <= tables and not kind.folders
    ]
