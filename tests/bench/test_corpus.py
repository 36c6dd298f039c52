from statistics import mean
from typing import Any

import numpy as np
import psycopg
import pytest

from orbit_pipelines.bench import edits
from orbit_pipelines.bench.corpus import QUESTION_CHARACTERS, REPLY_CHARACTERS, Corpus, texts

Connection = psycopg.Connection[Any]


def count(connection: Connection, query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture
def loaded(connection: Connection) -> Connection:
    connection.autocommit = True
    Corpus(200).load(connection)
    return connection


@pytest.mark.parametrize("characters", [QUESTION_CHARACTERS, REPLY_CHARACTERS])
def test_texts_are_all_different_of_the_wanted_length_on_average_and_the_same_at_every_call(characters: int) -> None:
    numbers = np.arange(5_000)
    made = texts(numbers, characters, seed=1)
    assert made == texts(numbers, characters, seed=1)
    assert len(set(made)) == len(made)
    assert mean(map(len, made)) == pytest.approx(characters, rel=0.1)


def test_a_loaded_corpus_is_as_an_import_would_leave_it(loaded: Connection) -> None:
    assert count(loaded, "select count(*) from orbitpilot.account") == 20
    assert count(loaded, "select count(*) from orbitpilot.session where next_pair_index = 20") == 10
    assert count(loaded, "select count(*) from memory.pair") == 200
    assert count(loaded, "select count(*) from orbitpilot.message") == 400
    answered = (
        "select count(*) from orbitpilot.message as asked join orbitpilot.message as reply"
        " on (asked.user_id, asked.agent_id, asked.session_id, asked.pair_index)"
        " = (reply.user_id, reply.agent_id, reply.session_id, reply.answers)"
        " where asked.position + 1 = reply.position and asked.run_index = asked.pair_index"
    )
    assert count(loaded, answered) == 200


def test_a_corpus_that_fills_no_last_conversation_is_loaded_whole(connection: Connection) -> None:
    connection.autocommit = True
    Corpus(215).load(connection)
    assert count(connection, "select count(*) from memory.pair") == 215
    assert count(connection, "select sum(next_pair_index) from orbitpilot.session") == 215


@pytest.mark.parametrize(
    ("edit", "pairs"),
    [
        (edits.edit_one_percent, 2),
        (edits.exclude_pairs, edits.EXCLUDED_PAIRS),
        (edits.append_one_percent, 5),
        (edits.remove_person, 20),
        (edits.edit_growth_pairs, 200 - 65),  # 50 are excluded and 20 are the removed person's, 5 of them both
    ],
)
def test_an_edit_says_how_many_pairs_it_changed(loaded: Connection, edit: edits.Edit, pairs: int) -> None:
    before = count(loaded, "select count(*) from memory.pair")
    assert edit(loaded, Corpus(200)) == pairs
    if edit is edits.append_one_percent:
        assert count(loaded, "select count(*) from memory.pair") == before + pairs
        assert count(loaded, "select sum(next_pair_index) from orbitpilot.session") == before + pairs


def test_the_growth_edit_touches_only_what_is_still_remembered(loaded: Connection) -> None:
    corpus = Corpus(200)
    edits.exclude_pairs(loaded, corpus)
    edits.remove_person(loaded, corpus)
    changed = edits.edit_growth_pairs(loaded, corpus)
    assert changed == count(
        loaded,
        "select count(*) from orbitpilot.message as reply join orbitpilot.message as asked"
        " on (asked.user_id, asked.session_id, asked.pair_index) = (reply.user_id, reply.session_id, reply.answers)"
        " where reply.content like '[207.%' and not asked.not_remembered",
    )
