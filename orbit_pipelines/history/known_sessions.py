"""What a store knows of sessions, asked by what a file says of one that bears no id."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.history.alignment import StoredTurn
from orbit_pipelines.history.identity import Begun, Candidate
from orbit_pipelines.model import Store


class StoredSessions:
    """Answers ``identity.SessionNames`` from the tables, within the import's transaction.

    What questions the store holds is read once, when it is first asked for: a session that this import itself stored
    is another one.
    """

    def __init__(self, conn: psycopg.Connection[Any], store: Store) -> None:
        self._conn = conn
        self._key = {"user_id": store.user_id, "agent_id": store.agent_id}
        self._holds_questions: bool | None = None

    def begun_with(self, openings: Collection[str], *, by_id: bool) -> Mapping[str, Mapping[str, Begun]]:
        """Return every id ever given after each opening, with the digests of its branch; None if nothing is stored."""
        known: dict[str, dict[str, Begun]] = {opening: {} for opening in openings}
        parameters = {**self._key, "openings": list(openings), "by_id": by_id}
        for opening, session_id, digests, is_forgotten in self._conn.execute(
            statement("find_known_sessions"), parameters, prepare=False
        ):
            known[opening][session_id] = Begun(digests, is_forgotten)
        return known

    def holding(self, message_ids: Sequence[tuple[int, str]]) -> Iterator[Candidate]:
        """Yield the sessions that hold the most of these message ids, of each numbered session's, or held them."""
        yield from self._candidates("find_sessions_by_messages", "message_ids", message_ids)

    def asking(self, digests: Iterable[tuple[int, bytes]]) -> Iterator[Candidate]:
        """Yield the sessions that ask the most of these questions, of each numbered session's; common ones aside."""
        if self._holds_questions is None:
            created = self._conn.execute(statement("create_known_question"), self._key, prepare=False)
            self._holds_questions = created.rowcount > 0
            if self._holds_questions:
                self._conn.execute("analyze known_question")
        if self._holds_questions:
            yield from self._candidates("find_sessions_by_questions", "digests", list(digests))

    def bind(self, sessions: Mapping[str, str]) -> None:
        """Keep sessions out of memory that mean forgotten ones, which are told with each: they are forgotten too."""
        if sessions:
            parameters = {**self._key, "session_ids": list(sessions), "forgotten_ids": list(sessions.values())}
            self._conn.execute(statement("bind_sessions"), parameters)

    def forget_questions(self) -> None:
        """Drop the working table: a caller's transaction may go on."""
        self._conn.execute("drop table if exists known_question")

    def branches(self, sessions: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str, bool, list[StoredTurn]]]:
        """Yield what is stored of each numbered session, and whether it is forgotten; one at a time is in memory."""
        parameters = {
            **self._key,
            "numbers": [number for number, _ in sessions],
            "session_ids": [session_id for _, session_id in sessions],
        }
        with self._conn.cursor(name="stored_branches") as cursor:
            cursor.itersize = 500
            cursor.execute(statement("read_branches"), parameters)
            for (number, session_id, is_forgotten), rows in groupby(cursor, key=itemgetter(0, 1, 2)):
                yield number, session_id, is_forgotten, [StoredTurn(*row[3:]) for row in rows]

    def _candidates(self, name: str, parameter: str, asked: Sequence[tuple[int, Any]]) -> Iterator[Candidate]:
        parameters = {
            **self._key,
            "numbers": [number for number, _ in asked],
            parameter: [each for _, each in asked],
        }
        found = self._conn.execute(statement(name), parameters, prepare=False).fetchall()
        if found:
            for number, session_id, is_forgotten, turns in self.branches(found):
                yield Candidate(number, session_id, is_forgotten=is_forgotten, turns=turns)
