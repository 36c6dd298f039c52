"""The checks as Dagster runs them: after a build, on a build of nothing, in an audit, and when one blocks."""

import sys
from typing import Any

import dagster as dg
import polars as pl
import pytest

from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.definitions import defs
from orbit_pipelines.jobs import AUDIT, FULL_REBUILD
from orbit_pipelines.launching import plain
from orbit_pipelines.model import CHAT_HISTORY
from tests.running import Runs, materialized

STAGED = {"no_excluded_pair_is_staged", "source_ids_stay_stable"}
PUBLISHED = {
    "no_chunk_from_an_excluded_pair",
    "no_artifact_of_a_forgotten_session",
    "index_equals_extraction",
    "sources_stay_within_the_plan",
    "embeddings_are_sound",
    "lineage_replays_to_the_index",
}
CONTRACT = {"chat_history_meets_its_contract"}
SENTINEL = "Quittengelee"


def populate(runs: Runs) -> list[str]:
    """Text with a sentinel in every message, one of them excluded; return the ids of the messages."""
    me = runs.world.account("me")
    ids = runs.world.say(me, "s", f"I like {SENTINEL}.", f"> {SENTINEL}, noted.", f"No more {SENTINEL}.", "> Fine.")
    runs.world.record(me, "blink.blinks", "b", f"{SENTINEL} again.")
    runs.world.remember(me, "s", ids[2], remembered=False)
    return ids


