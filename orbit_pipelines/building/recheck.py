"""What came in between extraction and publish and must be honoured now: exclusions and tombstones.

A flag that was lifted meanwhile waits for the next build, and so do edits and deletions: only what a person asked to
be left out or forgotten is applied to frames that were made before they asked.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.diff import SOURCE
from orbit_pipelines.building.extraction import Extraction
from orbit_pipelines.building.scope import SESSION_KEY
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, Reason

_VERDICTS = pl.Schema({**dict.fromkeys(SOURCE, pl.String()), "recheck_verdict": pl.String()})
_FORGOTTEN = pl.Schema(dict.fromkeys(SESSION_KEY, pl.String()))


@dataclass(frozen=True, slots=True)
class Recheck:
    """The news since extraction, as one statement's snapshot saw them.

    ``verdicts`` works on runs: a run with a newly excluded message is dropped whole, and the next build puts back what
    remains. ``forgotten``: sessions with a tombstone that extraction didn't see.
    """

    snapshot: str
    verdicts: pl.DataFrame
    forgotten: pl.DataFrame


def recheck(connection: psycopg.Connection[Any], extraction: Extraction, left_out: tuple[str, ...]) -> Recheck:
    """Read what was excluded or forgotten since an extraction, for the people it publishes."""
    rows = connection.execute(
        statement("recheck_exclusions"),
        {
            "snapshot": extraction.snapshot,
            "everyone": extraction.scope.is_everyone,
            "users": list(extraction.users),
            "left_out": list(left_out),
        },
    ).fetchall()
    snapshot = rows[0][0]
    verdicts = []
    forgotten = []
    for _, kind, user_id, agent_id, key, item, is_flagged in rows:
        if kind == "tombstone":
            forgotten.append((user_id, agent_id, key))
        elif kind == "record":
            verdicts.append((user_id, agent_id, key, item, Reason.RECORD_EXCLUDED.value))
        elif kind == "message":
            verdict = Reason.NOT_REMEMBERED if is_flagged else Reason.REPLY_NOT_REMEMBERED
            verdicts.append((user_id, agent_id, CHAT_HISTORY, f"{key}:{item}", verdict.value))
        elif kind == "pair":
            verdicts.append((user_id, agent_id, CHAT_HISTORY, f"{key}:{item}", Reason.SESSION_FORGOTTEN.value))
    frame = pl.DataFrame(verdicts, schema=_VERDICTS, orient="row")
    is_forgotten = pl.col("recheck_verdict") == Reason.SESSION_FORGOTTEN.value
    return Recheck(
        snapshot=snapshot,
        # A forgotten session outranks a flag in it.
        verdicts=frame.sort(is_forgotten, descending=True, maintain_order=True).unique(SOURCE, keep="first"),
        forgotten=pl.DataFrame(forgotten, schema=_FORGOTTEN, orient="row"),
    )
