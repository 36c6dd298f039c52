"""Sessions on their way into the database: cut into batches, and copied into the tables an import works on."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import psycopg

from orbit_pipelines.history.stream import ParsedSession

T = TypeVar("T")
HashText = Callable[[str], bytes]

BATCH_CHARACTERS = 16_000_000
"""Ends a batch of long messages early, so that memory stays bounded whatever the messages hold."""


def batch_sessions(sessions: Iterable[ParsedSession], batch_messages: int) -> Iterator[list[ParsedSession]]:
    """Yield whole sessions, in order, about ``batch_messages`` messages at a time.

    A session that comes again begins a new batch: its pieces are stored one after the other, like two files.
    """
    batch: list[ParsedSession] = []
    held: set[str | None] = set()
    messages = characters = 0
    for session in sessions:
        is_held = session.session_id is not None and session.session_id in held
        if batch and (is_held or messages >= batch_messages or characters >= BATCH_CHARACTERS):
            yield batch
            batch, held = [], set()
            messages = characters = 0
        batch.append(session)
        held.add(session.session_id)
        # A session without messages takes room too.
        messages += max(1, len(session.messages))
        characters += sum(len(message.content) for message in session.messages)
    if batch:
        yield batch


def read_ahead(batches: Iterator[T]) -> Generator[T]:
    """Yield the batches, reading each next one in a thread while the last is stored; close it to end the thread."""
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="reading") as reader:
        upcoming = reader.submit(next, batches, end)
        while (batch := upcoming.result()) is not end:
            upcoming = reader.submit(next, batches, end)
            yield cast("T", batch)


def stage_batch(conn: psycopg.Connection[Any], batch: Sequence[ParsedSession], hash_text: HashText) -> None:
    """Copy one batch into the ``incoming_…`` tables, which are empty, and tell the planner what they hold."""
    with (
        conn.cursor() as cursor,
        cursor.copy(
            "copy incoming_session (session_no, session_id, title, channel, chat_type, session_kind, hook_source,"
            " started_at, do_not_remember, participants, is_whole) from stdin"
        ) as copy,
    ):
        for session_no, session in enumerate(batch):
            copy.write_row(
                (
                    session_no,
                    session.session_id,
                    session.title,
                    session.channel,
                    session.chat_type,
                    session.session_kind,
                    session.hook_source,
                    session.started_at,
                    session.do_not_remember,
                    sorted(session.participants),
                    session.is_whole,
                )
            )
    conn.execute("analyze incoming_session (session_no, session_id)")
    stage_messages(conn, list(enumerate(batch)), hash_text)


def stage_messages(
    conn: psycopg.Connection[Any], numbered: Sequence[tuple[int, ParsedSession]], hash_text: HashText
) -> None:
    """Copy the messages of sessions, each told with its number in the batch, and what they leave behind."""
    with (
        conn.cursor() as cursor,
        cursor.copy(
            "copy incoming_message (session_no, place, message_id, parent_id, role, author, content, sent_at,"
            " is_partial, is_placed, text_hash) from stdin"
        ) as copy,
    ):
        for session_no, session in numbered:
            for place, message in enumerate(session.messages):
                copy.write_row(
                    (
                        session_no,
                        place,
                        message.message_id,
                        message.parent_id,
                        message.role,
                        message.author,
                        message.content,
                        message.sent_at,
                        message.is_partial,
                        message.place is not None,
                        hash_text(message.content) if message.role == "user" else None,
                    )
                )
    with (
        conn.cursor() as cursor,
        cursor.copy("copy incoming_left_behind (session_no, message_id) from stdin") as copy,
    ):
        for session_no, session in numbered:
            for message_id in session.left_behind:
                copy.write_row((session_no, message_id))
    conn.execute("analyze incoming_message (session_no, message_id)")
    conn.execute("analyze incoming_left_behind")
