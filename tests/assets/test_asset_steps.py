import dagster as dg
import pytest

from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.jobs import FULL_REBUILD
from orbit_pipelines.model import Store
from tests.running import FailingEmbedder, Runs, materialized


def populate(runs: Runs) -> None:
    ann = runs.world.account("ann")
    runs.world.say(ann, "s1", "What rhymes with orange?", "> Nothing does.", "And with month?", "> Nothing either.")
    runs.world.record(ann, "profile.facts", "f1", "Writes poems.")


def test_a_build_through_the_job_publishes_and_says_how_much(runs: Runs) -> None:
    populate(runs)

    result = runs.job()

    assert result.success
    told = materialized(result)
    assert told["chat_history"]["dagster/row_count"] == 5
    assert told["chat_history"]["changed_since_last_build"] == 5
    assert told["extraction"]["people"] == "everyone"
    assert told["pairing"]["dagster/row_count"] == 3
    assert told["embedding"]["embedded"] == 3
    assert told["diff_apply"]["added"] == 3
    assert told["diff_apply"]["reasons"] == [{"action": "added", "reason": "new_pair", "count": 3}]
    assert told["build_lineage"]["builds_mirrored"] == 1
    assert len(runs.world.contents()) == 3
    assert runs.builds() == [("published", "first build")]
    assert runs.leftovers() == []


def test_nothing_passes_through_an_io_manager(runs: Runs) -> None:
    populate(runs)

    kinds = {event.event_type_value for event in runs.job().all_events}

    assert "ASSET_MATERIALIZATION" in kinds
    assert not kinds & {"HANDLED_OUTPUT", "LOADED_INPUT"}


def test_a_build_is_linked_to_its_run_and_its_lineage(runs: Runs) -> None:
    populate(runs)

    result = runs.job()

    told = materialized(result)
    assert runs.world.sql("select dagster_run_id from memory.build") == [(result.run_id,)]
    assert told["diff_apply"]["lineage"] == dg.AssetKey("build_lineage")
    assert told["build_lineage"]["views"] == str(runs.world.settings.lineage / "lineage.duckdb")


def test_the_last_builds_are_shown_as_a_picture(runs: Runs) -> None:
    populate(runs)

    picture = materialized(runs.job())["diff_apply"]["last_builds"]

    assert picture.startswith("![")
    assert "(data:image/png;base64,iVBOR" in picture


def test_columns_are_shown_with_the_schemas_comments(runs: Runs) -> None:
    populate(runs)

    schema = materialized(runs.job())["diff_apply"]["dagster/column_schema"]

    assert {"user_id", "embedding", "build_id"} <= {column.name for column in schema.columns}
    assert next(column for column in schema.columns if column.name == "content_hash").type == "bytea"


def test_a_build_that_finds_nothing_changed_skips_what_follows_and_succeeds(runs: Runs) -> None:
    populate(runs)
    runs.job()

    result = runs.job()

    assert result.success
    assert set(materialized(result)) == {"chat_history", "exclusion_flags", "plan_assignments"}
    skipped = {event.step_key for event in result.all_events if event.event_type_value == "STEP_SKIPPED"}
    assert {"pairing", "chunking", "embedding", "diff_apply", "build_lineage"} <= skipped
    assert result.get_asset_check_evaluations() == []
    assert [status for status, _ in runs.builds()] == ["published", "unchanged"]
    assert runs.leftovers() == []


def test_a_skipped_build_says_since_which_build_nothing_changed(runs: Runs) -> None:
    populate(runs)
    runs.job()

    result = runs.job()

    log = runs.instance.all_logs(result.run_id)
    assert any("nothing changed since build 1" in entry.user_message for entry in log)


def test_a_full_rebuild_takes_everything_though_nothing_changed(runs: Runs) -> None:
    populate(runs)
    runs.job()

    result = runs.job(FULL_REBUILD)

    assert result.success
    assert materialized(result)["extraction"]["mode"] == "full"
    assert materialized(result)["diff_apply"]["unchanged"] == 3
    assert runs.world.sql("select mode from memory.build order by build_id") == [("incremental",), ("full",)]


def test_options_from_the_launchpad_reach_the_build(runs: Runs) -> None:
    populate(runs)
    runs.world.say(runs.world.account("bob"), "s1", "Hi", "> Hello.")

    result = runs.job(config={"resources": {"build": {"config": {"users": ["bob"], "re_embed": True}}}})

    assert result.success
    assert materialized(result)["extraction"]["people"] == "bob"
    assert runs.world.sql("select mode, scope from memory.build") == [("full", {"users": ["bob"]})]
    assert runs.world.sql("select distinct user_id from memory.chunk") == [("bob",)]


