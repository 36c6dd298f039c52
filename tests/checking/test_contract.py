from collections.abc import Callable

import pytest

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.contract import chat_history_meets_its_contract
from orbit_pipelines.checking.finding import Finding, Severity
from orbit_pipelines.database.connection import connect
from orbit_pipelines.model import Store
from tests.worlds import World

Builds = Callable[..., BuildOfRun]


def populate(world: World) -> Store:
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.", "And jam.", "> Jam too.")
    world.say(me, "other", "SENTINEL-words", "> SENTINEL-reply")
    world.record(me, "blink.blinks", "b", "SENTINEL-blink")
    return me


def check(world: World, build: BuildOfRun | None = None) -> Finding:
    with connect(world.url, autocommit=True) as connection:
        return chat_history_meets_its_contract(connection, build)


def test_a_history_meets_its_contract_and_deleted_messages_leave_no_gap(world: World) -> None:
    populate(world)
    world.sql("delete from orbitpilot.message where session_id = 's' and pair_index = 0")
    finding = check(world)
    assert finding.passed
    assert (finding.counts["sessions"], finding.counts["messages"], finding.counts["records"]) == (2, 5, 1)


@pytest.mark.parametrize(
    ("tampering", "expectation"),
    [
        (
            ["update orbitpilot.session set next_pair_index = 9 where session_id = 's'"],
            "next_pair_index follows the last number",
        ),
        (
            ["delete from memory.pair where session_id = 's' and pair_index = 0"],
            "pair_index is dense, deleted ones counted",
        ),
        (
            ["update memory.pair set pair_index = 7 where session_id = 's' and pair_index = 1"],
            "pair_index is the ledger's",
        ),
        (
            [
                "alter table orbitpilot.message drop constraint message_role_check",
                "update orbitpilot.message set role = 'robot', answers = null where role = 'assistant'",
            ],
            "message.role is known",
        ),
        (
            [
                "alter table orbitpilot.message drop constraint only_user_messages_are_flagged",
                "update orbitpilot.message set not_remembered = true where session_id = 's' and role = 'assistant'",
            ],
            "only user messages are flagged",
        ),
        (
            [
                "alter table orbitpilot.message drop constraint a_pair_is_a_user_message",
                "update orbitpilot.message set pair_index = null where session_id = 's'",
            ],
            "user messages are numbered",
        ),
        (
            [
                "alter table orbitpilot.message drop constraint a_pair_is_a_user_message",
                "update orbitpilot.message set pair_index = 5 where session_id = 's' and answers = 1",
            ],
            "only user messages are numbered",
        ),
        (
            [
                "drop index orbitpilot.message_by_pair",
                "update orbitpilot.message set pair_index = 0 where session_id = 's' and pair_index = 1",
            ],
            "pair_index is unique in its session",
        ),
        (
            [
                "alter table orbitpilot.message drop constraint message_pkey",
                "update orbitpilot.message set message_id = 'twice' where session_id = 's' and role = 'assistant'",
            ],
            "message keys are unique",
        ),
        (
            [
                "alter table orbitpilot.message drop constraint message_pkey, alter message_id drop not null",
                "update orbitpilot.message set message_id = null where session_id = 's' and role = 'assistant'",
            ],
            "message keys are not null",
        ),
        (
            [
                "alter table orbitpilot.record drop constraint record_pkey, alter source_id drop not null",
                "update orbitpilot.record set source_id = null",
            ],
            "record keys are not null",
        ),
        (
            [
                "alter table orbitpilot.record drop constraint record_pkey",
                "insert into orbitpilot.record select * from orbitpilot.record",
            ],
            "record keys are unique",
        ),
        (
            [
                "alter table orbitpilot.record drop constraint record_source_key_fkey",
                "update orbitpilot.record set source_key = 'no.source'",
            ],
            "record.source_key is registered",
        ),
    ],
)
def test_rows_that_break_the_contract_are_counted(world: World, tampering: list[str], expectation: str) -> None:
    populate(world)
    for statement in tampering:
        world.sql(statement)
    finding = check(world)
    assert not finding.passed
    assert finding.severity == Severity.WARN
    assert finding.counts[expectation] > 0


@pytest.mark.parametrize(
    ("tampering", "missing"),
    [
        ("alter table orbitpilot.session drop column session_kind cascade", "orbitpilot.session.session_kind text"),
        ("alter table orbitpilot.message alter author type varchar(9)", "orbitpilot.message.author text"),
    ],
)
def test_a_missing_column_or_another_type_is_an_error(world: World, tampering: str, missing: str) -> None:
    populate(world)
    for trigger in ("session", "message"):
        world.sql(f"drop trigger {'mark_changed' if trigger == 'session' else 'mark_content'} on orbitpilot.{trigger}")
    world.sql(tampering)
    finding = check(world)
    assert (finding.passed, finding.severity, finding.examples) == (False, Severity.ERROR, (missing,))


def test_a_missing_table_is_an_error(world: World) -> None:
    world.sql("drop table orbitpilot.record cascade")
    finding = check(world)
    assert (finding.passed, finding.severity) == (False, Severity.ERROR)
    assert finding.examples[0].startswith("orbitpilot.record.")


def test_after_a_build_only_the_sessions_it_extracted_are_looked_at(world: World, build_in_run: Builds) -> None:
    me = populate(world)
    world.build()
    world.sql("update orbitpilot.session set next_pair_index = 9 where session_id = 's'")
    world.say(me, "other", "And more.")
    build = build_in_run(until="extraction")
    finding = check(world, build)
    assert finding.passed
    assert (finding.counts["sessions"], finding.counts["messages"], finding.counts["records"]) == (1, 3, 0)
    assert not check(world).passed


def test_a_finding_holds_no_row_values(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    populate(world)
    world.sql("update orbitpilot.session set next_pair_index = 9 where session_id = 'other'")
    finding = check(world)
    captured = capfd.readouterr()
    assert not finding.examples
    assert "SENTINEL" not in f"{finding}{caplog.text}{captured.out}{captured.err}"
    assert not captured.out.strip()
