"""Which pairs of a session that an admission rule matches stay, and which are kept out.

A rule decides only for pairs that no build has covered yet. So when a publish first sees a session matched, it keeps
how many of its pairs memory had covered until then: those below stay, and later ones are ``not_admitted``. Only
publishes write those numbers, under their lock and counting what was there before themselves; so a rule comes either
before a publish, which then takes in nothing new of the session, or after it, and then finds covered what it took in.
"""

from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.scope import SESSION_KEY
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.frames import arrays, read_frame, slices
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, Reason

ADMISSIONS = pl.Schema({**dict.fromkeys(SESSION_KEY, pl.String()), "admitted_below": pl.Int32()})
"""Sessions that rules match, each with the number below which its pairs stay; null where none matches any more."""

DECIDED = pl.Schema({**ADMISSIONS, "is_new": pl.Boolean()})
"""``ADMISSIONS``; ``is_new``: the publish has it to write down: matched for the first time, or no more."""

NOTHING_DECIDED = pl.DataFrame(schema=DECIDED)
"""What there is to say where no rule is."""

_FRAME = "admissions"
_LESS_THAN_A_RULE = (
    Reason.LEFT_BRANCH.value,
    Reason.NO_TEXT.value,
    Reason.RECALLED_BLOCK.value,
    Reason.CONTRACT_BROKEN.value,
)


def read_admissions(connection: psycopg.Connection[Any], parameters: dict[str, Any]) -> pl.DataFrame:
    """Return what rules decide about the sessions of an extent, ``DECIDED``.

    Args:
        connection: in the transaction that reads the extent.
        parameters: those of the extent.
    """
    # Most installations have no rules, and planning the question takes longer than answering it.
    asked = connection.execute(
        "select exists (select from memory.admission_rule) or exists (select from memory.session_admission)"
    ).fetchone()
    if asked == (False,):
        return NOTHING_DECIDED
    return read_frame(connection, statement("read_admissions"), parameters, DECIDED)


def kept_out_of(decided: pl.DataFrame) -> dict[str, Any]:
    """Return the sessions that rules keep out, as parameters of ``extract_messages``; by ``DECIDED``."""
    return arrays(decided.filter(pl.col("admitted_below").is_not_null()).select(*ADMISSIONS), "kept_")


def stage_admissions(workspace: Workspace, decided: pl.DataFrame) -> None:
    """Write the frame ``admissions``, of what the publish has to write down; by ``DECIDED``."""
    new = decided.filter("is_new").select(*ADMISSIONS)
    if new.height or workspace.has_part(_FRAME, "all"):
        workspace.write(_FRAME, "all", new)


def keep_out(records: pl.DataFrame, kept_out: pl.DataFrame) -> pl.DataFrame:
    """Return judged records with ``not_admitted`` against the pairs that a rule of since keeps out. Pure.

    Args:
        records: with ``source_key``, ``session_id``, ``pair_index`` and ``verdict``, among others.
        kept_out: ``ADMISSIONS``.
    """
    if kept_out.is_empty():
        return records
    is_kept_out = (
        (pl.col("source_key") == CHAT_HISTORY)
        & (pl.col("pair_index") >= pl.col("admitted_below"))
        & (pl.col("verdict").is_null() | pl.col("verdict").is_in(_LESS_THAN_A_RULE))
    )
    return (
        records.join(kept_out, on=SESSION_KEY, how="left", maintain_order="left")
        .with_columns(
            pl.when(is_kept_out).then(pl.lit(Reason.NOT_ADMITTED.value)).otherwise("verdict").alias("verdict")
        )
        .select(*records.columns)
    )


def keep_admissions(
    connection: psycopg.Connection[Any], workspace: Workspace, kept_out: pl.DataFrame, left_out: tuple[str, ...]
) -> None:
    """Write down what rules decided about the sessions of this publish.

    Args:
        connection: in the publishing transaction.
        workspace: the build's, with its frame ``admissions``.
        kept_out: ``ADMISSIONS`` of rules that came since extraction; they win.
        left_out: people this publish leaves alone.
    """
    if kept_out.is_empty() and not workspace.has_part(_FRAME, "all"):
        return
    seen = (
        workspace.read_all(_FRAME, ADMISSIONS)
        .filter(~pl.col("user_id").is_in(left_out))
        .join(kept_out, on=SESSION_KEY, how="anti")
    )
    has_ended = pl.col("admitted_below").is_null()
    for rows in slices(seen.filter(has_ended).select(*SESSION_KEY)):
        connection.execute(statement("end_admissions"), rows)
    for rows in slices(pl.concat([seen.filter(~has_ended), kept_out])):
        connection.execute(statement("keep_admissions"), rows)
