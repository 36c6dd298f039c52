"""What a responder is given, and what it promises."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from orbit_pipelines.history.stream import Role
from orbit_pipelines.model import OriginClass


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the running session, as it was said; ``not_remembered`` is what its person's eye says of it."""

    role: Role
    text: str
    not_remembered: bool = False


@dataclass(frozen=True, slots=True)
class Spoken:
    """A stretch of a memory that one side said."""

    text: str
    origin_class: OriginClass


@dataclass(frozen=True, slots=True)
class Memory:
    """A chunk that recall found: from which source, when it was said, and whose words each stretch of it is.

    ``origin_class`` is the least trusted of them; a memory without stretches is of that class throughout.
    """

    text: str
    source_key: str
    origin_class: OriginClass
    sent_at: datetime | None
    stretches: tuple[Spoken, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """All that a reply may be made from.

    Args:
        thread: the whole running session, the question last; messages that aren't to be remembered are in it.
        memories: what recall found for the question in the person's own store, the nearest first.
        note: what memory has to admit about the question, in the person's language: a source that isn't included.
        language: ``en`` or ``fr``.
    """

    thread: tuple[Turn, ...]
    memories: tuple[Memory, ...] = ()
    note: str | None = None
    language: str = "en"


class ReplyFailed(Exception):
    """The responder can't reply; the message says why, and quotes nothing."""


class Responder(Protocol):
    """Replies to a question, piece by piece."""

    def reply(self, question: Question) -> Iterator[str]:
        """Yield the reply's text in order.

        Raises:
            ReplyFailed: before or between two pieces.
        """
