"""From what a person says to a stored reply: the message first, then what the responder is given, then its words.

No transaction is open while a model speaks. A reply is made to its end and stored even if nobody waits for it any more;
a server that stops stores it as far as it came.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Literal

from orbit_pipelines.errors import EmbeddingFailed, OrbitError
from orbit_pipelines.history.messages import append_message
from orbit_pipelines.history.recalled import cut
from orbit_pipelines.history.text import clean_text
from orbit_pipelines.model import OriginClass, Store
from orbit_pipelines.recall.search import search_memory
from orbit_pipelines.sources.resolution import resolve_build_sources
from orbit_pipelines.telling.honesty import honesty_note, read_built_sources
from orbit_pipelines.telling.wording import Wording
from orbit_pipelines.web.conversations import hold_running_session, read_thread
from orbit_pipelines.web.problems import fault
from orbit_pipelines.web.responders.protocol import Memory, Question, ReplyFailed, Responder, Spoken, Turn
from orbit_pipelines.web.running_replies import RunningReply, StoreReply
from orbit_pipelines.web.site import Site

log = logging.getLogger(__name__)

LONGEST_MESSAGE = 50_000
"""Characters."""

LONGEST_QUERY = 2_000
"""Characters of a message that recall is asked with."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a reply, or the end of one that failed."""

    kind: Literal["text", "problem"]
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A message that is stored and waits for its reply."""

    store: Store
    session_id: str
    pair_index: int
    text: str
    language: str


def store_question(site: Site, store: Store, text: str, language: str) -> Asked:
    """Append what a person says to their running session, which begins with it if there is none."""
    with site.database.acting_for(store.user_id) as connection:
        session_id = hold_running_session(connection, store)
        stored = append_message(connection, store, session_id, "user", text)
    return Asked(store, session_id, stored.pair_index or 0, text, language)


def gather(site: Site, asked: Asked) -> Question:
    """Return what the responder is given: the session's whole thread, and what memory has on the question."""
    query = cut(asked.text)[:LONGEST_QUERY].strip()
    vector = None
    if query and site.settings.chat_recalled:
        try:
            vector = site.embedder.embed_query(query)
        except EmbeddingFailed as error:
            log.error("recall is left out of a reply: %s", error)
    with site.database.acting_for(asked.store.user_id) as connection:
        thread = read_thread(connection, asked.store, asked.session_id)
        found = (
            ()
            if vector is None
            else search_memory(
                connection,
                asked.store,
                vector,
                site.embedder.fingerprint,
                limit=site.settings.chat_recalled,
                beside_session=asked.session_id,
            )
        )
        sources = resolve_build_sources(connection, asked.store.user_id)
        built = read_built_sources(connection, asked.store)
    return Question(
        thread=tuple(Turn(message.role, message.content, message.not_remembered) for message in thread),
        memories=tuple(
            Memory(
                each.content,
                each.source_key,
                OriginClass(each.origin_class),
                each.sent_at,
                tuple(Spoken(each.content[start:end], OriginClass(whose)) for start, end, whose in each.spans),
            )
            for each in found
        ),
        note=honesty_note(sources, built, asked.text, Wording(asked.language)),
        language=asked.language,
    )


def reply_to(site: Site, asked: Asked) -> Iterator[Piece]:
    """Yield the reply as it comes, and store it when it has ended; a broken off one as far as it came.

    Whoever stops listening stops nothing: it is made and stored all the same.
    """
    return _listen(site, site.responder, partial(gather, site, asked), partial(_store_reply, site, asked))


def reply_to_guest(site: Site, thread: tuple[Turn, ...], language: str) -> Iterator[Piece]:
    """Yield the reply to somebody of whom nothing is stored and nothing is recalled; it ends when they leave."""
    return _listen(site, site.guest_responder, partial(Question, thread=thread, language=language), None)


def _listen(site: Site, responder: Responder, ask: Callable[[], Question], store: StoreReply | None) -> Iterator[Piece]:
    pieces: SimpleQueue[Piece | None] = SimpleQueue()
    # Begun here, so that a server that stops knows of it even before its thread runs.
    reply = site.replies.begin(store, partial(pieces.put, None))
    Thread(target=_make_reply, args=(site, responder, ask, reply, pieces), name="reply", daemon=True).start()
    try:
        while (piece := pieces.get()) is not None:
            yield piece
    finally:
        reply.is_unheard.set()


def _make_reply(
    site: Site,
    responder: Responder,
    ask: Callable[[], Question],
    reply: RunningReply,
    pieces: "SimpleQueue[Piece | None]",
) -> None:
    is_whole = False
    try:
        for text in responder.reply(ask()):
            reply.add(text)
            pieces.put(Piece("text", text))
            if site.replies.is_stopping.is_set():
                raise ReplyFailed("The pages were stopped while it came.")
            if reply.is_unheard.is_set() and not reply.is_stored:
                raise ReplyFailed("Nobody listens any more.")
        if not reply.has_words:
            raise ReplyFailed("It has no words.")
        is_whole = True
    except Exception as error:
        pieces.put(_problem(error))
    try:
        reply.keep(is_whole=is_whole)
    except Exception as error:
        pieces.put(_problem(error))
    finally:
        site.replies.end(reply)
        pieces.put(None)


def _store_reply(site: Site, asked: Asked, text: str, is_whole: bool) -> None:
    content, _ = clean_text(text)
    with site.database.acting_for(asked.store.user_id) as connection:
        append_message(
            connection,
            asked.store,
            asked.session_id,
            "assistant",
            content,
            is_partial=not is_whole,
            answers=asked.pair_index,
        )


def _problem(error: Exception) -> Piece:
    """Log why there is no reply, without any text; the person is told that there is none."""
    log.error("a reply failed: %s", error if isinstance(error, ReplyFailed | OrbitError) else fault(error))
    return Piece("problem", "")
