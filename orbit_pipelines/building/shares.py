"""A publish in shares of its people, one after another in one transaction, so that memory doesn't grow with all.

Nothing that is compared belongs to two people, so a share's diff is what the diff of everything would say of it. A
share is a stretch of user ids, in the order that PostgreSQL's collation "C" and Polars have in common; between them the
shares cover every id there could be, also those of people of whom only stored rows are left.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.extraction import Extraction
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.frames import read_frame
from orbit_pipelines.database.statements import statement

MOST_ROWS = 150_000
"""About how many rows, of what is compared, a share has; one person's are never divided."""

_WEIGHTS = pl.Schema({"user_id": pl.String(), "rows": pl.Int64()})


@dataclass(frozen=True, slots=True)
class Share:
    """The people after one id and up to another; None is no bound. ``parts``: those that may hold them, or any."""

    after: str | None = None
    until: str | None = None
    parts: frozenset[str] | None = None

    @property
    def bounds(self) -> dict[str, str | None]:
        """Return the bounds as parameters of statements."""
        return {"after": self.after, "until": self.until}

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of these people; by ``user_id``."""
        if self.after is not None:
            rows = rows.filter(pl.col("user_id") > self.after)
        return rows if self.until is None else rows.filter(pl.col("user_id") <= self.until)

    def parts_of(self, workspace: Workspace, frame: str) -> list[str]:
        """Return the parts of a frame that may hold rows of these people."""
        return [part for part in workspace.parts(frame) if self.parts is None or part in self.parts]

    def read(
        self, workspace: Workspace, frame: str, schema: pl.Schema, columns: list[str] | None = None
    ) -> pl.DataFrame:
        """Return a frame's rows of these people in one; with ``columns``, only those, ``user_id`` among them."""
        wanted = pl.Schema({name: schema[name] for name in columns or schema})
        frames = [self.of(workspace.read(frame, part, list(wanted))) for part in self.parts_of(workspace, frame)]
        return pl.concat(frames) if frames else pl.DataFrame(schema=wanted)


EVERYBODY = Share()
"""The share of a publish that needs no division."""


def share_out(connection: psycopg.Connection[Any], workspace: Workspace, extraction: Extraction) -> list[Share]:
    """Return the shares of a build's people, in order; a single one where that holds few rows.

    Args:
        connection: in the publishing transaction.
        workspace: with the frames ``pairs`` and ``chunks`` finished.
        extraction: what they were made from.
    """
    staged = sum((workspace.facts(frame) or {"rows": 0})["rows"] for frame in ("pairs", "chunks"))
    stored = _stored_rows(connection, extraction)
    if staged + stored["rows"].sum() <= MOST_ROWS:
        return [EVERYBODY]
    weights = [stored]
    first_last: dict[str, tuple[str, str]] = {}
    for frame in ("pairs", "chunks"):
        for part in workspace.parts(frame):
            people = workspace.read(frame, part, ["user_id"])["user_id"]
            weights.append(people.value_counts(name="rows").cast({"rows": pl.Int64}))
            if len(people):
                first, last = str(people.min()), str(people.max())
                known = first_last.get(part, (first, last))
                first_last[part] = min(first, known[0]), max(last, known[1])
    bounds = [None, *ends_of_shares(pl.concat(weights)), None]
    return [
        Share(
            after,
            until,
            frozenset(
                part
                for part, (first, last) in first_last.items()
                if (after is None or last > after) and (until is None or first <= until)
            ),
        )
        for after, until in pairwise(bounds)
    ]


def ends_of_shares(weights: pl.DataFrame) -> list[str]:
    """Return the last user id of each share but the last one. Pure.

    Args:
        weights: ``user_id`` and ``rows``; somebody may be in it several times.
    """
    ends, rows = [], 0
    people = weights.group_by("user_id").agg(pl.col("rows").sum()).sort("user_id").rows()
    for (user_id, weight), (_, following) in pairwise(people):
        rows += weight
        if rows + following > MOST_ROWS:
            ends.append(user_id)
            rows = 0
    return ends


def _stored_rows(connection: psycopg.Connection[Any], extraction: Extraction) -> pl.DataFrame:
    """Return how many chunks are stored of each person who is taken whole; a single one can't be divided anyway."""
    if not (extraction.is_everything or len(extraction.whole_users) > 1):
        return pl.DataFrame(schema=_WEIGHTS)
    whom = {"everyone": extraction.is_everything, "users": list(extraction.whole_users)}
    return read_frame(connection, statement("count_stored_by_person"), whom, _WEIGHTS)
