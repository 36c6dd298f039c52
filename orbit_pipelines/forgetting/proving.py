"""How deep something is gone: verified absent, then vacuumed, and with `--physical` written anew and searched for.

Depth is said of each kind, and never beyond what was looked at: a kind without tables stays at what its files show.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from orbit_pipelines.database.statements import statement
from orbit_pipelines.forgetting.kinds import Absence, ArtifactKind, Depth, Scene, Touched
from orbit_pipelines.forgetting.physical.bytes_gone import (
    IDS_ONLY,
    STATISTICS,
    BytesReport,
    find_bytes,
    needles_of,
    remove_bytes,
    tables_of,
)
from orbit_pipelines.forgetting.physical.needles import NeedleKind
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


@dataclass(frozen=True, slots=True)
class Taken:
    """What a selection is recognised by, as it was before anything of it was deleted.

    ``seen``: its bytes in the server's files; None when nobody looked. ``vectorless``: texts whose rows were gone by
    then, so that their vectors are at nobody's hand. ``removed``: chunks that were gone by then.
    """

    traces: Traces
    seen: frozenset[bytes] | None = None
    vectorless: int = 0
    removed: int = 0


def take_traces(scene: Scene, kinds: Sequence[ArtifactKind], *, physical: bool) -> Taken:
    """Return what a selection is recognised by, before anything of it is deleted.

    For ``physical`` also what a build would make of its originals, if lineage tells of chunks that went earlier: their
    bytes may still be there. And what of it is in the server's files, while its rows are.
    """
    snippets = scene.snippets()
    traces = read_traces(scene.connection, scene.selection, snippets)
    removed = _count_removed(scene)
    if not physical:
        return Taken(traces, removed=removed)
    stored = set(traces.contents)
    if removed or scene.selection.account:  # what lineage told of an account went with it
        traces |= remake_traces(scene.connection, scene.settings, scene.selection, snippets)
    seen = find_bytes(scene.connection, tables_of(kinds), traces)
    return Taken(traces, seen, len(set(traces.contents) - stored), removed)


Standing = tuple[int, datetime | None]
"""How many of the selection's tombstones stood before a run, and the first one's time."""


def find_standing(scene: Scene) -> Standing:
    """Return which tombstones stand, before a run writes its own."""
    row = scene.connection.execute(statement("find_standing_tombstones"), scene.selection.parameters()).fetchone()
    return (int(row[0]), row[1]) if row else (0, None)


def tell_earlier(standing: Standing, taken: Taken) -> tuple[str, ...]:
    """Return what this run's counts may leave out, because an earlier run of the same forget took it: sentences."""
    count, since = standing
    told = []
    if since is not None:
        told.append(
            f"what an earlier run of this forget may have removed: {count:,} of the tombstones stood before, the first "
            f"since {since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}; found and purged tell of this run only"
        )
    if taken.removed:
        told.append(
            f"{taken.removed:,} chunks of the selection that were gone before this run, by a build or an earlier "
            "forget: found and purged don't count them"
        )
    return tuple(told)


def _count_removed(scene: Scene) -> int:
    row = scene.connection.execute(statement("count_selected_removals"), scene.selection.parameters()).fetchone()
    return int(row[0]) if row else 0


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
    scene: Scene, kinds: Sequence[ArtifactKind], verified: Mapping[str, Absence], taken: Taken
) -> Proof:
    """Write the tables of all kinds anew, which locks them, look for bytes in the server's files, and say what may be.

    Args:
        scene: its connection is in autocommit, outside a transaction.
        kinds: the registry.
        verified: as for ``deepen``.
        taken: as ``take_traces`` returned it for this.
    """
    not_at_hand = {NeedleKind.VECTOR: taken.vectorless}
    report = remove_bytes(scene.connection, tables_of(kinds), taken.traces, seen=taken.seen, not_at_hand=not_at_hand)
    clean = set(report.locked) - report.problems.keys()
    deeper = deepened(verified, _wholly_in(kinds, clean), Depth.VACUUMED)
    shown = {table for table in clean if needles_of(table) <= report.proven}
    deeper = deepened(deeper, _wholly_in(kinds, shown), Depth.BYTES_GONE)
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
