"""What forgotten sessions would be recognised by, whatever row, file or log holds it: texts, keyed hashes, vectors.

Before a purge they are read from memory as it is. Afterwards they are made again from the originals, which stay:
paired, cut and hashed as a build would, and embedded where somebody wants to look for vectors.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.chunking import ChunkerSettings
from orbit_pipelines.building.chunks import CHUNKS, make_chunks
from orbit_pipelines.building.extraction import as_it_is_now
from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.building.other_records import STORED_RECORDS, shape_records
from orbit_pipelines.building.pairing import MESSAGES, pair_messages
from orbit_pipelines.building.scope import Extent
from orbit_pipelines.building.verdicts import JUDGED
from orbit_pipelines.database.frames import read_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.database.vectors import to_wire
from orbit_pipelines.embedders.protocol import Embedder
from orbit_pipelines.forgetting.selection import Selection
from orbit_pipelines.settings import Settings

NEEDLE = 200
"""Characters of a snippet that are looked for: its beginning tells it as well as all of it."""


@dataclass(frozen=True, slots=True)
class Traces:
    """Texts, hashes and vectors of a selection.

    ``snippets``: lines of its messages and chunks, twelve characters or more. ``contents`` and ``hashes``: of its
    chunks. ``vectors``: in wire form. ``compressed``: the contents that PostgreSQL keeps compressed, or may.
    """

    snippets: frozenset[str] = frozenset()
    contents: tuple[str, ...] = ()
    hashes: frozenset[bytes] = frozenset()
    vectors: tuple[bytes, ...] = ()
    compressed: frozenset[str] = frozenset()

    @property
    def needles(self) -> list[str]:
        """The snippets as they are looked for."""
        return sorted({snippet[:NEEDLE] for snippet in self.snippets})

    def __or__(self, other: "Traces") -> "Traces":
        """Return both together; how a text is kept, the first knows better."""
        return Traces(
            self.snippets | other.snippets,
            tuple(dict.fromkeys(self.contents + other.contents)),
            self.hashes | other.hashes,
            tuple(dict.fromkeys(self.vectors + other.vectors)),
            self.compressed | (other.compressed - set(self.contents)),
        )


def read_traces(connection: psycopg.Connection[Any], selection: Selection, snippets: frozenset[str]) -> Traces:
    """Return what memory holds of a selection now; before a purge."""
    with connection.cursor(binary=True) as cursor:
        rows = [
            row
            for each in selection.by_name
            for row in cursor.execute(statement("read_selected_vectors"), each.parameters())
        ]
    return Traces(
        snippets,
        tuple(dict.fromkeys(content for content, *_ in rows)),
        frozenset(bytes(content_hash) for _, content_hash, _, _ in rows),
        tuple(dict.fromkeys(bytes(vector) for _, _, vector, _ in rows)),
        frozenset(content for content, _, _, compression in rows if compression is not None),
    )


def remake_traces(
    connection: psycopg.Connection[Any],
    settings: Settings,
    selection: Selection,
    snippets: frozenset[str],
    embedder: Embedder | None = None,
) -> Traces:
    """Return what a build would make of a selection's originals, as far as they are still there.

    Args:
        connection: reads only.
        settings: how texts are cut, and the key of their hashes.
        selection: whose originals; a former name may have some too, such as records caught before a session moved.
        snippets: as ``snippets.read_snippets`` returns them.
        embedder: computes the vectors; None for a look without them.
    """
    records = [pair_messages(_messages(connection, selection)), shape_records(_records(connection, selection))]
    # Whatever stood against a pair when it was built, here all of it is looked for.
    judged = pl.concat(
        frame.with_columns(
            pl.lit(None, pl.String).alias("verdict"),
            pl.lit(None, pl.String).alias("reply_verdict"),
            pl.col("reply_text").is_not_null().alias("has_reply"),
        ).match_to_schema(JUDGED, extra_columns="ignore")
        for frame in records
    )
    chunker = ChunkerSettings(max_characters=settings.chunk_characters)
    chunks = make_chunks(judged, chunker, load_hash_key(settings)) if judged.height else pl.DataFrame(schema=CHUNKS)
    contents = chunks["content"].unique(maintain_order=True).to_list()
    vectors = to_wire(embedder.embed_passages(contents)).to_list() if embedder is not None and contents else []
    hashes = frozenset(chunks["content_hash"].to_list())
    return Traces(snippets, tuple(contents), hashes, tuple(vectors), frozenset(contents))


def _messages(connection: psycopg.Connection[Any], selection: Selection) -> pl.DataFrame:
    sessions = [(each.user_id, session) for each in selection.by_name for session in each.sessions]
    return read_frame(
        connection,
        statement("extract_messages"),
        {
            **as_it_is_now(Extent(is_everything=False), with_kept_out=True),
            "whole_users": _whole_users(selection),
            "session_user_id": [user_id for user_id, _ in sessions],
            "session_agent_id": [session.agent_id for _, session in sessions],
            "session_session_id": [session.session_id for _, session in sessions],
        },
        MESSAGES,
    )


def _records(connection: psycopg.Connection[Any], selection: Selection) -> pl.DataFrame:
    records = [(each.user_id, record) for each in selection.by_name for record in sorted({*each.records, *each.caught})]
    return read_frame(
        connection,
        statement("extract_records"),
        {
            **as_it_is_now(Extent(is_everything=False), with_kept_out=True),
            "whole_users": _whole_users(selection),
            "record_user_id": [user_id for user_id, _ in records],
            "record_agent_id": [record.agent_id for _, record in records],
            "record_source_key": [record.source_key for _, record in records],
            "record_source_id": [record.source_id for _, record in records],
        },
        STORED_RECORDS,
    )


def _whole_users(selection: Selection) -> list[str]:
    return [each.user_id for each in selection.by_name if each.account]
