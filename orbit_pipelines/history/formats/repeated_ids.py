"""Rows of one file that bear the same id: the later one counts, and where it says otherwise that is reported."""

from array import array
from collections.abc import Iterable, Iterator

from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedSession, Problems


class RepeatedIds:
    """Watches the rows and sessions of one export, in which a row is a conversation."""

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
        """Report a session whose id an earlier one had, unless the two go together."""
        if session.session_id is None or not session.messages:
            return
        has_ids = session.messages[0].message_id is not None
        said = array("q", (hash(message.content) for message in session.messages))
        if has_ids:
            said.extend(hash(message.message_id) for message in session.messages)
        before = self._said.get(session.session_id, said)
        if before is not said and not (_goes_with(before, said, session) if has_ids else _goes_on(before, said)):
            where = f"conversation {session.session_id} ({self._where})"
            self._problems.add("repeated_conversation", where, "its id came before, with other text; the later counts")
        self._said[session.session_id] = said


def _goes_on(before: "array[int]", said: "array[int]") -> bool:
    """Say whether one is the other's beginning, or the later begins where the earlier ends, as a log that moves on."""
    shared = min(len(before), len(said))
    if before[:shared] == said[:shared]:
        return True
    ends = range(max(len(before) - len(said), 0), len(before) - 1)
    return any(before[start:] == said[: len(before) - start] for start in ends if before[start] == said[0])


def _goes_with(before: "array[int]", said: "array[int]", session: ParsedSession) -> bool:
    """Say whether the later has no message of the earlier with another text, and shows none of it off its branch."""
    earlier = _by_id(before)
    later = _by_id(said)
    left_behind = {hash(message_id) for message_id in session.left_behind}
    return left_behind.isdisjoint(earlier) and all(earlier.get(key, text) == text for key, text in later.items())


def _by_id(said: "array[int]") -> dict[int, int]:
    half = len(said) // 2
    return dict(zip(said[half:], said[:half], strict=True))
