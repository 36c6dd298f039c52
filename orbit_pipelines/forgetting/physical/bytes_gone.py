"""`--physical`: the tables that held forgotten rows are written anew, and their files searched before and after.

What this shows, and no more: in the files of these tables, their TOAST and their indexes, and of the planner's
statistics, the bytes that forgotten texts, hashes and vectors would have can't be found, although they could be before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from orbit_pipelines.forgetting.kinds import ArtifactKind
from orbit_pipelines.forgetting.physical.controls import Controls, try_controls
from orbit_pipelines.forgetting.physical.needles import Needle, NeedleKind, Needles, make_needles, numbers_of
from orbit_pipelines.forgetting.physical.rewriting import Vacuumed, rewrite
from orbit_pipelines.forgetting.physical.searching import Searcher, find_in_blocks
from orbit_pipelines.forgetting.physical.server_files import flush, list_files, read_blocks, why_unreadable
from orbit_pipelines.forgetting.traces import Traces

IDS_ONLY = frozenset(
    (
        "memory.pair",
        "memory.skipped",
        "memory.source_status",
        "memory.session_admission",
        "memory.former_session",
        "memory.former_record",
        "memory.former_account",
        "orbitpilot.deletion",
    )
)
"""Tables of kinds that hold neither text nor hash nor vector: rewriting them would lock them for nothing."""

STATISTICS = "pg_catalog.pg_statistic"
"""Where PostgreSQL keeps sample values of columns, hashes too."""

_HELD = {
    "memory.embedding_cache": frozenset((NeedleKind.HASH, NeedleKind.VECTOR)),
    "memory.change": frozenset((NeedleKind.HASH,)),
}
"""What some tables hold; any other may hold texts, hashes and vectors."""


@dataclass(frozen=True, slots=True)
class BytesReport:
    """What rewriting and searching found; counts are of distinct texts, hashes and vectors.

    ``locked``: tables that nobody could read or write while they were written anew; all people's rows lie in them.
    ``problems``: table → why dead rows may still be in it. ``not_verifiable``: why the files can't be searched here.
    ``wanted``: what there was to look for; ``not_computable``: that of it whose bytes nobody can tell; ``kept``: that
    of it which stands in rows that stay, so that its bytes prove nothing; ``unseen``: that of it which wasn't in the
    files before either, so that not finding it shows nothing: its bytes were written over, or were never these.
    ``not_at_hand``: what the forgotten rows had, and nobody could look for.
    """

    locked: tuple[str, ...]
    problems: dict[str, str] = field(default_factory=dict)
    not_verifiable: str | None = None
    controls: Controls | None = None
    wanted: dict[NeedleKind, int] = field(default_factory=dict)
    not_computable: dict[NeedleKind, int] = field(default_factory=dict)
    found_before: dict[NeedleKind, int] = field(default_factory=dict)
    found_after: dict[NeedleKind, int] = field(default_factory=dict)
    kept: dict[NeedleKind, int] = field(default_factory=dict)
    unseen: dict[NeedleKind, int] = field(default_factory=dict)
    not_at_hand: dict[NeedleKind, int] = field(default_factory=dict)
    searched_bytes: int = 0

    @property
    def found(self) -> int:
        """How many texts, hashes and vectors are still in the files, and in no row that stays."""
        return sum(self.found_after.values())

    @property
    def is_rewritten(self) -> bool:
        """Whether no dead row is left in any of the tables."""
        return not self.problems

    @property
    def proven(self) -> frozenset[NeedleKind]:
        """What the bytes are gone of: all of it was seen in the files before, and none of it is there now."""
        if self.not_verifiable is not None or self.controls is None or not self.controls.is_sound:
            return frozenset()
        doubts = (self.not_computable, self.kept, self.unseen, self.not_at_hand, self.found_after)
        return frozenset(
            kind for kind in NeedleKind if self.wanted.get(kind) and not any(each.get(kind) for each in doubts)
        )

    @property
    def is_proven(self) -> bool:
        """Whether it may be said of texts, hashes and vectors alike that their bytes are gone."""
        return self.proven == frozenset(NeedleKind)

    @property
    def reservations(self) -> tuple[str, ...]:
        """Return what wasn't shown, in sentences for a receipt's ``not_covered``."""
        told = [f"{table}: {problem}" for table, problem in self.problems.items()]
        if self.not_verifiable is not None:
            told.append(f"bytes in the server's files: not verifiable here, because {self.not_verifiable}")
        elif self.controls is not None and not self.controls.is_sound:
            told.append("bytes in the server's files: not verifiable here, because the search missed its own controls")
        elif not any(self.wanted.values()):
            told.append("bytes in the server's files: nothing was left to tell them by")
        told += [
            f"bytes of {count:,} {kind.value}: not computable, too short, or compressed beyond recognition"
            for kind, count in self.not_computable.items()
            if count
        ]
        told += [
            f"bytes of {count:,} {kind.value}: not computable, for rows that stay hold the same"
            for kind, count in self.kept.items()
            if count
        ]
        told += [
            f"bytes of {count:,} {kind.value}: not in the files before either, so that not finding them shows nothing; "
            "they were written over by then, or differ from what was made again of the originals"
            for kind, count in self.unseen.items()
            if count
        ]
        told += [
            f"bytes of {count:,} {kind.value}: not looked for, because their rows were gone before this run"
            for kind, count in self.not_at_hand.items()
            if count
        ]
        return tuple(told)

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        counted = ("wanted", "not_computable", "kept", "unseen", "not_at_hand", "found_before", "found_after")
        return {
            "locked": list(self.locked),
            "problems": self.problems,
            "not_verifiable": self.not_verifiable,
            "controls": None if self.controls is None else self.controls.as_json(),
            **{name: {kind.value: count for kind, count in getattr(self, name).items()} for name in counted},
            "searched_bytes": self.searched_bytes,
            "is_proven": self.is_proven,
        }


def tables_of(kinds: Iterable[ArtifactKind]) -> tuple[str, ...]:
    """Return the tables of kinds that hold texts, hashes or vectors; a later kind's too."""
    return tuple(dict.fromkeys(table for kind in kinds for table in kind.tables if table not in IDS_ONLY))