def test_embedding_alone_makes_what_it_lacks_and_says_that_nothing_is_published(runs: Runs) -> None:
    populate(runs)

    result = runs.materialize("embedding")

    assert result.success
    told = materialized(result)
    assert set(told) == {"embedding"}
    assert told["embedding"]["dagster/row_count"] == 3
    assert "Nothing was published" in told["embedding"]["published"]
    assert runs.world.contents() == {}
    assert [status for status, _ in runs.builds()] == ["unpublished"]
    assert runs.leftovers() == []


@pytest.mark.parametrize("step", ["extraction", "pairing", "chunking"])
def test_any_step_alone_makes_what_it_lacks(runs: Runs, step: str) -> None:
    populate(runs)

    result = runs.materialize(step)

    assert result.success
    assert set(materialized(result)) == {step}
    assert [status for status, _ in runs.builds()] == ["unpublished"]
    assert runs.leftovers() == []


def test_diff_apply_alone_publishes(runs: Runs) -> None:
    populate(runs)

    result = runs.materialize("diff_apply")

    assert result.success
    assert materialized(result)["diff_apply"]["added"] == 3
    assert len(runs.world.contents()) == 3


def test_build_lineage_alone_mirrors_what_is_not_mirrored_yet(runs: Runs) -> None:
    populate(runs)
    runs.materialize("diff_apply")

    result = runs.materialize("build_lineage")

    assert result.success
    assert materialized(result)["build_lineage"]["builds_mirrored"] == 1
    assert [status for status, _ in runs.builds()] == ["published"]


def test_upstream_assets_alone_begin_no_build(runs: Runs) -> None:
    populate(runs)

    result = runs.materialize("chat_history", "exclusion_flags", "plan_assignments")

    assert result.success
    assert runs.builds() == []


def test_upstream_versions_move_with_their_tables_only(runs: Runs) -> None:
    populate(runs)

    def versions() -> dict[str, str]:
        result = runs.materialize("chat_history", "exclusion_flags", "plan_assignments")
        return {
            event.materialization.asset_key.to_user_string(): (event.materialization.tags or {})["dagster/data_version"]
            for event in (each.step_materialization_data for each in result.get_asset_materialization_events())
        }

    first = versions()
    runs.job()
    assert versions() == first
    message = runs.world.sql("select message_id from orbitpilot.message where role = 'user' order by position")[0][0]
    runs.world.remember(Store("ann"), "s1", message, remembered=False)
    toggled = versions()
    runs.world.sql("update orbitpilot.memory_source set in_rag = false where source_key = 'profile.facts'")

    assert {name for name in first if toggled[name] != first[name]} == {"exclusion_flags"}
    assert {name for name in first if versions()[name] != toggled[name]} == {"plan_assignments"}


def test_a_failing_embedder_fails_the_run_and_the_build_and_publishes_nothing(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    populate(runs)
    monkeypatch.setattr("resources.embedder.create_embedder", lambda _settings: FailingEmbedder())

    result = runs.job()

    assert not result.success
    assert runs.builds() == [("failed", "EmbeddingFailed: The endpoint answers no more. Start it again.")]
    assert runs.world.contents() == {}
    assert runs.leftovers() == []


def test_a_build_after_a_failed_one_goes_on_where_the_cache_ends(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    populate(runs)
    monkeypatch.setenv("ORBIT_EMBEDDING_BATCH_SIZE", "1")
    failing, working = FailingEmbedder(texts=2), FakeEmbedder()
    monkeypatch.setattr("resources.embedder.create_embedder", lambda _settings: failing)
    runs.job()
    monkeypatch.setattr("resources.embedder.create_embedder", lambda _settings: working)

    result = runs.job()

    assert result.success
    assert working.texts_embedded == 1
    assert len(runs.world.contents()) == 3


def test_a_retry_of_the_failed_steps_begins_at_extraction(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    populate(runs)
    with monkeypatch.context() as patch:
        patch.setattr("resources.embedder.create_embedder", lambda _settings: FailingEmbedder())
        failed = runs.job()
    runs.world.say(Store("ann"), "s2", "Said in between")

    result = runs.materialize("embedding", "diff_apply", "build_lineage")

    assert not failed.success
    assert result.success
    assert len(runs.world.contents()) == 4


def test_a_failing_blocking_check_fails_the_build_and_keeps_memory_as_it_was(runs: Runs) -> None:
    populate(runs)
    runs.world.sql("drop trigger mark_content on orbitpilot.record")
    runs.world.sql("alter table orbitpilot.record alter column title type varchar(80)")

    result = runs.job()

    assert not result.success
    assert [each.check_name for each in result.get_asset_check_evaluations()] == ["chat_history_meets_its_contract"]
    assert "pairing" not in materialized(result)
    [(status, note)] = runs.builds()
    assert (status, note and note.partition(")")[0]) == (
        "failed",
        "a blocking check failed (extraction: chat_history_meets_its_contract",
    )
    assert runs.world.contents() == {}
    assert runs.leftovers() == []
