"""A chat history of any size, the same at every call.

Twenty people, conversations of forty messages (twenty pairs), questions of about 200 characters and replies of about
900, log-normal as real ones are. Loaded by COPY: what is measured is the build, not the import.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import psycopg

from orbit_pipelines.database.binary_copy import copy_frame
from orbit_pipelines.model import DEFAULT_AGENT

PEOPLE = 20
PAIRS_PER_SESSION = 20
QUESTION_CHARACTERS = 200
REPLY_CHARACTERS = 900

_PAIRS_AT_A_TIME = 20_000
_BOOK_WORDS = 400_000
_SPREAD = 0.6
_SESSION = {"user_id": "text", "agent_id": "text", "session_id": "text"}
_PAIR = {**_SESSION, "pair_index": "int4", "message_id": "text"}
_MESSAGE = {
    **_SESSION,
    "message_id": "text",
    "position": "int4",
    "role": "text",
    "content": "text",
    "pair_index": "int4",
    "answers": "int4",
    "run_index": "int4",
}


@dataclass(frozen=True, slots=True)
class Corpus:
    """A history of ``pairs`` pairs, numbered from 0 in the order of conversations; ``seed`` makes another one."""

    pairs: int
    seed: int = 7

    def load(self, connection: psycopg.Connection[Any]) -> None:
        """Store accounts, sessions, ledger and messages, and gather statistics on them, as autovacuum would."""
        with connection.transaction():
            connection.execute(
                "insert into orbitpilot.account (user_id)"
                " select 'u' || to_char(n, 'FM00') from generate_series(0, %s) as n",
                [PEOPLE - 1],
            )
            for first in range(0, self.pairs, _PAIRS_AT_A_TIME):
                numbers = np.arange(first, min(first + _PAIRS_AT_A_TIME, self.pairs))
                pairs = pair_keys(numbers)
                sessions = pairs.group_by(*_SESSION, maintain_order=True).agg(
                    (pl.col("pair_index").max() + 1).alias("next_pair_index")
                )
                copy_frame(connection, "orbitpilot.session", sessions, {**_SESSION, "next_pair_index": "int4"})
                store_pairs(connection, pairs, numbers, self.seed)
        for table in ("orbitpilot.session", "orbitpilot.message", "memory.pair"):
            connection.execute(f"vacuum analyze {table}".encode())

    def choose(self, count: int, purpose: int, among: np.ndarray | None = None) -> np.ndarray:
        """Return the numbers of ``count`` pairs, spread over everything, in order; other purposes choose others."""
        chosen = np.random.default_rng([self.seed, purpose]).choice(
            self.pairs if among is None else among, count, replace=False
        )
        return np.sort(chosen)


def pair_keys(numbers: np.ndarray) -> pl.DataFrame:
    """Return where the corpus' pairs of these numbers stand: user_id, agent_id, session_id, pair_index."""
    return session_keys(numbers // PAIRS_PER_SESSION).with_columns(
        pl.Series("pair_index", numbers % PAIRS_PER_SESSION, dtype=pl.Int32)
    )


def session_keys(conversations: np.ndarray) -> pl.DataFrame:
    """Return user_id, agent_id and session_id of conversations; people take turns in having one."""
    conversation = pl.Series("conversation", conversations).to_frame().lazy()
    return conversation.select(
        pl.format("u{}", (pl.col("conversation") % PEOPLE).cast(pl.String).str.zfill(2)).alias("user_id"),
        pl.lit(DEFAULT_AGENT).alias("agent_id"),
        pl.format("c{}", pl.col("conversation").cast(pl.String).str.zfill(6)).alias("session_id"),
    ).collect()


def store_pairs(connection: psycopg.Connection[Any], pairs: pl.DataFrame, numbers: np.ndarray, seed: int) -> None:
    """Enter pairs in the ledger, and store the question and the reply of each.

    Args:
        connection: in a transaction of the caller's; the sessions are there.
        pairs: as ``pair_keys`` returns them.
        numbers: one a pair; they tell the texts apart.
        seed: as the corpus'.
    """
    index = pl.col("pair_index")
    nothing = pl.lit(None, dtype=pl.Int32)
    questions = pairs.with_columns(
        pl.format("m{}", index * 2).alias("message_id"),
        (index * 2).alias("position"),
        pl.lit("user").alias("role"),
        pl.Series("content", texts(numbers, QUESTION_CHARACTERS, seed)),
        nothing.alias("answers"),
        index.alias("run_index"),
    )
    replies = pairs.with_columns(
        pl.format("m{}", index * 2 + 1).alias("message_id"),
        (index * 2 + 1).alias("position"),
        pl.lit("assistant").alias("role"),
        pl.Series("content", texts(numbers, REPLY_CHARACTERS, seed + 1)),
        nothing.alias("pair_index"),
        index.alias("answers"),
        nothing.alias("run_index"),
    )
    copy_frame(connection, "memory.pair", questions, _PAIR)
    for messages in (questions, replies):
        copy_frame(connection, "orbitpilot.message", messages, _MESSAGE)


def texts(numbers: np.ndarray, characters: int, seed: int) -> list[str]:
    """Return one text a number, no two alike, of ``characters`` on average."""
    book = _book()
    first = int(numbers[0]) if len(numbers) else 0
    generator = np.random.default_rng([seed, characters, first, len(numbers)])
    # The mean of a log-normal is above its median by this factor.
    median = characters / np.exp(_SPREAD**2 / 2)
    lengths = np.clip(generator.lognormal(0, _SPREAD, len(numbers)) * median, 20, characters * 4).astype(int)
    starts = generator.integers(0, len(book) - characters * 4, len(numbers))
    return [
        f"[{seed}.{number}] {book[start : start + length].strip()}"
        for number, start, length in zip(numbers.tolist(), starts.tolist(), lengths.tolist(), strict=True)
    ]


@cache
def _book() -> str:
    generator = np.random.default_rng(1234)
    syllables = np.array([a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is")])
    vocabulary = ["".join(generator.choice(syllables, generator.choice([1, 2, 2, 3, 3, 4]))) for _ in range(4000)]
    return " ".join(generator.choice(vocabulary, _BOOK_WORDS))
