"""Take what a build must look at out of the application's tables, at one snapshot.

Everything comes from one REPEATABLE READ transaction: what changed, the messages, the plans, and the snapshot that
becomes the watermark. All messages are carried with their flags; none is filtered here. Admission rules are asked
before any text is read: what they keep out is carried without it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import psycopg
from pydantic import TypeAdapter

from orbit_pipelines.building.admissions import NOTHING_DECIDED, kept_out_of, read_admissions, stage_admissions
from orbit_pipelines.building.other_records import STORED_RECORDS
from orbit_pipelines.building.pairing import MESSAGES, unanswering_replies
from orbit_pipelines.building.recipe import Recipe
from orbit_pipelines.building.scope import (
    SESSION_KEY,
    Extent,
    Scope,
    Watermarks,
    changes_since,
    everything,
    read_cluster,
    read_watermarks,
)
from orbit_pipelines.building.workspace import Workspace, split_by_store
from orbit_pipelines.database.frames import read_batches, read_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import Mode
from orbit_pipelines.sources.resolution import default_plan, resolve_all_accounts, statuses_to_json

STORES = pl.Schema({"user_id": pl.String(), "agent_id": pl.String(), "forget_revision": pl.Int64()})
SOURCES = pl.Schema({"user_id": pl.String(), "source_key": pl.String(), "source_reason": pl.String()})
QUARANTINED = pl.Schema(dict.fromkeys(SESSION_KEY, pl.String()))
_ACCOUNTS = pl.Schema({"user_id": pl.String(), "plan_key": pl.String()})


@dataclass(frozen=True, slots=True)
class Extraction:
    """What the later steps and the publish must know of an extraction, beside its frames.

    ``is_unchanged``: nothing at all changed since the watermarks; there are no frames.
    """

    mode: Mode
    users: tuple[str, ...]
    snapshot: str
    system_identifier: str
    database_oid: int
    recipe: str
    plan_statuses: dict[str, dict[str, str | None]]
    watermarks: Watermarks
    is_everything: bool
    whole_users: tuple[str, ...]
    why_everything: str | None
    is_unchanged: bool
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        """Who the build is for."""
        return Scope(self.users)

    @property
    def is_full(self) -> bool:
        """Whether the publish replaces the scope's rows instead of changing them."""
        return self.mode == Mode.FULL


_JSON = TypeAdapter(Extraction)


def extract(
    connection: psycopg.Connection[Any],
    workspace: Workspace,
    *,
    mode: Mode,
    scope: Scope,
    recipe: Recipe,
    batch_messages: int,
    on_progress: Callable[[int], None] = lambda _rows: None,
) -> Extraction:
    """Write what the later steps read, and return what they must know beside it.

    The frames are ``messages``, ``records``, ``admissions``, ``sources``, ``stores``, ``quarantined``, and the keys of
    the extent.

    Args:
        connection: outside a transaction.
        workspace: where the frames go; nothing is written when nothing changed.
        mode: ``incremental`` takes what changed since the watermarks, ``full`` everything of the scope.
        scope: whose history.
        recipe: what chunks are made by; another one than the watermark's takes everything.
        batch_messages: about how many messages one part holds.
        on_progress: called with the number of messages of each part.
    """
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        snapshot = _scalar(connection, "select pg_current_snapshot()::text")
        cluster = read_cluster(connection)
        plans = resolve_all_accounts(connection)
        watermarks = read_watermarks(connection, scope)
        if mode == Mode.FULL:
            extent = everything(scope)
        else:
            extent = changes_since(
                connection, scope, watermarks, cluster=cluster, recipe=recipe.fingerprint, plans=plans
            )
        counts: dict[str, int] = {}
        if not extent.is_empty:
            parameters = _parameters(extent, watermarks, cluster_is_current(watermarks, cluster))
            counts = _write_frames(connection, workspace, parameters, batch_messages, on_progress)
            _write_people(connection, workspace, extent, statuses_to_json(plans))
            for name, keys in (("sessions", extent.sessions), ("runs", extent.runs), ("records", extent.records)):
                workspace.write("extent", name, keys)
    extraction = Extraction(
        mode=mode,
        users=scope.users,
        snapshot=snapshot,
        system_identifier=cluster.system_identifier,
        database_oid=cluster.database_oid,
        recipe=recipe.fingerprint,
        plan_statuses=statuses_to_json(plans),
        watermarks=watermarks,
        is_everything=extent.is_everything,
        whole_users=extent.whole_users,
        why_everything=extent.why_everything,
        is_unchanged=extent.is_empty,
        counts=counts,
    )
    workspace.finish("extraction", _JSON.dump_python(extraction, mode="json"))
    return extraction


def read_extraction(workspace: Workspace) -> Extraction | None:
    """Return what the extraction step of this run found, or None when it hasn't run."""
    facts = workspace.facts("extraction")
    return None if facts is None else _JSON.validate_python(facts)


