"""What a forget is for: the selectors as somebody gave them, and the selection they resolve to. Pure.

A selection holds keys, never texts, so that it stays what it was when the rows behind it vanish meanwhile.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from orbit_pipelines.errors import UsageError
from orbit_pipelines.history.text import clean_text
from orbit_pipelines.model import DEFAULT_AGENT, Store


@dataclass(frozen=True, slots=True)
class Selectors:
    """Which sessions and records of one person to select; any that matches one of the selectors is.

    ``agent_id``: whose memory of the person; None is the default agent, and with ``account`` all there are.
    ``records``: pairs of source key and source id. ``since`` narrows to sessions that began then or later.

    Raises:
        UsageError: no selector at all, a value that is no id (empty, or not to be stored), a ``since`` without
            an offset, or options that contradict each other.
    """

    user_id: str
    agent_id: str | None = None
    sessions: tuple[str, ...] = ()
    participants: tuple[str, ...] = ()
    hook_sources: tuple[str, ...] = ()
    records: tuple[tuple[str, str], ...] = ()
    account: bool = False
    since: datetime | None = None

    def __post_init__(self) -> None:
        if not (self.sessions or self.participants or self.hook_sources or self.records or self.account):
            raise UsageError(
                "Nothing is selected: give --session, --participant, --hook-source, --record or --account. "
                "Nothing was changed."
            )
        for what, value in self._ids():
            if problem := _problem_of_id(value):
                raise UsageError(f"{what} is no id: {problem}. Nothing was changed.")
        if self.since is not None and self.since.utcoffset() is None:
            raise UsageError(
                f"{self.since.isoformat()} has no offset, so it names no instant: write it as "
                f"{self.since.isoformat()}Z or with +02:00. Nothing was changed."
            )
        if self.account and self.agent_id is not None:
            raise UsageError("--account takes every agent's memory of the person: leave out --agent.")
        if self.account and self.since is not None:
            raise UsageError("--account takes everything of the person, whenever it began: leave out --since.")

    def _ids(self) -> Iterator[tuple[str, str]]:
        yield "the user", self.user_id
        if self.agent_id is not None:
            yield "the agent", self.agent_id
        for what, values in (
            ("a session", self.sessions),
            ("a participant", self.participants),
            ("a hook source", self.hook_sources),
        ):
            yield from ((what, value) for value in values)
        for source_key, source_id in self.records:
            yield "a record's source", source_key
            yield "a record", source_id

    @property
    def store(self) -> Store:
        """The one store that the selectors are about, unless they take the account whole."""
        return Store(self.user_id, self.agent_id or DEFAULT_AGENT)


def _problem_of_id(value: str) -> str | None:
    if not value.strip():
        return "it is empty"
    _, is_changed = clean_text(value)
    return "it holds characters that can't be stored" if is_changed else None


@dataclass(frozen=True, slots=True, order=True)
class SelectedSession:
    """A session of the selection's person."""

    agent_id: str
    session_id: str


@dataclass(frozen=True, slots=True, order=True)
class SelectedRecord:
    """A record of the selection's person."""

    agent_id: str
    source_key: str
    source_id: str

    def as_json(self) -> dict[str, str]:
        """Return it as reports and receipts name it."""
        return {"agent_id": self.agent_id, "source_key": self.source_key, "source_id": self.source_id}


@dataclass(frozen=True, slots=True)
class Selection:
    """What the selectors resolved to at one moment; all of one person, each list sorted.

    ``agents``: the stores that are reached, by agent. ``records``: named by ``--record``. ``caught``: records that were
    taken from a selected session, and are in memory or not excluded yet. ``unresolved``: session ids that were named
    and that nothing knows; they are in ``sessions`` all the same. ``unresolved_records``: named, and not known either;
    not in ``records``. ``undated``: known, but left out, because ``--since`` was given and nothing says when they
    began. ``former``: the same in other stores, where it was before it was renamed or moved, or is since.
    """

    user_id: str
    agents: tuple[str, ...] = ()
    sessions: tuple[SelectedSession, ...] = ()
    records: tuple[SelectedRecord, ...] = ()
    caught: tuple[SelectedRecord, ...] = ()
    unresolved: tuple[str, ...] = ()
    unresolved_records: tuple[SelectedRecord, ...] = ()
    undated: tuple[str, ...] = ()
    account: bool = False
    former: tuple["Selection", ...] = ()

    @property
    def by_name(self) -> tuple["Selection", ...]:
        """The selection, and the same in each store where it was before or is since."""
        return (self, *self.former)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to forget: then nothing is written either."""
        return not (self.sessions or self.records or (self.account and self.agents))

    @property
    def stores(self) -> tuple[Store, ...]:
        """The stores that are reached."""
        return tuple(Store(self.user_id, agent) for agent in self.agents)

    @property
    def session_ids(self) -> list[str]:
        """The ids of the sessions, each once."""
        return sorted({session.session_id for session in self.sessions})

    def other_names(self) -> dict[str, list[dict[str, str]]]:
        """Return what ``former`` holds, as reports and receipts name it: accounts, sessions and records."""
        return {
            "accounts": [{"user_id": each.user_id} for each in self.former if each.account],
            "sessions": [
                {"user_id": each.user_id, "agent_id": session.agent_id, "session_id": session.session_id}
                for each in self.former
                for session in each.sessions
            ],
            "records": [
                {"user_id": each.user_id, **record.as_json()}
                for each in self.former
                for record in sorted({*each.records, *each.caught})
            ],
        }

    def parameters(self) -> dict[str, Any]:
        """Return the selection as parameters of statements: parallel arrays, to be unnested.

        ``user_id``, ``agents``, ``is_account``; ``session_agents`` and ``session_ids``; ``record_agents``,
        ``record_sources`` and ``record_ids``, which hold named and caught records.
        """
        records = sorted({*self.records, *self.caught})
        return {
            "user_id": self.user_id,
            "agents": list(self.agents),
            "is_account": self.account,
            "session_agents": [session.agent_id for session in self.sessions],
            "session_ids": [session.session_id for session in self.sessions],
            "record_agents": [record.agent_id for record in records],
            "record_sources": [record.source_key for record in records],
            "record_ids": [record.source_id for record in records],
        }


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What somebody asked of a forget. Command, Dagster job and tools share these defaults: it deletes at once.

    ``rederive``: have entries with other origins too made again from those. ``physical``: rewrite what held the rows,
    and look for their bytes. ``if_plan``: the digest of a preview; another one now refuses.
    """

    selectors: Selectors
    rederive: bool = False
    physical: bool = False
    dry_run: bool = False
    if_plan: str | None = field(default=None)
