"""Rows of one file that bear the same id: the later one counts, and where it says otherwise that is reported."""

from array import array
from collections.abc import Iterable, Iterator

from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedSession, Problems


class RepeatedIds:
    """Watches the rows and sessions of one export, in which a row is a conversation.

    Only sessions whose messages have no ids are looked at: where they have, a message is told by its own.
    """

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._where = ""
        self._said: dict[str, array[int]] = {}

    def follow(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows, noting where the reading stands."""
        for row in rows:
            self._where = row.where
            yield row

    def watch(self, session: ParsedSession) -> None:
        """Report a session whose id an earlier one had, unless one of them is the other's beginning."""
        if session.session_id is None or not session.messages or session.messages[0].message_id is not None:
            return
        said = array("q", (hash(message.content) for message in session.messages))
        before = self._said.get(session.session_id, said)
        shared = min(len(before), len(said))
        if before[:shared] != said[:shared]:
            where = f"conversation {session.session_id} ({self._where})"
            self._problems.add("repeated_conversation", where, "its id came before, with other text; the later counts")
        self._said[session.session_id] = said
