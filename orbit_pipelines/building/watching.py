"""Whether a build is wanted by what changed: content, plans and the administrator's switches ask for one.

A toggled flag doesn't, and closing a session doesn't: they wait for the next build from any cause. Nor does another
recipe; the next build sees it, and the watcher needn't load a model to find out.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import psycopg

from orbit_pipelines.building.scope import Extent, Scope, changes_since, read_cluster, read_watermarks
from orbit_pipelines.database.statements import statement
from orbit_pipelines.sources.resolution import resolve_all_accounts, statuses_to_json


@dataclass(frozen=True, slots=True)
class Pending:
    """What a build would take up now.

    ``fingerprint`` names this very state of affairs: it stays equal until something more changes or a build publishes.
    """

    fingerprint: str
    is_everything: bool = False
    people: int = 0
    sessions: int = 0
    runs: int = 0
    records: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to build for."""
        return not (self.is_everything or self.people or self.sessions or self.runs or self.records)

    def describe(self) -> str:
        """Return what changed, in words."""
        if self.is_everything:
            return "no build has followed this database yet"
        counts = {
            "people": self.people,
            "whole sessions": self.sessions,
            "runs of messages": self.runs,
            "records": self.records,
        }
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing"


def pending_changes(connection: psycopg.Connection[Any]) -> Pending:
    """Return what changed since the last builds, toggled flags and closed sessions aside.

    Args:
        connection: outside a transaction; changes nothing.
    """
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        plans = resolve_all_accounts(connection)
        marks = read_watermarks(connection, Scope())
        extent = changes_since(
            connection,
            Scope(),
            marks,
            cluster=read_cluster(connection),
            recipe=None,
            plans=plans,
            with_flags=False,
        )
        newest, holds_content = connection.execute(statement("find_newest_change")).fetchone() or (None, False)
    builds = sorted(mark.build_id for mark in (*marks.people.values(), marks.bucket) if mark)
    return Pending(
        fingerprint=_fingerprint(newest, builds, statuses_to_json(plans)),
        # A database nobody has spoken in yet needs no first build.
        is_everything=extent.is_everything and holds_content,
        people=len(extent.whole_users),
        **_counts(extent),
    )


def _counts(extent: Extent) -> dict[str, int]:
    return {"sessions": extent.sessions.height, "runs": extent.runs.height, "records": extent.records.height}


def _fingerprint(*facts: Any) -> str:
    return sha256(json.dumps(facts).encode()).hexdigest()[:16]
