"""The line under the composer: whether conversations are remembered, at the cost of one query a page at most.

It knows the administrator's switch and the plan's assignment, not the plan's cap: a source that is assigned can still
be crowded out. That is why it always links to Memory Status, which asks ``resolve_build_sources``.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import psycopg
from psycopg.rows import class_row

from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, Reason
from orbit_pipelines.sources.availability import source_availability
from orbit_pipelines.telling.wording import Wording


@dataclass(frozen=True, slots=True)
class ChatSourceFacts:
    """What decides whether chat history is available to a person, as ``source_availability`` takes it."""

    in_rag: bool
    assignment: bool | None
    default_visible: bool


class NoticeKind(StrEnum):
    """Which of the three notices it is."""

    REMEMBERED = "remembered"
    NOT_INCLUDED = "not_included"
    GUEST = "guest"


@dataclass(frozen=True, slots=True)
class Notice:
    """The notice; ``reason`` is None but where chat history isn't a source of the person's plan."""

    kind: NoticeKind
    reason: Reason | None = None

    def text(self, wording: Wording) -> str:
        """Return the line as people read it."""
        if self.reason is None:
            return wording(f"notice.{self.kind.value}")
        return wording("notice.not_included", why=wording.source_reason(CHAT_HISTORY, self.reason))


GUEST_NOTICE = Notice(NoticeKind.GUEST)


def notice_for(
    connection: psycopg.Connection[Any], user_id: str | None, facts: ChatSourceFacts | None = None
) -> Notice:
    """Return the notice for whoever looks at a page; None is a guest.

    Args:
        connection: asked once, and not at all for a guest or where ``facts`` are given.
        user_id: the signed-in person.
        facts: what one of the request's own gates has read already.
    """
    if user_id is None:
        return GUEST_NOTICE
    return notice_of(read_chat_source_facts(connection, user_id) if facts is None else facts)


def notice_of(facts: ChatSourceFacts) -> Notice:
    """Return the notice that follows from the facts."""
    reason = source_availability(
        in_rag=facts.in_rag, assignment=facts.assignment, default_visible=facts.default_visible
    )
    return Notice(NoticeKind.REMEMBERED) if reason is None else Notice(NoticeKind.NOT_INCLUDED, reason)


def read_chat_source_facts(connection: psycopg.Connection[Any], user_id: str) -> ChatSourceFacts:
    """Return the facts about chat history for one person, in one query; a source nobody registered is not assigned."""
    with connection.cursor(row_factory=class_row(ChatSourceFacts)) as cursor:
        found = cursor.execute(
            statement("read_source_facts"), {"user_id": user_id, "source_key": CHAT_HISTORY}
        ).fetchone()
    return found or ChatSourceFacts(in_rag=True, assignment=False, default_visible=False)
