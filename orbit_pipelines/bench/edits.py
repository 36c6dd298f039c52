"""What happens to the history before a step: each edit changes the application's tables, and returns how many pairs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import psycopg

from orbit_pipelines.bench.corpus import (
    PAIRS_PER_SESSION,
    PEOPLE,
    REPLY_CHARACTERS,
    Corpus,
    pair_keys,
    session_keys,
    store_pairs,
    texts,
)
from orbit_pipelines.database.binary_copy import copy_frame
from orbit_pipelines.database.statements import statement

Connection = psycopg.Connection[Any]
Edit = Callable[[Connection, Corpus], int]

EXCLUDED_PAIRS = 50
GROWTH_PAIRS = 200
"""As many at every size: what the growth of a build with the history's size is measured on."""

_PAIRS_APPENDED_AT_ONCE = 5
# Purposes of ``Corpus.choose``.
_EDITED, _EXCLUDED, _APPENDED, _GROWTH = 3, 4, 5, 7
_CHOSEN = dict.fromkeys(("user_id", "agent_id", "session_id", "message_id", "content"), "text")


def edit_one_percent(connection: Connection, corpus: Corpus) -> int:
    """Replace the reply of every hundredth pair."""
    chosen = corpus.choose(corpus.pairs // 100, _EDITED)
    return _replace_replies(connection, chosen, texts(chosen, REPLY_CHARACTERS, corpus.seed + 100))


def exclude_pairs(connection: Connection, corpus: Corpus) -> int:
    """Flag the questions of some pairs as not to be remembered."""
    with connection.transaction():
        _choose_messages(connection, excluded_pairs(corpus), is_reply=False)
        return connection.execute(statement("flag_chosen_messages")).rowcount


def excluded_pairs(corpus: Corpus) -> np.ndarray:
    """Return the numbers of the pairs that ``exclude_pairs`` takes."""
    return corpus.choose(EXCLUDED_PAIRS, _EXCLUDED)


def append_one_percent(connection: Connection, corpus: Corpus) -> int:
    """Append new pairs at the end of conversations, five at a time."""
    whole_sessions = corpus.pairs // PAIRS_PER_SESSION
    count = min(whole_sessions, max(1, corpus.pairs // 100 // _PAIRS_APPENDED_AT_ONCE))
    sessions = corpus.choose(count, _APPENDED, np.arange(whole_sessions))
    indexes = np.arange(PAIRS_PER_SESSION, PAIRS_PER_SESSION + _PAIRS_APPENDED_AT_ONCE)
    pairs = session_keys(np.repeat(sessions, _PAIRS_APPENDED_AT_ONCE)).with_columns(
        pl.Series("pair_index", np.tile(indexes, count), dtype=pl.Int32)
    )
    with connection.transaction():
        store_pairs(connection, pairs, corpus.pairs + np.arange(pairs.height), corpus.seed)
        connection.execute(
            "update orbitpilot.session set next_pair_index = next_pair_index + %s where session_id = any(%s)",
            [_PAIRS_APPENDED_AT_ONCE, pairs["session_id"].unique().to_list()],
        )
    return pairs.height


def remove_person(connection: Connection, corpus: Corpus) -> int:
    """Delete the account of one person in twenty, with all that hangs on it."""
    connection.execute("delete from orbitpilot.account where user_id = 'u00'")
    return len(_pairs_of_the_removed(corpus))


def edit_growth_pairs(connection: Connection, corpus: Corpus) -> int:
    """Give some pairs that are still remembered new replies: the same replies whatever the corpus' size."""
    gone = np.concatenate([excluded_pairs(corpus), _pairs_of_the_removed(corpus)])
    remembered = np.setdiff1d(np.arange(corpus.pairs), gone)
    chosen = corpus.choose(min(GROWTH_PAIRS, len(remembered)), _GROWTH, remembered)
    return _replace_replies(connection, chosen, texts(np.arange(len(chosen)), REPLY_CHARACTERS, corpus.seed + 200))


def _pairs_of_the_removed(corpus: Corpus) -> np.ndarray:
    return np.flatnonzero(np.arange(corpus.pairs) // PAIRS_PER_SESSION % PEOPLE == 0)


def _replace_replies(connection: Connection, chosen: np.ndarray, replies: list[str]) -> int:
    with connection.transaction():
        _choose_messages(connection, chosen, is_reply=True, contents=replies)
        return connection.execute(statement("edit_chosen_messages")).rowcount


def _choose_messages(
    connection: Connection, chosen: np.ndarray, *, is_reply: bool, contents: list[str] | None = None
) -> None:
    """Put the questions or replies of pairs into a table of the transaction's, for a statement to join."""
    messages = pair_keys(chosen).with_columns(
        pl.format("m{}", pl.col("pair_index") * 2 + int(is_reply)).alias("message_id"),
        pl.Series("content", contents or [None] * len(chosen), dtype=pl.String),
    )
    connection.execute(statement("create_chosen_message"))
    copy_frame(connection, "chosen_message", messages, _CHOSEN)
