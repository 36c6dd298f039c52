"""What memory holds for each person, in counts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import UnknownAccount
from orbit_pipelines.model import CHAT_HISTORY
from orbit_pipelines.sources.availability import SourceStatus
from orbit_pipelines.sources.resolution import default_plan, resolve_plans


@dataclass(frozen=True, slots=True)
class PersonOverview:
    """One account, all its agents together.

    ``pairs`` counts the active user messages, ``records`` what the other sources have of the person; ``pairs_skipped``
    and ``records_skipped`` how many of them the last builds left out, by reason. A pair whose reply alone stays out
    counts as skipped for ``reply_not_remembered``.
    """

    user_id: str
    plan_key: str
    is_on_default_plan: bool
    sessions: int
    pairs: int
    records: int
    chunks: int
    pairs_skipped: dict[str, int]
    records_skipped: dict[str, int]
    sources: tuple[SourceStatus, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the overview as values that JSON can hold."""
        return asdict(self)


def read_overview(connection: psycopg.Connection[Any]) -> tuple[PersonOverview, ...]:
    """Return every account, by user id."""
    plans = resolve_plans(connection)
    key = {"default_plan": default_plan(connection), "chat_history": CHAT_HISTORY}
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(statement("count_memory_by_account"), key).fetchall()
    return tuple(PersonOverview(**row, sources=plans[row["plan_key"]]) for row in rows)


@dataclass(frozen=True, slots=True)
class ScopeCounts:
    """What memory holds for some people now: chunks, and records that stay out."""

    chunks: int
    skipped: int


def count_scope(connection: psycopg.Connection[Any], users: Sequence[str] = ()) -> ScopeCounts:
    """Return the counts of those people; of everyone when none is named."""
    row = connection.execute(
        "select (select count(*) from memory.chunk where %(everyone)s or user_id = any(%(users)s)),"
        " (select count(*) from memory.skipped"
        "   where until_build_id is null and (%(everyone)s or user_id = any(%(users)s)))",
        {"everyone": not users, "users": list(users)},
    ).fetchone()
    return ScopeCounts(*row) if row else ScopeCounts(0, 0)


def require_known(connection: psycopg.Connection[Any], users: Sequence[str]) -> None:
    """Make sure that each of some people has an account, or had one whose memory a build may still have to empty.

    Raises:
        UnknownAccount: somebody never had one.
    """
    known = connection.execute(
        "select wanted from unnest(%(users)s::text[]) as wanted"
        " where exists (select from orbitpilot.account where user_id = wanted)"
        "    or exists (select from memory.pair where user_id = wanted)"
        "    or exists (select from memory.chunk where user_id = wanted)",
        {"users": list(users)},
    ).fetchall()
    unknown = [user for user in users if (user,) not in known]
    if unknown:
        raise UnknownAccount(
            f"There is no account {unknown[0]!r}, and there never was one with a history. `orbit account list` lists "
            "those there are."
        )