def read_extent(workspace: Workspace, extraction: Extraction) -> Extent:
    """Return the extent an extraction looked at."""
    return Extent(
        is_everything=extraction.is_everything,
        whole_users=extraction.whole_users,
        why_everything=extraction.why_everything,
        **{part: workspace.read("extent", part) for part in workspace.parts("extent")},
    )


def cluster_is_current(watermarks: Watermarks, cluster: Any) -> bool:
    """Whether the bucket's snapshot means anything in this database."""
    return watermarks.bucket is not None and watermarks.bucket.cluster == cluster


def as_it_is_now(extent: Extent, *, with_kept_out: bool, since: str | None = None) -> dict[str, Any]:
    """Return the parameters of the statements that extract, for whoever looks at an extent outside a build.

    What admission rules decide is not in them: see ``admissions.kept_out_of``.

    Args:
        extent: what to look at.
        with_kept_out: whether texts that admission rules keep out are wanted too.
        since: the snapshot that ``is_content_changed`` compares with; without one it is null.
    """
    return {
        **extent.arrays(),
        **kept_out_of(NOTHING_DECIDED),
        "is_everything": extent.is_everything,
        "with_kept_out": with_kept_out,
        "remade_users": [],
        "mark_users": [],
        "mark_snapshots": [],
        "bucket_snapshot": since,
    }


def _parameters(extent: Extent, watermarks: Watermarks, is_bucket_valid: bool) -> dict[str, Any]:
    return {
        **extent.arrays(),
        "is_everything": extent.is_everything,
        "with_kept_out": False,
        "mark_users": list(watermarks.people),
        "mark_snapshots": [mark.snapshot for mark in watermarks.people.values()],
        "bucket_snapshot": watermarks.bucket.snapshot if watermarks.bucket and is_bucket_valid else None,
    }


def _write_frames(
    connection: psycopg.Connection[Any],
    workspace: Workspace,
    parameters: dict[str, Any],
    batch_messages: int,
    on_progress: Callable[[int], None],
) -> dict[str, int]:
    counts = {"messages": 0, "records": 0, "unanswering_replies": 0}
    remade = connection.execute(statement("find_remade_accounts"), parameters).fetchall()
    decided = read_admissions(connection, parameters)
    stage_admissions(workspace, decided)
    batches = read_batches(
        connection,
        statement("extract_messages"),
        {**parameters, **kept_out_of(decided), "remade_users": [user_id for (user_id,) in remade]},
        MESSAGES,
        batch_rows=batch_messages,
        whole=SESSION_KEY,
    )
    for number, batch in enumerate(batches):
        counts["messages"] += batch.height
        counts["unanswering_replies"] += unanswering_replies(batch)
        for shard, rows in split_by_store(batch):
            workspace.write("messages", f"m{number:05d}-{shard:02d}", rows)
        on_progress(batch.height)
    batches = read_batches(
        connection,
        statement("extract_records"),
        parameters,
        STORED_RECORDS,
        batch_rows=batch_messages,
        whole=("user_id", "agent_id", "source_key", "source_id"),
    )
    for number, batch in enumerate(batches):
        counts["records"] += batch.height
        for shard, rows in split_by_store(batch):
            workspace.write("records", f"r{number:05d}-{shard:02d}", rows)
    broken = read_frame(connection, statement("find_broken_sessions"), parameters, QUARANTINED)
    counts["quarantined_sessions"] = broken.height
    workspace.write("quarantined", "all", broken)
    return counts


def _write_people(
    connection: psycopg.Connection[Any],
    workspace: Workspace,
    extent: Extent,
    plan_statuses: dict[str, dict[str, str | None]],
) -> None:
    people = {
        *extent.whole_users,
        *extent.sessions["user_id"],
        *extent.runs["user_id"],
        *extent.records["user_id"],
    }
    who = {"is_everything": extent.is_everything, "users": sorted(people), "plan": default_plan(connection)}
    accounts = read_frame(
        connection,
        b"select user_id, coalesce(plan_key, %(plan)s) from orbitpilot.account"
        b" where %(is_everything)s or user_id = any(%(users)s) order by user_id",
        who,
        _ACCOUNTS,
    )
    statuses = pl.DataFrame(
        [(plan, source, reason) for plan, each in plan_statuses.items() for source, reason in each.items()],
        schema={"plan_key": pl.String, "source_key": pl.String, "source_reason": pl.String},
        orient="row",
    )
    workspace.write("sources", "all", accounts.join(statuses, on="plan_key").select(*SOURCES))
    stores = read_frame(
        connection,
        b"select user_id, agent_id, forget_revision from memory.store"
        b" where %(is_everything)s or user_id = any(%(users)s)",
        who,
        STORES,
    )
    workspace.write("stores", "all", stores)


def _scalar(connection: psycopg.Connection[Any], query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None
