"""Who a build is for, how far memory has followed them, and what changed since.

A *scope* is a bucket (everyone, while there is one bucket) or some people. An *extent* is what of it a build must look
at: everything, whole people, whole sessions, single runs of user messages, single records. Nothing outside the extent
can differ from what is stored, so nothing outside it is read.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.database.frames import arrays
from orbit_pipelines.database.statements import statement
from orbit_pipelines.sources.resolution import PlanStatuses, plans_that_differ

BUCKET = "bucket_000"

SESSION_KEY = ("user_id", "agent_id", "session_id")
RECORD_KEY = ("user_id", "agent_id", "source_key", "source_id")

_SESSIONS = pl.Schema(dict.fromkeys(SESSION_KEY, pl.String()))
_RUNS = pl.Schema({**_SESSIONS, "run_index": pl.Int32()})
_RECORDS = pl.Schema(dict.fromkeys(RECORD_KEY, pl.String()))


@dataclass(frozen=True, slots=True)
class Scope:
    """The people of a build: everyone, or those named."""

    users: tuple[str, ...] = ()

    @property
    def is_everyone(self) -> bool:
        """Whether this is a build of the bucket."""
        return not self.users

    def as_json(self) -> dict[str, Any]:
        """Return the scope as ``memory.build`` keeps it."""
        return {"bucket": 0} if self.is_everyone else {"users": list(self.users)}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which database this is: a snapshot means nothing in another one."""

    system_identifier: str
    database_oid: int


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far memory has followed a scope's data."""

    scope: str
    snapshot: str
    cluster: Cluster
    recipe: str
    plan_statuses: dict[str, dict[str, str | None]]
    build_id: int


@dataclass(frozen=True, slots=True)
class Watermarks:
    """The watermark rows in force for a scope: the bucket's, and those of people who have their own."""

    bucket: Watermark | None
    people: dict[str, Watermark]

    def of(self, user_id: str) -> Watermark | None:
        """Return the row in force for a person: their own stands instead of the bucket's."""
        return self.people.get(user_id, self.bucket)


