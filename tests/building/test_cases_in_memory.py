"""The cases made after public reports of importers failing, from their files to memory, on real PostgreSQL."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from orbit_pipelines.building.states import pair_states
from orbit_pipelines.history.files import import_file
from orbit_pipelines.history.importing import ImportResult
from orbit_pipelines.history.stream import Problems
from orbit_pipelines.model import Store
from tests.worlds import World

ROOT = Path(__file__).parents[2]
COPIES = ROOT / "tests" / "fixtures" / "cases"
SHARED = ROOT.parent / "shared" / "cases"
MARKS = "do_not_remember.json"
ME = Store("me")
KEY = b"k" * 32


def all_cases() -> dict[str, Path]:
    """Every case by name; a copy stands for the one it was made from."""
    return {case.parent.name: case.parent for folder in (SHARED, COPIES) for case in folder.glob("*/expected.json")}


def bring_in(world: World, folder: Path, inputs: list[str]) -> Iterator[ImportResult]:
    """Import the inputs, and mark what is not to be remembered."""
    for name in inputs:
        if name == MARKS:
            for message_id in json.loads((folder / name).read_text())["user_message_ids"]:
                query = "select session_id from orbitpilot.message where message_id = %s"
                for (session_id,) in world.sql(query, message_id):
                    world.remember(ME, session_id, message_id, remembered=False)
        else:
            yield import_file(
                world.connection, ME, folder / name, hash_key=KEY, problems=Problems(), creates_account=True
            )


def plain(text: str | None) -> str:
    """What remains where a case leaves the joining of parts and the sign for broken characters open."""
    return " ".join((text or "").replace("\ufffd", "").split())


def is_same(expected: str, seen: str | None) -> bool:
    return expected.startswith("(text of") or plain(expected) == plain(seen)


def of_conversation(states: pl.DataFrame, expected: dict[str, Any]) -> pl.DataFrame:
    """The pairs of a conversation; where the format has no ids, of the session that its first question began."""
    named = states.filter(pl.col("session_id") == expected["conversation_id"])
    if named.height or not expected["pairs"]:
        return named
    first = expected["pairs"][0]["user"]
    begun = states.filter(pl.col("user_text").map_elements(lambda text: is_same(first, text), return_dtype=pl.Boolean))
    return states.join(begun.select("session_id").unique(), on="session_id", how="semi")


def check_conversation(world: World, states: pl.DataFrame, expected: dict[str, Any]) -> None:
    remembered = of_conversation(states, expected).filter(pl.col("state") == "remembered")
    answered = remembered.filter(pl.col("reply_text").is_not_null())
    assert answered.height == len(expected["pairs"])
    assert remembered.height - answered.height == len(expected["unanswered_user_ids"])
    for pair, seen in zip(expected["pairs"], answered.iter_rows(named=True), strict=True):
        assert is_same(pair["user"], seen["user_text"])
        assert is_same(pair.get("assistant", "(text of the input)"), seen["reply_text"])
        for part in pair.get("assistant_parts", ()):
            assert plain(part) in plain(seen["reply_text"])
        is_partial = world.sql(
            "select bool_or(is_partial) from orbitpilot.message where session_id = %s and answers = %s",
            seen["session_id"],
            seen["pair_index"],
        )
        assert is_partial == [(pair.get("reply_incomplete", False),)]
        if "user_time_utc" in pair:
            times = world.sql("select distinct sent_at from memory.chunk where source_id = %s", seen["source_id"])
            assert times == [(datetime.fromisoformat(pair["user_time_utc"]),)]


def check_memory(world: World, expected: dict[str, Any]) -> None:
    states = pair_states(world.connection, ME)
    for conversation in expected["conversations"]:
        check_conversation(world, states, conversation)
    remembered = states.filter(pl.col("state").is_in(["remembered", "pending", "pending_return"]))
    assert set(remembered["source_id"]) == set(world.contents())
    assert set(remembered["state"]) <= {"remembered"}
    if "total_pairs" in expected:
        assert remembered.height == expected["total_pairs"]
    held = [*world.contents().values(), *remembered["user_text"], *remembered["reply_text"].drop_nulls()]
    for words in expected.get("must_not_contain", ()):
        assert not any(words in text for text in held)
    assert world.sql("select count(*) from memory.chunk where embedding is null") == [(0,)]


@pytest.mark.parametrize("folder", all_cases().values(), ids=lambda folder: folder.name)
def test_a_case_comes_to_memory_as_it_should(world: World, folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())
    for step in expected.get("steps", [expected]):
        inputs = step.get("inputs", expected["inputs"])
        assert all(result.changed_anything for result in bring_in(world, folder, inputs))
        world.build()
        check_memory(world, step)
        # The same files again change nothing, whatever ids they lack.
        before = world.chunks()
        again = [result.changed_anything for result in bring_in(world, folder, inputs)]
        assert again == [False] * len(again)
        world.build()
        assert world.chunks() == before


def test_an_excluded_conversation_stays_in_the_history_flagged(world: World) -> None:
    folder = COPIES / "h09-do-not-remember"
    list(bring_in(world, folder, ["conversations.json", MARKS]))
    world.build()
    states = pair_states(world.connection, ME).filter(pl.col("state") == "not_remembered")
    assert states["reason"].to_list() == ["not_remembered"] * states.height
    assert "h09-u3" in states["message_id"]
    assert world.sql("select count(*) from orbitpilot.message where content like '%4417%'") != [(0,)]


def test_every_handed_out_case_has_its_copy() -> None:
    assert len(list(COPIES.glob("*/expected.json"))) == 22