def evaluated(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {each.check_name: each for each in result.get_asset_check_evaluations()}


def told(evaluation: dg.AssetCheckEvaluation) -> dict[str, Any]:
    return {name: plain(value) for name, value in evaluation.metadata.items()}


def test_the_checks_have_their_names_and_block_where_nothing_is_published_yet() -> None:
    checks = [spec for check in defs.asset_checks or [] for spec in check.check_specs]

    assert {spec.name for spec in checks} == STAGED | PUBLISHED | CONTRACT
    assert {spec.name for spec in checks if spec.blocking} == STAGED | CONTRACT
    assert all(len(spec.description or "") > 60 for spec in checks)


def test_every_check_passes_after_each_kind_of_build(runs: Runs) -> None:
    populate(runs)

    for job in ("quick_update", FULL_REBUILD):
        found = evaluated(runs.job(job))

        assert set(found) == STAGED | PUBLISHED | CONTRACT
        assert {name for name, each in found.items() if not each.passed} == set()
        assert told(found["index_equals_extraction"])["chunks"] == 2
        assert told(found["chat_history_meets_its_contract"])["messages"] == 4


def test_a_quick_update_checks_what_it_touched(runs: Runs) -> None:
    populate(runs)
    runs.job()
    runs.world.say(runs.world.account("you"), "s", "Something else.")

    found = evaluated(runs.job())

    assert {name for name, each in found.items() if not each.passed} == set()
    assert told(found["index_equals_extraction"])["chunks"] == 1
    assert told(found["no_excluded_pair_is_staged"])["chunks"] == 1
    assert told(found["sources_stay_within_the_plan"])["people"] == 1
    assert told(found["chat_history_meets_its_contract"])["messages"] == 1


def test_a_build_of_nothing_runs_no_check_and_imports_no_great_expectations(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    populate(runs)
    runs.job()
    # Whoever imports it now fails.
    monkeypatch.setitem(sys.modules, "great_expectations", None)

    result = runs.job()

    assert result.success
    assert evaluated(result) == {}


def test_diff_apply_alone_has_its_checks_whether_something_changed_or_not(runs: Runs) -> None:
    populate(runs)

    for chunks in (2, 0):
        result = runs.materialize("diff_apply")

        assert result.success
        found = evaluated(result)
        assert {name for name, each in found.items() if each.passed} == PUBLISHED
        assert told(found["index_equals_extraction"])["chunks"] == chunks


def test_an_audit_reads_everything_and_builds_nothing(runs: Runs) -> None:
    ids = populate(runs)
    runs.job()
    runs.world.sql("update orbitpilot.message set not_remembered = true where message_id = %s", ids[0])

    result = runs.job(AUDIT)

    found = evaluated(result)
    assert result.success
    assert set(found) >= PUBLISHED
    assert {name for name, each in found.items() if not each.passed} == set()
    assert told(found["no_chunk_from_an_excluded_pair"])["pending"] == 1
    assert told(found["index_equals_extraction"])["pending"] == 1
    assert len(runs.builds()) == 1
    assert runs.leftovers() == []


def test_an_audit_finds_what_nobody_built(runs: Runs) -> None:
    populate(runs)
    runs.job()
    runs.world.sql("update memory.chunk set content = 'Something else.', embedding = '[1]' where source_id = 's:0'")
    runs.world.sql("insert into memory.source_status select 'me', 'no.source', 'included', null, 1, null")
    runs.world.sql("delete from memory.chunk where source_id = 'b'")

    found = evaluated(runs.job(AUDIT))

    assert {name for name, each in found.items() if not each.passed} == PUBLISHED - {
        "no_chunk_from_an_excluded_pair",
        "no_artifact_of_a_forgotten_session",
    }
    assert told(found["embeddings_are_sound"])["examples"] == [f"me/orbitpilot/{CHAT_HISTORY}/s:0/0"]


def test_checks_run_alone_stage_everything_afresh(runs: Runs) -> None:
    populate(runs)
    runs.job()

    # As somebody does who selects the checks of all assets in the UI.
    alone = dg.Definitions.merge(
        defs, dg.Definitions(jobs=[dg.define_asset_job("checks", dg.AssetSelection.all_asset_checks())])
    )
    result = alone.resolve_job_def("checks").execute_in_process(instance=runs.instance)

    found = evaluated(result)
    assert {name for name, each in found.items() if each.passed} == STAGED | PUBLISHED | CONTRACT
    assert told(found["no_excluded_pair_is_staged"])["chunks"] == 2
    assert len(runs.builds()) == 1


def test_what_may_not_pass_is_neither_embedded_nor_published(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    populate(runs)
    read = Workspace.read

    def flag_all(self: Workspace, frame: str, part: str, columns: list[str] | None = None) -> pl.DataFrame:
        rows = read(self, frame, part, columns)
        # As if pairing had overlooked the flags that the check sees.
        return rows.with_columns(not_remembered=pl.col("role") == "user") if columns and "role" in rows else rows

    monkeypatch.setattr(Workspace, "read", flag_all)

    result = runs.job()

    assert not result.success
    assert not evaluated(result)["no_excluded_pair_is_staged"].passed
    assert "chunking" in materialized(result)
    assert not {"embedding", "diff_apply"} & set(materialized(result))
    assert runs.world.contents() == {}
    assert [status for status, _ in runs.builds()] in (["unpublished"], ["failed"])


def test_rows_that_break_the_contract_warn_and_the_others_are_built(runs: Runs) -> None:
    populate(runs)
    runs.world.say(runs.world.account("you"), "other", "All is well.")
    runs.world.sql("update orbitpilot.session set next_pair_index = 9 where session_id = 's'")

    result = runs.job()

    assert result.success
    contract = evaluated(result)["chat_history_meets_its_contract"]
    assert (contract.passed, contract.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert {"kind": "next_pair_index follows the last number", "count": 1} in told(contract)["what would break it"]
    assert set(runs.world.contents()) == {"b", "other:0"}
    assert {name for name, each in evaluated(result).items() if not each.passed} == CONTRACT


def test_no_result_or_event_holds_a_messages_text(runs: Runs, caplog: pytest.LogCaptureFixture) -> None:
    populate(runs)
    built = runs.job()
    runs.world.sql("update memory.chunk set content = content || '!', embedding = '[1]', reply_message_ids = '{x}'")
    runs.world.sql("update orbitpilot.session set next_pair_index = 9")
    runs.world.sql("alter table orbitpilot.message disable trigger mark_flag")
    runs.world.sql("update orbitpilot.message set not_remembered = true where role = 'user'")
    audit = runs.job(AUDIT)
    rebuilt = runs.job(FULL_REBUILD)

    assert any(not each.passed for each in evaluated(audit).values())
    for result in (built, audit, rebuilt):
        assert SENTINEL not in repr(result.all_events)
        assert SENTINEL not in repr(runs.instance.all_logs(result.run_id))
    assert SENTINEL not in caplog.text
