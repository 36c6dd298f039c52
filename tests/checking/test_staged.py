"""What may not pass is seen in the frames, whoever put it there."""

from collections.abc import Callable

import polars as pl
import pytest

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.staged import no_excluded_pair_is_staged, source_ids_stay_stable
from orbit_pipelines.checking.staged_parts import make_parts, read_parts
from tests.worlds import World

Builds = Callable[..., BuildOfRun]

BLINKS = "blink.blinks"


@pytest.fixture
def staged(world: World, build_in_run: Builds) -> BuildOfRun:
    """Pairs and records, some excluded; a run of two user messages, the first of them excluded."""
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.", "My code is 4711.", "> I won't tell.")
    first, *_ = world.say(me, "run", "About my knee.", "And my van.", "> On both: rest.")
    world.remember(
        me,
        "s",
        world.sql("select message_id from orbitpilot.message where pair_index = 1 and session_id = 's'")[0][0],
        remembered=False,
    )
    world.remember(me, "run", first, remembered=False)
    world.record(me, BLINKS, "kept", "A blink.")
    world.record(me, BLINKS, "out", "Another blink.")
    world.exclude(me, BLINKS, "out", excluded=True)
    return build_in_run(until="chunking")


def tamper(build: BuildOfRun, frame: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    for part in build.workspace.parts(frame):
        build.workspace.write(frame, part, change(build.workspace.read(frame, part)))


def test_nothing_excluded_is_staged_by_a_build(staged: BuildOfRun) -> None:
    finding = no_excluded_pair_is_staged(read_parts(staged.workspace))
    assert finding.passed
    assert finding.counts["chunks"] == 3
    assert (finding.counts["excluded_messages"], finding.counts["excluded_records"]) == (2, 1)


def test_a_chunk_of_an_excluded_pair_is_seen(staged: BuildOfRun) -> None:
    tamper(staged, "messages", lambda rows: rows.with_columns(not_remembered=pl.col("role") == "user"))
    finding = no_excluded_pair_is_staged(read_parts(staged.workspace))
    assert not finding.passed
    assert finding.counts["of_excluded_pairs"] == 2
    assert "me/orbitpilot/orbitpilot.chat_history/s:0" in finding.examples


def test_a_chunk_that_hides_an_excluded_pair_under_another_number_is_seen(staged: BuildOfRun) -> None:
    def hide(rows: pl.DataFrame) -> pl.DataFrame:
        is_pair = pl.col("source_id") == "s:0"
        return rows.with_columns(source_id=pl.when(is_pair).then(pl.lit("s:7")).otherwise("source_id"))

    tamper(staged, "messages", lambda rows: rows.with_columns(not_remembered=pl.col("role") == "user"))
    tamper(staged, "chunks", hide)
    finding = no_excluded_pair_is_staged(read_parts(staged.workspace))
    assert "me/orbitpilot/orbitpilot.chat_history/s:7" in finding.examples


def test_a_reply_to_an_excluded_message_is_seen_by_its_id(staged: BuildOfRun) -> None:
    reply = read_reply_id(staged, "run")

    def give_reply(rows: pl.DataFrame) -> pl.DataFrame:
        ids = pl.when(pl.col("source_id") == "run:1").then(pl.lit([reply])).otherwise("reply_message_ids")
        return rows.with_columns(reply_message_ids=ids)

    tamper(staged, "chunks", give_reply)
    finding = no_excluded_pair_is_staged(read_parts(staged.workspace))
    assert finding.counts["with_replies_to_excluded_messages"] == 1
    assert finding.examples == ("me/orbitpilot/orbitpilot.chat_history/run:1",)


def test_a_reply_to_an_excluded_message_is_seen_by_whose_words_it_holds(staged: BuildOfRun) -> None:
    def add_words(rows: pl.DataFrame) -> pl.DataFrame:
        spans = pl.when(pl.col("source_id") == "run:1").then(pl.lit('[[0,5,"agent"]]')).otherwise("spans")
        return rows.with_columns(spans=spans)

    tamper(staged, "chunks", add_words)
    assert no_excluded_pair_is_staged(read_parts(staged.workspace)).counts["with_replies_to_excluded_messages"] == 1


def test_a_chunk_of_an_excluded_record_is_seen(staged: BuildOfRun) -> None:
    tamper(staged, "records", lambda rows: rows.with_columns(is_excluded=pl.lit(value=True)))
    finding = no_excluded_pair_is_staged(read_parts(staged.workspace))
    assert not finding.passed
    assert finding.counts["of_excluded_records"] == 1


def read_reply_id(build: BuildOfRun, session: str) -> str:
    rows = pl.concat([part.messages for part in read_parts(build.workspace)])
    return str(rows.filter((pl.col("session_id") == session) & (pl.col("role") == "assistant"))["message_id"][0])


def test_what_is_staged_has_the_ledgers_numbers(world: World, staged: BuildOfRun) -> None:
    finding = source_ids_stay_stable(world.connection, read_parts(staged.workspace))
    assert finding.passed
    assert finding.counts["pairs"] == 2


def renumber(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(source_id=pl.col("source_id").str.replace("s:0", "s:9"))


def test_a_pair_under_another_number_than_the_ledgers_is_seen(world: World, staged: BuildOfRun) -> None:
    tamper(staged, "chunks", renumber)
    finding = source_ids_stay_stable(world.connection, read_parts(staged.workspace))
    assert not finding.passed
    assert (finding.counts["not_as_in_the_ledger"], finding.examples) == (1, ("me/orbitpilot/s:9",))


def test_two_chunks_in_one_place_are_seen(world: World, staged: BuildOfRun) -> None:
    tamper(staged, "chunks", lambda rows: pl.concat([rows, rows]))
    assert source_ids_stay_stable(world.connection, read_parts(staged.workspace)).counts["staged_twice"] == 6


def test_a_number_that_moved_since_memory_learned_it_is_seen(world: World, build_in_run: Builds) -> None:
    me = world.account("me")
    ids = world.say(me, "s", "I like tea.", "> Noted.", "And jam.", "> Jam too.")
    world.build()
    # Somebody swaps two numbers in the ledger and in the messages: all agree, but memory knows better.
    world.sql("alter table memory.pair drop constraint pair_pkey")
    world.sql("drop index orbitpilot.message_by_pair")
    for table in ("memory.pair", "orbitpilot.message"):
        world.sql(f"update {table} set pair_index = 1 - pair_index where message_id = any(%s)", [ids[0], ids[2]])
    build = build_in_run(until="chunking")
    finding = source_ids_stay_stable(world.connection, read_parts(build.workspace))
    assert (finding.counts["moved"], finding.counts["taken_from_another"]) == (2, 2)
    assert finding.examples == ("me/orbitpilot/s:0", "me/orbitpilot/s:1")


def test_a_message_that_was_renamed_has_not_moved(world: World, build_in_run: Builds) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.")
    world.build()
    world.sql("update orbitpilot.message set message_id = 'another-id'")
    build = build_in_run(until="chunking")
    assert source_ids_stay_stable(world.connection, read_parts(build.workspace)).passed


def test_without_a_build_everything_is_staged_afresh_and_leaves_nothing(world: World, staged: BuildOfRun) -> None:
    before = world.sql("select count(*) from memory.build"), sorted(world.settings.workspaces.iterdir())
    with world.connection.transaction():
        afresh = list(make_parts(world.connection, world.settings))
    assert no_excluded_pair_is_staged(afresh).counts == no_excluded_pair_is_staged(read_parts(staged.workspace)).counts
    assert source_ids_stay_stable(world.connection, afresh).passed
    assert (world.sql("select count(*) from memory.build"), sorted(world.settings.workspaces.iterdir())) == before
    assert not {"content", "own_text", "reply_text", "title"} & {
        name
        for part in afresh
        for rows in (part.messages, part.records, part.pairs, part.chunks)
        for name in rows.columns
    }
