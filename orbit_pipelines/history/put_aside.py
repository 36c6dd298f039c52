"""Sessions of a file that wait for its end, because the file may hold them again and say something else."""

from collections.abc import Mapping

from orbit_pipelines.history.staging import BATCH_CHARACTERS
from orbit_pipelines.history.stream import ParsedSession

_MESSAGES = 20_000


class PutAside:
    """The waiting sessions by id, each with all that came since it waits, in the order of the file."""

    def __init__(self) -> None:
        self._sessions: dict[str, list[ParsedSession]] = {}
        self._messages = self._characters = 0

    def __contains__(self, session_id: str | None) -> bool:
        return session_id in self._sessions

    @property
    def is_full(self) -> bool:
        """Whether as much waits as may be kept in memory."""
        return self._messages >= _MESSAGES or self._characters >= BATCH_CHARACTERS

    def add(self, session: ParsedSession) -> None:
        """Let a session wait, which has an id."""
        self._sessions.setdefault(session.session_id or "", []).append(session)
        self._messages += max(1, len(session.messages))
        self._characters += sum(len(message.content) for message in session.messages)

    def take_all(self) -> Mapping[str, list[ParsedSession]]:
        """Return what waits, and wait for new ones."""
        taken = self._sessions
        self._sessions = {}
        self._messages = self._characters = 0
        return taken
