"""The mirrored tables: their columns, and the statements that read them from PostgreSQL.

Ids, counts, hashes and reasons only. A column that could hold a text (a build's note) is not mirrored.
"""

from dataclasses import dataclass

import pyarrow as pa

_INSTANT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True)
class MirroredTable:
    """One table of the mirror; ``reader`` names the statement that reads its rows of given builds."""

    name: str
    reader: str
    schema: pa.Schema


BUILDS = MirroredTable(
    "builds",
    "read_lineage_builds",
    pa.schema(
        {
            "build_id": pa.int64(),
            "publish_order": pa.int64(),
            "status": pa.string(),
            "mode": pa.string(),
            "scope": pa.string(),
            "recipe": pa.string(),
            "executor": pa.string(),
            "dagster_run_id": pa.string(),
            "started_at": _INSTANT,
            "published_at": _INSTANT,
            "finished_at": _INSTANT,
            "records": pa.int64(),
            "added": pa.int64(),
            "removed": pa.int64(),
            "updated": pa.int64(),
            "unchanged": pa.int64(),
            "skipped": pa.int64(),
            "embedded": pa.int64(),
            "from_cache": pa.int64(),
            "superseded_stores": pa.int64(),
        }
    ),
)

CHANGES = MirroredTable(
    "changes",
    "read_lineage_changes",
    pa.schema(
        {
            "build_id": pa.int64(),
            "publish_order": pa.int64(),
            "changed_at": _INSTANT,
            "user_id": pa.string(),
            "agent_id": pa.string(),
            "source_key": pa.string(),
            "source_id": pa.string(),
            "chunk_index": pa.int32(),
            "content_hash": pa.string(),
            "action": pa.string(),
            "reason": pa.string(),
        }
    ),
)

SKIPPED = MirroredTable(
    "skipped",
    "read_lineage_skipped",
    pa.schema(
        {
            "build_id": pa.int64(),
            "publish_order": pa.int64(),
            "published_at": _INSTANT,
            "user_id": pa.string(),
            "agent_id": pa.string(),
            "source_key": pa.string(),
            "source_id": pa.string(),
            "reason": pa.string(),
            "event": pa.string(),
        }
    ),
)

SOURCE_STATUSES = MirroredTable(
    "source_statuses",
    "read_lineage_source_statuses",
    pa.schema(
        {
            "build_id": pa.int64(),
            "publish_order": pa.int64(),
            "published_at": _INSTANT,
            "user_id": pa.string(),
            "source_key": pa.string(),
            "status": pa.string(),
            "reason": pa.string(),
            "event": pa.string(),
        }
    ),
)

COMPANIONS = (CHANGES, SKIPPED, SOURCE_STATUSES)
"""What a build wrote besides its own row; only published builds wrote any."""

TABLES = (BUILDS, *COMPANIONS)

FORGETS = MirroredTable(
    "forgets",
    "read_lineage_forgets",
    pa.schema(
        {
            "user_id": pa.string(),
            "agent_id": pa.string(),
            "session_id": pa.string(),
            "forgotten_at": _INSTANT,
            "caught_build_id": pa.int64(),
            "caught_chunks": pa.int64(),
            "receipt_number": pa.int64(),
            "receipt_issued_at": _INSTANT,
        }
    ),
)
"""What is forgotten now: of no build, and mirrored whole, since a session that moves takes its tombstone along."""