def needles_of(table: str) -> frozenset[NeedleKind]:
    """Return what of forgotten rows a table holds: its bytes are gone when those of all of it are."""
    return _HELD.get(table, frozenset(NeedleKind))


def find_bytes(connection: psycopg.Connection[Any], tables: Sequence[str], traces: Traces) -> frozenset[bytes] | None:
    """Return which bytes of a selection stand in the tables' files now; None where the files can't be read.

    Args:
        connection: in autocommit, outside a transaction.
        tables: schema-qualified.
        traces: what to look for.
    """
    if why_unreadable(connection) is not None:
        return None
    found, _ = _search(connection, [*tables, STATISTICS], make_needles(traces))
    return frozenset(needle.data for needle in found)


def remove_bytes(
    connection: psycopg.Connection[Any],
    tables: Sequence[str],
    traces: Traces,
    *,
    seen: frozenset[bytes] | None = None,
    not_at_hand: Mapping[NeedleKind, int] | None = None,
) -> BytesReport:
    """Write tables anew, and look for the bytes of what was forgotten.

    Args:
        connection: in autocommit, outside a transaction; the forgotten rows are deleted, and that is committed.
        tables: schema-qualified.
        traces: read from the stored rows before they went, or made again from the originals.
        seen: as ``find_bytes`` returned it before the rows were deleted; without it the files are searched now, where
            a vacuum may have written over some of the deleted rows.
        not_at_hand: how many things the forgotten rows had that ``traces`` lacks.
    """
    unreadable = why_unreadable(connection)
    if unreadable is not None:
        return BytesReport(tuple(tables), _problems(rewrite(connection, tables)), unreadable)
    wanted = make_needles(traces)
    controls = try_controls(connection)
    every = [*tables, STATISTICS]
    if seen is None:
        seen = find_bytes(connection, tables, traces) or frozenset()
    before = numbers_of(needle for needle in wanted.needles if needle.data in seen)
    problems = _problems(rewrite(connection, every))
    after, searched = _search(connection, every, wanted)
    kept = [needle for needle in after if _stands_in_kept_rows(connection, needle, traces)]
    left = numbers_of(needle for needle in after if needle not in kept)
    there = numbers_of(after)
    return BytesReport(
        tuple(every),
        problems,
        None,
        controls,
        wanted.wanted,
        wanted.blind,
        found_before=_counted(before),
        found_after=_counted(left),
        kept=_counted({kind: numbers - left[kind] for kind, numbers in numbers_of(kept).items()}),
        unseen=_counted({kind: each - before[kind] - there[kind] for kind, each in numbers_of(wanted.needles).items()}),
        not_at_hand=dict(not_at_hand or {}),
        searched_bytes=searched,
    )


def _problems(vacuumed: Iterable[Vacuumed]) -> dict[str, str]:
    return {each.table: each.problem for each in vacuumed if each.problem is not None}


def _counted(numbers: Mapping[NeedleKind, set[int]]) -> dict[NeedleKind, int]:
    return {kind: len(each) for kind, each in numbers.items()}


def _search(connection: psycopg.Connection[Any], tables: Sequence[str], wanted: Needles) -> tuple[list[Needle], int]:
    """Return the needles that stand in the tables' files, and how many bytes were searched."""
    flush(connection)
    searcher = Searcher(needle.data for needle in wanted.needles)
    found: set[bytes] = set()
    files = list_files(connection, tables)
    for file in files:
        found |= find_in_blocks(searcher, read_blocks(connection, file))
    return [needle for needle in wanted.needles if needle.data in found], sum(file.size for file in files)


def _stands_in_kept_rows(connection: psycopg.Connection[Any], needle: Needle, traces: Traces) -> bool:
    """Whether a row that stays explains the bytes: another session's, or another person's, that says the same."""
    match needle.kind:
        case NeedleKind.TEXT:
            query, value = _TEXT_IN_ROWS, _plain(needle, traces)
        case NeedleKind.HASH:
            query, value = _HASH_IN_ROWS, needle.data
        case NeedleKind.VECTOR:
            query, value = _VECTOR_IN_ROWS, traces.vectors[needle.number]
    row = connection.execute(sql.SQL(query), {"value": value}).fetchone()
    return bool(row and row[0])


def _plain(needle: Needle, traces: Traces) -> bytes:
    """Return the bytes of the text that a needle stands for, as a row would hold them."""
    return needle.data.replace(b"\0", b"") if traces.contents[needle.number] in traces.compressed else needle.data


_TEXT_IN_ROWS = "select exists (select from memory.chunk where position(%(value)s in convert_to(content, 'UTF8')) > 0)"
_HASH_IN_ROWS = """
    select exists (select from memory.chunk where content_hash = %(value)s)
        or exists (select from memory.embedding_cache where content_hash = %(value)s)
        or exists (select from memory.change where content_hash = %(value)s)
"""
_VECTOR_IN_ROWS = """
    select exists (select from memory.chunk where halfvec_send(embedding) = %(value)s)
        or exists (select from memory.embedding_cache where halfvec_send(embedding) = %(value)s)
"""
