"""What every kind of artifact has to tell a forget: what of it is touched, how it goes, and whether it is gone.

A kind is whatever was made from sessions: chunks, cached embeddings, files of workspaces, lineage, and later entries
and memory files. A forget walks the registry in the order of stages, so that a kind added later can't be left out.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, Protocol

import psycopg

from orbit_pipelines.forgetting.selection import Selection
from orbit_pipelines.settings import Settings


class Stage(IntEnum):
    """When a kind's turn comes. Tombstones and the fence are committed before the first."""

    ENTRIES = 1
    """Consolidated entries, candidates, ranking state, preimages."""
    FILES = 2
    """Lines of memory files and journals."""
    CHUNKS = 3
    CACHE = 4
    WORKSPACES = 5
    STATE = 6
    """What imports and change detection keep of the sessions."""
    LINEAGE = 7
    EVIDENCE = 8
    """Write records and origin rows: a later purge would need them to find the rest, so they go when that is gone."""


class Depth(StrEnum):
    """How far something is gone; said of a kind only as far as it was looked."""

    UNREACHABLE = "unreachable"
    ROWS_DELETED = "rows deleted"
    VACUUMED = "vacuumed"
    BYTES_GONE = "bytes gone"


@dataclass(frozen=True, slots=True, order=True)
class Mixed:
    """An artifact that goes whole although it also comes from sessions that stay."""

    id: str
    remaining_sessions: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class TouchedLine:
    """A whole line of a file that goes. Its text is shown in the report only, and is kept nowhere.

    ``is_elsewhere``: what it holds of the selected sessions also stands in sessions that aren't selected.
    """

    file: str
    line: int
    text: str
    is_elsewhere: bool


@dataclass(frozen=True, slots=True)
class Touched:
    """What of one kind a selection touches.

    ``ids`` name it without text or content hash; ``count`` may exceed them where single things have no names.
    ``fingerprint`` goes into the plan's digest beside count and ids, for what changes under an id. The rest is listed
    apart in the report: ``edited`` by hand, ``untargetable`` (without origins), ``refused`` (can't be purged, and why),
    ``to_review`` (files that selected sessions wrote; not deleted).
    """

    count: int = 0
    ids: tuple[str, ...] = ()
    fingerprint: str = ""
    mixed: tuple[Mixed, ...] = ()
    lines: tuple[TouchedLine, ...] = ()
    edited: tuple[str, ...] = ()
    untargetable: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    to_review: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Absence:
    """What was still found of a kind, and to which depth it is gone as far as that was looked at.

    ``where``: tables with keys, or files, as far as who looked knows them; no text.
    """

    found: int
    depth: Depth
    where: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """What the functions of a kind are given.

    ``connection`` is in autocommit where a kind purges; the dry run's is in one read-only transaction. ``snippets``
    are exact texts of the selected sessions, at least twelve characters each, read once and before anything is deleted;
    ask for them only where texts are searched. ``on_wait`` is told that the kind waits for a lock.
    """

    connection: psycopg.Connection[Any]
    settings: Settings
    selection: Selection
    rederive: bool = False
    snippets: Callable[[], frozenset[str]] = frozenset
    on_wait: Callable[[], None] = lambda: None


class ArtifactKind(Protocol):
    """One kind. ``tables`` (schema-qualified) and ``folders`` (below ORBIT_HOME) say where it lies.

    ``purge`` works from the selection, not from what ``touched`` found, and is idempotent; each call is atomic or can
    be repeated after it was cut off anywhere. It returns what went. ``verify`` reads what is stored; it never trusts
    ``purge``.
    """

    @property
    def name(self) -> str:
        """Its name in reports."""

    @property
    def stage(self) -> Stage:
        """When its turn comes."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that hold it."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that hold it."""

    def touched(self, scene: Scene) -> Touched:
        """Return what of it the selection touches; changes nothing."""

    def purge(self, scene: Scene) -> Touched:
        """Take it away, and return what went."""

    def verify(self, scene: Scene) -> Absence:
        """Look whether any of it is left."""


def in_order(kinds: Iterable[ArtifactKind]) -> tuple[ArtifactKind, ...]:
    """Return kinds in the order in which they are purged: by stage, and as registered within one."""
    return tuple(sorted(kinds, key=lambda kind: kind.stage))
