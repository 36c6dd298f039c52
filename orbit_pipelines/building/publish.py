"""One transaction that turns a build's frames into memory: diff, lineage and watermark together, or nothing.

The order matters. The lock is taken in a statement of its own, so that what is read afterwards is newer than the lock.
Then everything that may have happened since extraction is read again: whether another build published these people
meanwhile, whether a forget ran, which messages and records were excluded, which sessions were forgotten, which of them
an admission rule keeps out now. What came in is applied and the publish goes on; it never waits for quiet. A large
publish takes its people share by share (``building.shares``), all in the one transaction.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import psycopg
from psycopg.types.json import Jsonb

from orbit_pipelines.building.admissions import keep_admissions
from orbit_pipelines.building.applying import (
    apply_diff,
    count_days,
    count_unfit,
    record_changes,
    record_skips,
    record_source_statuses,
    refuse_unfit,
    skips_of,
    tend_cache,
)
from orbit_pipelines.building.diff import ChunkDiff, diff_chunks, diff_skips
from orbit_pipelines.building.embedding import TEXTS as TEXT_KEY
from orbit_pipelines.building.embedding import VECTORS
from orbit_pipelines.building.extraction import STORES, Extraction, read_extent
from orbit_pipelines.building.locks import lock_bucket, lock_person
from orbit_pipelines.building.reasons import explain
from orbit_pipelines.building.recheck import Recheck, recheck
from orbit_pipelines.building.recipe import Recipe
from orbit_pipelines.building.scope import BUCKET, Watermark, Watermarks, read_watermarks
from orbit_pipelines.building.shares import share_out
from orbit_pipelines.building.staging import (
    Publication,
    fetch_vectors,
    gather_chunks,
    gather_records,
    reach_of,
    read_history,
    read_skips,
    read_stored,
)
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.frames import read_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import Action


@dataclass(frozen=True, slots=True)
class Published:
    """What a publish did. ``is_superseded``: other builds had published everyone meanwhile; nothing was written.

    ``unchanged`` counts the compared chunks that stayed; what lies outside the extent was not compared. ``from_cache``
    counts written chunks whose vector was known. ``reasons``: action (or ``skipped``) → reason → rows.
    """

    is_superseded: bool = False
    records: int = 0
    added: int = 0
    removed: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    embedded: int = 0
    from_cache: int = 0
    left_out: tuple[str, ...] = ()
    reasons: dict[str, dict[str, int]] = field(default_factory=dict)


_COUNTS = ("records", "added", "removed", "updated", "unchanged", "skipped", "embedded", "from_cache")


def publish(
    connection: psycopg.Connection[Any],
    workspace: Workspace,
    extraction: Extraction,
    *,
    recipe: Recipe,
    build_id: int,
    cache_days: int,
    note: str | None = None,
) -> Published:
    """Bring memory to what the workspace's frames say, in one READ COMMITTED transaction.

    Args:
        connection: in autocommit.
        workspace: with every frame of the build.
        extraction: what the frames were made from.
        recipe: how they were made.
        build_id: the build's.
        cache_days: how long an embedding no chunk uses is kept.
        note: what the build's row is to say, beside what the publish itself has to say.

    Raises:
        NothingStagedMayPass: a row that is excluded, forgotten or renumbered would have been published; nothing was.
        BuildFailed: the workspace lacks something this publish needs.
    """
    with connection.transaction():
        connection.execute("set transaction isolation level read committed")
        if len(extraction.users) == 1:
            lock_person(connection, extraction.users[0])
        else:
            lock_bucket(connection)
        marks = read_watermarks(connection, extraction.scope)
        overtaken = _overtaken(extraction, marks)
        forgetting = _forgetting(connection, workspace, extraction)
        left_out = None if overtaken is None else tuple(sorted(overtaken | forgetting))
        if left_out is None or (extraction.users and set(left_out) >= set(extraction.users)):
            return Published(is_superseded=True)
        extent = read_extent(workspace, extraction)
        is_first = extent.is_everything and _is_without_lineage(connection)
        publication = Publication(connection, workspace, extraction, extent, recipe, build_id, left_out, is_first)
        news = recheck(connection, extraction, left_out)
        shares = [
            _publish_share(publication.at(share), news.of(share))
            for share in share_out(connection, workspace, extraction)
        ]
        refuse_unfit(publication, [share.unfit for share in shares])
        record_source_statuses(publication)
        keep_admissions(connection, workspace, news.kept_out, left_out)
        tend_cache(publication, pl.concat([share.bereft for share in shares]), cache_days)
        _move_watermarks(publication, marks)
        published = _sum([share.published for share in shares])
        _close_build(publication, published, news.snapshot, _told(note, extraction.why_everything, forgetting))
    return published


@dataclass(frozen=True, slots=True)
class _ShareWritten:
    """One share, written: what it did, and what is left to do of it (see ``building.applying``) once all are."""

    published: Published
    bereft: pl.DataFrame
    unfit: tuple[int, int, int]


def _publish_share(publication: Publication, news: Recheck) -> _ShareWritten:
    records = gather_records(publication, news)
    fresh = gather_chunks(publication, records)
    reach = reach_of(publication, records, news)
    stored = read_stored(publication, reach)
    diff = diff_chunks(stored, fresh)
    diff = explain(diff, records, stored, read_history(publication, diff, records))
    written = fresh if publication.extraction.is_full else diff.inserted
    apply_diff(publication, reach, diff, written, fetch_vectors(publication, written))
    record_changes(publication, diff, news.at)
    skips = skips_of(records)
    record_skips(publication, diff_skips(read_skips(publication, reach), skips))
    return _ShareWritten(
        published=_count(publication, records, diff, written, skips),
        bereft=count_days(publication, diff),
        unfit=count_unfit(publication, written, news),
    )


def _is_without_lineage(connection: psycopg.Connection[Any]) -> bool:
    found = connection.execute(
        "select exists (select from memory.change) or exists (select from memory.skipped)"
    ).fetchone()
    return found == (False,)


def _overtaken(extraction: Extraction, marks: Watermarks) -> set[str] | None:
    """Return the people whom another build published meanwhile; None when that is everyone."""
    before = extraction.watermarks

    def build_of(mark: Watermark | None) -> int | None:
        return mark.build_id if mark else None

    if extraction.scope.is_everyone and build_of(before.bucket) != build_of(marks.bucket):
        return None
    people = extraction.users or {*before.people, *marks.people}
    return {user for user in people if build_of(before.of(user)) != build_of(marks.of(user))}


def _forgetting(connection: psycopg.Connection[Any], workspace: Workspace, extraction: Extraction) -> set[str]:
    """Return the people of whom something was forgotten since extraction: their frames are not whole any more."""
    revisions = read_frame(
        connection,
        b"select user_id, agent_id, forget_revision from memory.store where %(all)s or user_id = any(%(users)s)",
        {"all": extraction.scope.is_everyone, "users": list(extraction.users)},
        STORES,
    )
    raised = revisions.join(
        workspace.read_all("stores", STORES), on=("user_id", "agent_id"), how="left", suffix="_seen"
    ).filter(pl.col("forget_revision") != pl.col("forget_revision_seen").fill_null(0))
    return {*raised["user_id"], *(store.user_id for store in workspace.forgotten_stores())}


def _told(note: str | None, why_everything: str | None, forgetting: set[str]) -> str | None:
    """Return what the build's row says of it."""
    waiting = (
        f"something of {len(forgetting)} of its people was forgotten meanwhile: their source changed, so they wait "
        "for the next build"
    )
    return "; ".join(part for part in (note, why_everything, waiting if forgetting else None) if part) or None


