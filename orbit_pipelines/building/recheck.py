"""What came in between extraction and publish and must be honoured now: exclusions, tombstones and admission rules.

A flag or a rule that was lifted meanwhile waits for the next build, and so do edits and deletions: only what somebody
asked to be left out or forgotten is applied to frames that were made before they asked. Frames know things by the key
they had then: what moved to another one is left out under both, and what was deleted by the last flag that the ledger
has of it. Records have no ledger, so one that was deleted meanwhile is left out whatever its flag was.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.admissions import ADMISSIONS
from orbit_pipelines.building.diff import SOURCE
from orbit_pipelines.building.extraction import Extraction
from orbit_pipelines.building.forgotten import log_forgotten
from orbit_pipelines.building.scope import SESSION_KEY
from orbit_pipelines.building.shares import Share
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, Reason

_VERDICTS = pl.Schema({**dict.fromkeys(SOURCE, pl.String()), "recheck_verdict": pl.String(), "kind": pl.String()})
_FORGOTTEN = pl.Schema(dict.fromkeys(SESSION_KEY, pl.String()))
_OF_REPLY = ("held_reply", "reply")


@dataclass(frozen=True, slots=True)
class Recheck:
    """The news since extraction, as one statement's snapshot saw them.

    ``verdicts`` works on runs: a run with a newly excluded message is dropped whole, and the next build puts back what
    remains. One that ``is_of_reply`` stands only against a pair that would be published with a reply: to its run came a
    message that had been excluded before, or one of it went that was excluded then; ``is_held``: memory has the pair
    with a reply. ``forgotten``: sessions with a tombstone that extraction didn't see. ``kept_out``: ``ADMISSIONS`` of
    the sessions that a rule matches that extraction didn't see, and ``kept_out_before`` of names they had then. ``at``:
    the moment of the publishing transaction. ``has_departures``: something moved or went since extraction.
    """

    snapshot: str
    at: datetime
    verdicts: pl.DataFrame
    forgotten: pl.DataFrame
    kept_out: pl.DataFrame
    kept_out_before: pl.DataFrame
    has_departures: bool

    def of(self, share: Share) -> "Recheck":
        """Return the news of a share's people."""
        return replace(
            self,
            verdicts=share.of(self.verdicts),
            forgotten=share.of(self.forgotten),
            kept_out=share.of(self.kept_out),
            kept_out_before=share.of(self.kept_out_before),
        )


def recheck(connection: psycopg.Connection[Any], extraction: Extraction, left_out: tuple[str, ...]) -> Recheck:
    """Read what was excluded, forgotten or ruled out since an extraction, for the people it publishes."""
    since = {
        "snapshot": extraction.snapshot,
        "everyone": extraction.scope.is_everyone,
        "users": list(extraction.users),
        "left_out": list(left_out),
    }
    rows = connection.execute(statement("recheck_exclusions"), since).fetchall()
    if has_departures := rows[0][2]:
        # Instead of what was found, not beside it: that is of another moment.
        rows = connection.execute(statement("recheck_departures"), since).fetchall()
    snapshot, at = rows[0][:2]
    verdicts = []
    forgotten = []
    kept_out: dict[str, list[tuple[str, str, str, int]]] = {"admission": [], "former_admission": []}
    for _, _, _, kind, user_id, agent_id, key, item, reason in rows:
        if kind == "tombstone":
            forgotten.append((user_id, agent_id, key))
        elif kind in kept_out:
            kept_out[kind].append((user_id, agent_id, key, int(item)))
        elif kind == "record":
            verdicts.append((user_id, agent_id, key, item, reason, kind))
        elif kind is not None:
            verdicts.append((user_id, agent_id, CHAT_HISTORY, f"{key}:{item}", reason, kind))
    gone = pl.DataFrame(forgotten, schema=_FORGOTTEN, orient="row").unique(maintain_order=True)
    log_forgotten(gone)
    return Recheck(
        snapshot=snapshot,
        at=at,
        verdicts=_first_of_each(pl.DataFrame(verdicts, schema=_VERDICTS, orient="row")),
        forgotten=gone,
        kept_out=pl.DataFrame(kept_out["admission"], schema=ADMISSIONS, orient="row"),
        kept_out_before=pl.DataFrame(kept_out["former_admission"], schema=ADMISSIONS, orient="row").unique(),
        has_departures=has_departures,
    )


def _first_of_each(found: pl.DataFrame) -> pl.DataFrame:
    """Return one verdict a source: what stands against the pair before what stands against its reply."""
    if found.height:
        reason, kind = pl.col("recheck_verdict"), pl.col("kind")
        found = found.sort(
            kind.is_in(_OF_REPLY),
            kind == "reply",
            reason != Reason.SESSION_FORGOTTEN.value,
            kind != "gone",
            reason == Reason.REPLY_NOT_REMEMBERED.value,
            maintain_order=True,
        ).unique(SOURCE, keep="first", maintain_order=True)
    return found.select(
        *SOURCE,
        "recheck_verdict",
        pl.col("kind").is_in(_OF_REPLY).alias("is_of_reply"),
        (pl.col("kind") == "held_reply").alias("is_held"),
    )
