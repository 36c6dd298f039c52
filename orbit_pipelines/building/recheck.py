"""What came in between extraction and publish and must be honoured now: exclusions, tombstones and admission rules.

A flag or a rule that was lifted meanwhile waits for the next build, and so do edits and deletions: only what somebody
asked to be left out or forgotten is applied to frames that were made before they asked.
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

_VERDICTS = pl.Schema(
    {**dict.fromkeys(SOURCE, pl.String()), "recheck_verdict": pl.String(), "is_of_reply": pl.Boolean()}
)
_FORGOTTEN = pl.Schema(dict.fromkeys(SESSION_KEY, pl.String()))


@dataclass(frozen=True, slots=True)
class Recheck:
    """The news since extraction, as one statement's snapshot saw them.

    ``verdicts`` works on runs: a run with a newly excluded message is dropped whole, and the next build puts back what
    remains. One that ``is_of_reply`` stands only against a pair that would be published with a reply: to its run came a
    message that had been excluded before. ``forgotten``: sessions with a tombstone that extraction didn't see.
    ``kept_out``: ``ADMISSIONS`` of the sessions that a rule matches that extraction didn't see. ``at``: the moment of
    the publishing transaction.
    """

    snapshot: str
    at: datetime
    verdicts: pl.DataFrame
    forgotten: pl.DataFrame
    kept_out: pl.DataFrame

    def of(self, share: Share) -> "Recheck":
        """Return the news of a share's people."""
        return replace(
            self,
            verdicts=share.of(self.verdicts),
            forgotten=share.of(self.forgotten),
            kept_out=share.of(self.kept_out),
        )


def recheck(connection: psycopg.Connection[Any], extraction: Extraction, left_out: tuple[str, ...]) -> Recheck:
    """Read what was excluded, forgotten or ruled out since an extraction, for the people it publishes."""
    rows = connection.execute(
        statement("recheck_exclusions"),
        {
            "snapshot": extraction.snapshot,
            "everyone": extraction.scope.is_everyone,
            "users": list(extraction.users),
            "left_out": list(left_out),
        },
    ).fetchall()
    snapshot, at = rows[0][:2]
    verdicts = []
    forgotten = []
    kept_out = []
    for _, _, kind, user_id, agent_id, key, item, is_flagged in rows:
        if kind == "tombstone":
            forgotten.append((user_id, agent_id, key))
        elif kind == "admission":
            kept_out.append((user_id, agent_id, key, int(item)))
        elif kind == "record":
            verdicts.append((user_id, agent_id, key, item, Reason.RECORD_EXCLUDED.value, False))
        elif kind in ("message", "reply"):
            verdict = Reason.NOT_REMEMBERED if is_flagged else Reason.REPLY_NOT_REMEMBERED
            verdicts.append((user_id, agent_id, CHAT_HISTORY, f"{key}:{item}", verdict.value, kind == "reply"))
        elif kind == "pair":
            verdicts.append((user_id, agent_id, CHAT_HISTORY, f"{key}:{item}", Reason.SESSION_FORGOTTEN.value, False))
    gone = pl.DataFrame(forgotten, schema=_FORGOTTEN, orient="row")
    log_forgotten(gone)
    frame = pl.DataFrame(verdicts, schema=_VERDICTS, orient="row")
    if frame.height:
        # A forgotten session outranks a flag in it, and what stands against the pair what stands against its reply.
        is_forgotten = pl.col("recheck_verdict") == Reason.SESSION_FORGOTTEN.value
        frame = frame.sort(~is_forgotten, "is_of_reply", maintain_order=True).unique(SOURCE, keep="first")
    return Recheck(
        snapshot=snapshot,
        at=at,
        verdicts=frame,
        forgotten=gone,
        kept_out=pl.DataFrame(kept_out, schema=ADMISSIONS, orient="row"),
    )