def _move_watermarks(publication: Publication, marks: Watermarks) -> None:
    connection, extraction, left_out = publication.connection, publication.extraction, publication.left_out
    if extraction.scope.is_everyone:
        # Whoever was left out keeps following the mark that was in force for them.
        behind = [user for user in left_out if user not in marks.people]
        if behind:
            connection.execute(
                statement("keep_people_behind"),
                {"users": behind, "bucket": BUCKET, "build_id": publication.build_id},
            )
        if marks.people:
            connection.execute(
                "delete from memory.watermark where scope <> %s and scope <> all(%s)",
                [BUCKET, [f"user:{user}" for user in left_out]],
            )
        scopes = [BUCKET]
    else:
        scopes = [f"user:{user}" for user in extraction.users if user not in left_out]
    for scope in scopes:
        connection.execute(
            statement("move_watermark"),
            {
                "scope": scope,
                "snapshot": extraction.snapshot,
                "system_identifier": extraction.system_identifier,
                "database_oid": extraction.database_oid,
                "recipe": extraction.recipe,
                "plan_statuses": Jsonb(extraction.plan_statuses),
                "build_id": publication.build_id,
            },
        )
    connection.execute(statement("prune_deletions"))


def _count(
    publication: Publication, records: pl.DataFrame, diff: ChunkDiff, written: pl.DataFrame, skips: pl.DataFrame
) -> Published:
    embedded = publication.share.read(publication.workspace, "vectors", VECTORS, [*TEXT_KEY, "is_new"]).filter("is_new")
    rows = {
        Action.ADDED.value: diff.inserted,
        Action.REMOVED.value: diff.removed,
        Action.UPDATED.value: diff.updated,
        "skipped": skips,
    }
    return Published(
        records=records.filter(pl.col("verdict").is_null()).height,
        added=diff.inserted.height,
        removed=diff.removed.height,
        updated=diff.updated.height,
        unchanged=diff.unchanged,
        skipped=skips.height,
        embedded=embedded.height,
        from_cache=written.join(embedded, on=TEXT_KEY, how="anti").height,
        left_out=publication.left_out,
        reasons={name: dict(sorted(Counter(frame["reason"]).items())) for name, frame in rows.items()},
    )


def _sum(shares: Sequence[Published]) -> Published:
    """Return what the shares of a publish did together."""
    first, *others = shares
    for share in others:
        first = replace(
            first,
            **{name: getattr(first, name) + getattr(share, name) for name in _COUNTS},
            reasons={
                action: dict(sorted((Counter(counts) + Counter(share.reasons[action])).items()))
                for action, counts in first.reasons.items()
            },
        )
    return first


def _close_build(publication: Publication, published: Published, recheck_snapshot: str, note: str | None) -> None:
    publication.connection.execute(
        statement("close_published_build"),
        {
            "build_id": publication.build_id,
            "snapshot": publication.extraction.snapshot,
            "recheck_snapshot": recheck_snapshot,
            "recipe": publication.extraction.recipe,
            "note": note,
            "records": published.records,
            "added": published.added,
            "removed": published.removed,
            "updated": published.updated,
            "unchanged": published.unchanged,
            "skipped": published.skipped,
            "embedded": published.embedded,
            "from_cache": published.from_cache,
            "superseded_stores": len(published.left_out),
        },
    )