@dataclass(frozen=True, slots=True)
class Extent:
    """What a build must look at. ``why_everything`` says why a build that could be quick is not."""

    is_everything: bool
    whole_users: tuple[str, ...] = ()
    sessions: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_SESSIONS))
    runs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_RUNS))
    records: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_RECORDS))
    why_everything: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all changed."""
        return not (
            self.is_everything or self.whole_users or self.sessions.height or self.runs.height or self.records.height
        )

    def arrays(self) -> dict[str, Any]:
        """Return the parts as parallel arrays, for statements that unnest them."""
        return {
            "whole_users": list(self.whole_users),
            **arrays(self.sessions, "session_"),
            **arrays(self.runs, "run_"),
            **arrays(self.records, "record_"),
        }


def read_cluster(connection: psycopg.Connection[Any]) -> Cluster:
    """Return the identity of the database behind a connection."""
    row = connection.execute(
        "select system_identifier::text, (select oid::bigint from pg_database where datname = current_database())"
        "  from pg_control_system()"
    ).fetchone()
    if row is None:  # pragma: no cover - the function always yields a row
        raise RuntimeError("pg_control_system() returned nothing")
    return Cluster(row[0], row[1])


def read_watermarks(connection: psycopg.Connection[Any], scope: Scope) -> Watermarks:
    """Return the watermark rows a scope is followed by."""
    rows = connection.execute(
        "select scope, snapshot::text, system_identifier, database_oid::bigint, recipe, plan_statuses, build_id"
        "  from memory.watermark where %(everyone)s or scope = %(bucket)s or scope = any(%(people)s)",
        {
            "everyone": scope.is_everyone,
            "bucket": BUCKET,
            "people": [f"user:{user}" for user in scope.users],
        },
    ).fetchall()
    marks = {row[0]: Watermark(row[0], row[1], Cluster(row[2], row[3]), *row[4:]) for row in rows}
    return Watermarks(
        bucket=marks.get(BUCKET),
        people={key.removeprefix("user:"): mark for key, mark in marks.items() if key != BUCKET},
    )


def everything(scope: Scope, why: str | None = None) -> Extent:
    """Return the extent of a full build: all people of the scope, whole."""
    return Extent(is_everything=scope.is_everyone, whole_users=scope.users, why_everything=why)


def changes_since(
    connection: psycopg.Connection[Any],
    scope: Scope,
    watermarks: Watermarks,
    *,
    cluster: Cluster,
    recipe: str | None,
    plans: PlanStatuses,
    with_flags: bool = True,
) -> Extent:
    """Return what changed in a scope since its watermarks, as this transaction's snapshot sees it.

    A watermark of another database, of another recipe, or none at all: the people it stands for are taken whole.

    Args:
        connection: in a transaction; its snapshot is what is looked at.
        scope: whose data.
        watermarks: those in force for the scope.
        cluster: the database behind the connection.
        recipe: what chunks are made by now; None compares no recipes.
        plans: every plan's sources as they are now.
        with_flags: whether a toggled flag is a change.
    """

    def why_void(mark: Watermark | None) -> str | None:
        if mark is None:
            return "first build"
        if mark.cluster != cluster:
            return "the watermark is of another database"
        return "the recipe changed" if recipe not in (None, mark.recipe) else None

    if scope.is_everyone:
        why = why_void(watermarks.bucket)
        if why:
            return everything(scope, why)
        followed = watermarks.people
    else:
        followed = {user: mark for user in scope.users if (mark := watermarks.of(user)) is not None}
    void = [user for user, mark in followed.items() if why_void(mark)]
    whole = {*void, *(user for user in scope.users if user not in followed)}
    valid = {user: mark for user, mark in followed.items() if user not in whole}
    marks = [*valid.values(), *([watermarks.bucket] if scope.is_everyone and watermarks.bucket else [])]
    if not marks:
        return Extent(
            is_everything=False, whole_users=tuple(sorted(whole)), why_everything=_why(void, why_void, followed)
        )

    moved_plans = {mark.scope: plans_that_differ(mark.plan_statuses, plans) for mark in marks}
    parameters = {
        "only_users": None if scope.is_everyone else sorted(valid),
        "users": list(valid),
        "snapshots": [mark.snapshot for mark in valid.values()],
        # An array of arrays would have to be rectangular; one JSON text a person need not be.
        "user_plans": [json.dumps(moved_plans[mark.scope]) for mark in valid.values()],
        "bucket_snapshot": watermarks.bucket.snapshot if scope.is_everyone and watermarks.bucket else None,
        "bucket_plans": moved_plans.get(BUCKET, []),
        "with_flags": with_flags,
        "oldest": str(min(int(mark.snapshot.split(":")[0]) for mark in marks)),
    }
    # The planner has no idea how few rows lie beyond the watermark; a sequential scan would read the whole history.
    connection.execute("set local enable_seqscan = off")
    whole.update(row[0] for row in connection.execute(statement("find_changed_users"), parameters))
    sessions = _frame(connection, "find_changed_sessions", parameters, _SESSIONS)
    runs = _frame(connection, "find_changed_runs", parameters, _RUNS)
    records = _frame(connection, "find_changed_records", parameters, _RECORDS)
    connection.execute("set local enable_seqscan = on")
    if not (whole or sessions.height or runs.height or records.height):
        return Extent(is_everything=False)
    outside = pl.DataFrame({"user_id": sorted(whole)}, schema={"user_id": pl.String})
    sessions = sessions.join(outside, on="user_id", how="anti")
    return Extent(
        is_everything=False,
        whole_users=tuple(sorted(whole)),
        sessions=sessions,
        runs=runs.join(outside, on="user_id", how="anti").join(sessions, on=SESSION_KEY, how="anti"),
        records=records.join(outside, on="user_id", how="anti"),
        why_everything=_why(void, why_void, followed),
    )


def _why(void: list[str], why_void: Any, followed: dict[str, Watermark]) -> str | None:
    return why_void(followed[void[0]]) if void else None


def _frame(
    connection: psycopg.Connection[Any], name: str, parameters: dict[str, Any], schema: pl.Schema
) -> pl.DataFrame:
    rows = connection.execute(statement(name), parameters).fetchall()
    return pl.DataFrame(rows, schema=schema, orient="row")
