"""`orbit forget`: what a person types, and what it answers."""

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.rows import TupleRow

Orbit = Any
Connection = psycopg.Connection[TupleRow]

PROMISED = {
    "dry_run",
    "digest",
    "sessions",
    "unresolved",
    "artifacts",
    "mixed",
    "caught",
    "undated",
    "edited",
    "untargetable",
    "to_review",
    "refused",
}


@pytest.fixture
def built(imported: Orbit, build: Callable[[], int]) -> Orbit:
    """The command line of an installation that is built and up to date."""
    build()
    return imported


def test_a_forget_without_a_selector_is_a_wrong_use(built: Orbit) -> None:
    result = built("forget", "--user", "ana")
    assert result.exit_code == 2
    assert "--session" in result.stderr


@pytest.mark.parametrize("command", ["forget", "verify"])
@pytest.mark.parametrize(
    "given",
    [
        ("--session", "--dry-run"),
        ("--session", "s1", "--participant", "--json"),
        ("--hook-source", "-x"),
        ("--session", "--session", "s1"),
        ("--record", "--dry-run", "b1"),
        ("--record", "blink.blinks", "--dry-run"),
        ("--record", "blink.blinks", "-x"),
        ("--record=blink.blinks", "--json"),
        ("--session", "s1", "--since", "--json"),
        ("--session", "s1", "--agent", "--json"),
        ("--session", ""),
        ("--session=", "--json"),
        ("--participant", " "),
        ("--session", "s\0"),
        ("--record", "blink.blinks", ""),
    ],
)
def test_what_is_no_value_is_a_wrong_use_and_forgets_nothing(
    built: Orbit, connection: Connection, command: str, given: tuple[str, ...]
) -> None:
    result = built(command, "--user", "ana", *given)
    assert result.exit_code == 2
    assert connection.execute("select count(*) from memory.tombstone").fetchall() == [(0,)]


@pytest.mark.parametrize(
    "given", [("--session=-x",), ("--session=--json",), ("--record=blink.blinks", "-x", "--account")]
)
def test_a_value_that_begins_with_a_dash_is_given_in_one_word(built: Orbit, given: tuple[str, ...]) -> None:
    assert built("forget", "--user", "ana", *given, "--dry-run").exit_code == 0


def test_the_report_of_a_preview_is_that_of_the_forget_but_for_three_keys(built: Orbit) -> None:
    preview = built.json("forget", "--user", "ana", "--session", "s1", "--dry-run")
    done = built.json("forget", "--user", "ana", "--session", "s1")
    assert set(preview) >= PROMISED
    assert set(done) >= PROMISED | {"verified", "receipt"}
    later = {"dry_run", "verified", "receipt"}
    assert {key: value for key, value in preview.items() if key not in later} == {
        key: value for key, value in done.items() if key not in later
    }
    assert (preview["dry_run"], done["dry_run"]) == (True, False)
    assert done["artifacts"]["chunks"]["count"] == 2
    assert set(done["verified"]) >= set(done["artifacts"])
    assert all(set(each) == {"found", "depth"} and each["found"] == 0 for each in done["verified"].values())


def test_a_second_forget_reports_zeros(built: Orbit) -> None:
    built.json("forget", "--user", "ana", "--session", "s1")
    again = built.json("forget", "--user", "ana", "--session", "s1")
    assert {each["count"] for each in again["artifacts"].values()} == {0}
    assert (again["sessions"], again["unresolved"]) == (["s1"], [])


def test_ids_are_exact_and_an_unknown_one_is_told(built: Orbit, connection: Connection) -> None:
    answer = built.json("forget", "--user", "ana", "--session", "S1", "--session", "s")
    assert (answer["sessions"], answer["unresolved"]) == (["S1", "s"], ["S1", "s"])
    assert answer["artifacts"]["chunks"]["count"] == 0
    assert answer["artifacts"]["embedding_cache"]["count"] == 4
    assert connection.execute("select count(*) from memory.chunk").fetchone() == (4,)
    stones = connection.execute("select session_id from memory.tombstone order by 1").fetchall()
    assert stones == [("S1",), ("s",)]


def test_a_plan_that_changed_is_refused_with_the_current_report(built: Orbit, build: Callable[[], int]) -> None:
    preview = built.json("forget", "--user", "ana", "--session", "s1", "--dry-run")
    assert built.json("forget", "--user", "ana", "--session", "s1", "--if-plan", "0" * 64, exit_code=1) == preview
    done = built.json("forget", "--user", "ana", "--session", "s1", "--if-plan", preview["digest"])
    assert done["digest"] == preview["digest"]


def test_a_time_without_an_offset_is_a_wrong_use(built: Orbit) -> None:
    result = built("forget", "--user", "ana", "--session", "s1", "--since", "2026-03-01T00:00:00")
    assert result.exit_code == 2
    assert "offset" in result.stderr
    assert built("forget", "--user", "ana", "--session", "s1", "--since", "yesterday").exit_code == 2


def test_an_unknown_account_is_a_wrong_use(built: Orbit) -> None:
    result = built("forget", "--user", "nobody", "--session", "s1")
    assert result.exit_code == 2
    assert "nobody" in result.stderr


def test_records_are_named_by_two_values_each(built: Orbit, build: Callable[[], int]) -> None:
    for record in ("tea", "jam", "rye"):
        built("record", "put", "profile.facts", record, "--user", "ana", "--text", f"Ana likes {record}.")
    build()
    facts = ["--record", "profile.facts", "tea", "--record", "profile.facts", "jam"]
    answer = built.json("forget", "--user", "ana", *facts, "--record", "profile.facts", "none")
    assert [record["source_id"] for record in answer["records"]] == ["jam", "tea"]
    assert [record["source_id"] for record in answer["unresolved_records"]] == ["none"]
    assert answer["artifacts"]["chunks"]["count"] == 2
    assert built("forget", "--user", "ana", "--record", "profile.facts").exit_code == 2


def test_people_read_what_was_found_how_to_go_on_and_what_is_not_reached(built: Orbit) -> None:
    preview = built("forget", "--user", "ana", "--session", "s1", "--dry-run").stdout
    assert "Would forget of ana" in preview
    assert "without --dry-run" in preview
    assert "backups" in preview
    done = built("forget", "--user", "ana", "--session", "s1").stdout
    assert "rows deleted" in done
    again = built("forget", "--user", "ana", "--session", "s1").stdout
    assert "Nothing found" in again
    assert "nothing remains" not in again.lower()
    none = built("forget", "--user", "ana", "--hook-source", "nowhere").stdout
    assert "Nothing was written" in none


def test_no_text_of_a_message_is_in_a_receipt(built: Orbit) -> None:
    answer = built.json("forget", "--user", "ana", "--session", "s1")
    with open(answer["receipt"], encoding="utf-8") as file:
        receipt = file.read()
    assert "bees" not in receipt
    assert json.loads(receipt)
