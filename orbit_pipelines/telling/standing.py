"""Where one message or record stands, from facts to state. Pure: the whole table of facts is tested.

The verdicts are those of ``building.verdicts``, so a label can't say anything else than the next build does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orbit_pipelines.model import Reason


class State(StrEnum):
    """The states of ``building.states``; both kinds of addition, new and returning, are ``pending`` here.

    ``remembered``: in memory and stays. ``pending_removal``: in memory, the next build removes it. ``not_remembered``:
    not in memory, and the next build won't add it. ``pending``: not in memory, the next build adds it.
    """

    REMEMBERED = "remembered"
    PENDING_REMOVAL = "pending_removal"
    NOT_REMEMBERED = "not_remembered"
    PENDING = "pending"


class ReplyState(StrEnum):
    """How the lot of a reply differs from that of the message it answers."""

    OUT = "reply_out"
    LEAVES = "reply_leaves"
    JOINS = "reply_joins"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is true of a message or record now.

    Attributes:
        is_flagged: the eye is closed: ``not_remembered``, or a record's ``is_excluded``.
        verdict: why the next build keeps it out, the flag included; None where it doesn't.
        reply_verdict: why the next build keeps its reply alone out.
        has_reply: a reply belongs to it now.
        is_stored: memory has something of it.
        is_reply_stored: memory has it together with a reply.
        is_run_reply_stored: memory has some message of its run together with the reply.
        is_text_new: its text, or its reply's, was written since the last build looked.
    """

    is_flagged: bool
    verdict: Reason | None
    reply_verdict: Reason | None = None
    has_reply: bool = False
    is_stored: bool = False
    is_reply_stored: bool = False
    is_run_reply_stored: bool = False
    is_text_new: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """Where it stands. ``reason`` is what keeps it out apart from the eye; ``reply`` is None where it shares its lot.

    ``is_text_pending``: memory has an earlier text, and the latest from the next build on.
    """

    state: State
    reason: Reason | None = None
    reply: ReplyState | None = None
    is_text_pending: bool = False


_EYES = (Reason.NOT_REMEMBERED, Reason.RECORD_EXCLUDED)


def facts_of(row: Mapping[str, Any]) -> Facts:
    """Return the facts of a judged record.

    Args:
        row: of ``verdicts.JUDGED``, and ``is_stored``, ``is_reply_stored`` and ``is_run_reply_stored`` with it.
    """
    return Facts(
        is_flagged=row["is_excluded"],
        verdict=_as_reason(row["verdict"]),
        reply_verdict=_as_reason(row["reply_verdict"]),
        has_reply=row["has_reply"],
        is_stored=row["is_stored"],
        is_reply_stored=row["is_reply_stored"],
        is_run_reply_stored=row["is_run_reply_stored"],
        is_text_new=bool(row["is_content_changed"]),
    )


def decide_standing(facts: Facts) -> Standing:
    """Return where something stands."""
    if facts.is_flagged:
        # Until the next build the reply to its run is in memory as well, be it with another message of the run.
        is_there = facts.is_stored or facts.is_run_reply_stored
        reason = None if facts.verdict in _EYES else facts.verdict
        return Standing(State.PENDING_REMOVAL if is_there else State.NOT_REMEMBERED, reason)
    # A session that breaks its contract is left as it is: what is there stays, nothing comes.
    if facts.verdict is Reason.CONTRACT_BROKEN and facts.is_stored:
        return Standing(State.REMEMBERED)
    if facts.verdict is not None:
        return Standing(State.PENDING_REMOVAL if facts.is_stored else State.NOT_REMEMBERED, facts.verdict)
    reply = _reply(facts)
    if not facts.is_stored:
        return Standing(State.PENDING, reply=reply)
    return Standing(State.REMEMBERED, reply=reply, is_text_pending=facts.is_text_new and reply is None)


def _reply(facts: Facts) -> ReplyState | None:
    if facts.reply_verdict is not None:
        return ReplyState.LEAVES if facts.is_stored and facts.is_reply_stored else ReplyState.OUT
    if facts.has_reply and facts.is_stored and not facts.is_reply_stored:
        return ReplyState.JOINS
    return None


def _as_reason(value: str | None) -> Reason | None:
    return None if value is None else Reason(value)
