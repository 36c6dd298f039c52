"""A chat history of any size, the same at every call, and the edits that come before each step.

Twenty people, conversations of forty messages (twenty pairs), questions of about 200 characters and replies of about
900, log-normal as real ones are. Loaded by COPY: what is measured is the build, not the import.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import psycopg

from orbit_pipelines.database.binary_copy import copy_frame

PEOPLE = 20
PAIRS_PER_SESSION = 20
_QUESTION, _REPLY = 200, 900
_WORDS = 400_000


@dataclass(frozen=True, slots=True)
class Corpus:
    """A history of ``pairs`` pairs; ``seed`` makes another of the same kind."""

    pairs: int
    seed: int = 7

    def load(self, connection: psycopg.Connection[Any]) -> None:
        """Store the accounts, sessions, ledger and messages, and gather statistics on them."""
        with connection.transaction():
            connection.execute(
                "insert into orbitpilot.account (user_id) select 'u' || to_char(n, 'FM00') from generate_series(0, %s) n",
                [PEOPLE - 1],
            )
            for first in range(0, self.pairs, 20_000):
                self._load(connection, first, min(first + 20_000, self.pairs))
        connection.execute("vacuum analyze orbitpilot.message")
        connection.execute("vacuum analyze orbitpilot.session")
        connection.execute("vacuum analyze memory.pair")

    def _load(self, connection: psycopg.Connection[Any], first: int, last: int) -> None:
        numbers = np.arange(first, last)
        pairs = pl.DataFrame({"number": numbers}).with_columns(
            (pl.col("number") // PAIRS_PER_SESSION).alias("conversation"),
            (pl.col("number") % PAIRS_PER_SESSION).cast(pl.Int32).alias("pair_index"),
        )
        pairs = pairs.with_columns(
            pl.format("u{}", (pl.col("conversation") % PEOPLE).cast(pl.String).str.zfill(2)).alias("user_id"),
            pl.lit("orbitpilot").alias("agent_id"),
            pl.format("c{}", pl.col("conversation").cast(pl.String).str.zfill(6)).alias("session_id"),
            pl.format("m{}", pl.col("pair_index") * 2).alias("message_id"),
        )
        sessions = pairs.group_by("user_id", "agent_id", "session_id", maintain_order=True).agg(
            (pl.col("pair_index").max() + 1).alias("next_pair_index")
        )
        copy_frame(connection, "orbitpilot.session", sessions, {**_SESSION, "next_pair_index": "int4"})
        copy_frame(connection, "memory.pair", pairs, {**_SESSION, "pair_index": "int4", "message_id": "text"})
        for role, mean in (("user", _QUESTION), ("assistant", _REPLY)):
            copy_frame(connection, "orbitpilot.message", _messages(pairs, role, mean, self.seed), _MESSAGE)


_SESSION = {"user_id": "text", "agent_id": "text", "session_id": "text"}
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


def _messages(pairs: pl.DataFrame, role: str, mean: int, seed: int) -> pl.DataFrame:
    is_user = role == "user"
    nothing = pl.lit(None, dtype=pl.Int32)
    number = pl.col("pair_index")
    return pairs.with_columns(
        pl.format("m{}", number * 2 + (0 if is_user else 1)).alias("message_id"),
        (number * 2 + (0 if is_user else 1)).alias("position"),
        pl.lit(role).alias("role"),
        pl.Series("content", texts(pairs["number"].to_numpy(), mean, seed + (0 if is_user else 1))),
        (number if is_user else nothing).alias("pair_index"),
        (nothing if is_user else number).alias("answers"),
        (number if is_user else nothing).alias("run_index"),
    )


def texts(numbers: np.ndarray, mean: int, seed: int) -> list[str]:
    """Return one text a number, of ``mean`` characters on average, each with words and length of its own."""
    book = _book()
    generator = np.random.default_rng([seed, mean, int(numbers[0]) if len(numbers) else 0, len(numbers)])
    lengths = np.clip(generator.lognormal(0, 0.6, len(numbers)) * mean * 0.835, 20, mean * 4).astype(int)
    starts = generator.integers(0, len(book) - lengths.max(initial=0) - 1, len(numbers))
    return [
        f"[{seed}.{number}] {book[start : start + length].strip()}"
        for number, start, length in zip(numbers.tolist(), starts.tolist(), lengths.tolist(), strict=True)
    ]


def _book() -> str:
    generator = np.random.default_rng(1234)
    syllables = np.array([a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is")])
    vocabulary = ["".join(generator.choice(syllables, generator.choice([1, 2, 2, 3, 3, 4]))) for _ in range(4000)]
    return " ".join(generator.choice(vocabulary, _WORDS))


def edit_pairs(connection: psycopg.Connection[Any], corpus: Corpus, count: int) -> int:
    """Edit the replies of ``count`` pairs spread over everything; return how many."""
    chosen = np.sort(np.random.default_rng([corpus.seed, 3]).choice(corpus.pairs, count, replace=False))
    edited = pl.DataFrame({"number": chosen}).with_columns(
        pl.format("c{}", (pl.col("number") // PAIRS_PER_SESSION).cast(pl.String).str.zfill(6)).alias("session_id"),
        pl.format("m{}", (pl.col("number") % PAIRS_PER_SESSION) * 2 + 1).alias("message_id"),
        pl.Series("content", texts(chosen, _REPLY, corpus.seed + 100)),
    )
    with connection.transaction():
        connection.execute(
            'create temp table edited (session_id text collate "C", message_id text collate "C", content text)'
            " on commit drop"
        )
        copy_frame(connection, "edited", edited, {"session_id": "text", "message_id": "text", "content": "text"})
        return connection.execute(
            "update orbitpilot.message as m set content = e.content from edited as e"
            " where (m.session_id, m.message_id) = (e.session_id, e.message_id)"
        ).rowcount


def exclude_pairs(connection: psycopg.Connection[Any], corpus: Corpus, count: int) -> int:
    """Mark ``count`` user messages as not remembered; return how many."""
    chosen = np.random.default_rng([corpus.seed, 4]).choice(corpus.pairs, count, replace=False)
    return connection.execute(
        "update orbitpilot.message as m set not_remembered = true"
        "  from unnest(%s::text[], %s::text[]) as e (session_id, message_id)"
        " where (m.session_id, m.message_id) = (e.session_id, e.message_id)",
        [
            [f"c{number // PAIRS_PER_SESSION:06d}" for number in chosen],
            [f"m{number % PAIRS_PER_SESSION * 2}" for number in chosen],
        ],
    ).rowcount


def append_pairs(connection: psycopg.Connection[Any], corpus: Corpus, count: int) -> int:
    """Append pairs, five at a time, at the end of conversations; return how many."""
    sessions = corpus.pairs // PAIRS_PER_SESSION
    chosen = np.random.default_rng([corpus.seed, 5]).choice(sessions, min(sessions, max(1, count // 5)), replace=False)
    numbers = np.repeat(chosen, 5)
    indexes = np.tile(np.arange(PAIRS_PER_SESSION, PAIRS_PER_SESSION + 5), len(chosen))
    pairs = pl.DataFrame({"number": corpus.pairs + np.arange(len(numbers)), "conversation": numbers}).with_columns(
        pl.Series("pair_index", indexes, dtype=pl.Int32),
        pl.format("u{}", (pl.col("conversation") % PEOPLE).cast(pl.String).str.zfill(2)).alias("user_id"),
        pl.lit("orbitpilot").alias("agent_id"),
        pl.format("c{}", pl.col("conversation").cast(pl.String).str.zfill(6)).alias("session_id"),
    )
    with connection.transaction():
        ledger = pairs.with_columns(pl.format("m{}", pl.col("pair_index") * 2).alias("message_id"))
        copy_frame(connection, "memory.pair", ledger, {**_SESSION, "pair_index": "int4", "message_id": "text"})
        for role, mean in (("user", _QUESTION), ("assistant", _REPLY)):
            copy_frame(connection, "orbitpilot.message", _messages(pairs, role, mean, corpus.seed), _MESSAGE)
        connection.execute(
            "update orbitpilot.session set next_pair_index = next_pair_index + 5 where session_id = any(%s)",
            [[f"c{number:06d}" for number in chosen]],
        )
    return pairs.height


def remove_person(connection: psycopg.Connection[Any]) -> int:
    """Delete one account of twenty with all that hangs on it."""
    return connection.execute("delete from orbitpilot.account where user_id = 'u00'").rowcount
