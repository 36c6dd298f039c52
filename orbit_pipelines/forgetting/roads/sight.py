"""What a road is given, and what it answers."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.database.vectors import to_wire
from orbit_pipelines.embedders.protocol import Embedder
from orbit_pipelines.embedders.registry import create_embedder
from orbit_pipelines.errors import EmbeddingFailed
from orbit_pipelines.forgetting.kinds import Depth
from orbit_pipelines.forgetting.selection import Selection
from orbit_pipelines.forgetting.traces import Traces
from orbit_pipelines.settings import Settings


@dataclass(frozen=True)
class Sight:
    """What is looked for, and where. ``connection`` only reads. ``embedder``: the configured one unless given."""

    connection: psycopg.Connection[Any]
    settings: Settings
    selection: Selection
    traces: Traces
    embedder: Embedder | None = None

    def embed(self, text: str) -> bytes | None:
        """Return a text's vector in wire form, to judge a single stored one by; None where no embedder answers."""
        try:
            embedder = self.embedder or create_embedder(self.settings)
            return bytes(to_wire(embedder.embed_passages([text]))[0])
        except EmbeddingFailed:
            return None

    def is_selected(self, agent_id: str, session_id: str | None, source_key: str | None, source_id: str | None) -> bool:
        """Whether a row with these keys, of the selection's person, is of the selection."""
        if self.selection.account:
            return True
        if (agent_id, source_key, source_id) in self._taken_back:
            return (agent_id, source_key, source_id) in self._records
        of_pair = source_id.rpartition(":")[0] if source_id is not None and source_key in (None, _CHATS) else None
        return (
            (agent_id, session_id) in self._sessions
            or (agent_id, of_pair) in self._sessions
            or (agent_id, source_key, source_id) in self._records
        )

    @cached_property
    def _sessions(self) -> frozenset[tuple[str, str | None]]:
        return frozenset((each.agent_id, each.session_id) for each in self.selection.sessions)

    @cached_property
    def _records(self) -> frozenset[tuple[str, str | None, str | None]]:
        records = (*self.selection.records, *self.selection.caught)
        return frozenset((each.agent_id, each.source_key, each.source_id) for each in records)

    @cached_property
    def _taken_back(self) -> frozenset[tuple[str, str | None, str | None]]:
        # Taken from a selected session, but its owner's again: it names the session, and is none of it.
        rows = self.connection.execute(
            "select agent_id, source_key, source_id from memory.forgotten_record"
            " where user_id = %s and taken_back_at is not null",
            [self.selection.user_id],
        )
        return frozenset(rows.fetchall())


_CHATS = "orbitpilot.chat_history"


@dataclass(frozen=True, slots=True)
class Look:
    """What was found on a road, and how far the road goes.

    ``found``: how many rows, files or events hold something of the selection. ``where``: place → how many: a table and
    the key of its row, or a file; no text.
    ``looked_at``: how many there were to look at. ``not_looked``: why the road, or part of it, could not be gone; None
    when it was.
    """

    found: int
    depth: Depth = Depth.ROWS_DELETED
    where: dict[str, int] = field(default_factory=dict)
    looked_at: int = 0
    not_looked: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return {
            "found": self.found,
            "depth": self.depth.value,
            "where": self.where,
            "looked_at": self.looked_at,
            "not_looked": self.not_looked,
        }


def look(where: Iterable[str], looked_at: int, not_looked: str | None = None) -> Look:
    """Return a look from the place of each single thing that was found."""
    places = Counter(where)
    return Look(places.total(), Depth.ROWS_DELETED, dict(sorted(places.items())), looked_at, not_looked)


def together(looks: Iterable[Look]) -> Look:
    """Return looks on one road as one: a thing that several found is one thing."""
    first, *others = looks
    for other in others:
        where = {place: max(each.where.get(place, 0) for each in (first, other)) for place in first.where | other.where}
        first = Look(
            sum(where.values()),
            first.depth,
            dict(sorted(where.items())),
            first.looked_at + other.looked_at,
            first.not_looked if first.not_looked is not None else other.not_looked,
        )
    return first


def place(table: str, *key: object) -> str:
    """Return how a row is named to people: its table and its key, which hold no text; the last number is a chunk's."""
    given = [str(each) for each in key if each is not None]
    if given and isinstance(key[-1], int):
        given[-2:] = ["#".join(given[-2:])]
    return f"{table} {'/'.join(given)}" if given else table


def spellings(needles: Iterable[str]) -> list[str]:
    """Return needles as they stand in text, in JSON, and in JSON that is ASCII only."""
    spelled = ((needle, json.dumps(needle, ensure_ascii=False)[1:-1], json.dumps(needle)[1:-1]) for needle in needles)
    return sorted({each for group in spelled for each in group})


def texts_with(texts: pl.Series, needles: list[str]) -> pl.Series:
    """Return which texts hold any of the needles, exactly; null holds none."""
    if not needles:
        return pl.repeat(False, len(texts), dtype=pl.Boolean, eager=True)
    return texts.cast(pl.String).str.contains_any(needles).fill_null(value=False)
