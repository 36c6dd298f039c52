"""Whole builds on real PostgreSQL: what memory holds afterwards, and what becomes of what happens meanwhile."""

import polars as pl
import pytest
from pydantic import SecretStr

from orbit_pipelines.building.run import BuildRun, build
from orbit_pipelines.building.states import pair_states
from orbit_pipelines.errors import BuildFailed, InstallationMismatch, NothingStagedMayPass
from orbit_pipelines.model import Store
from tests.worlds import World


def states(world: World, store: Store) -> dict[str, tuple[str, str | None]]:
    rows = pair_states(world.connection, store).select("source_id", "state", "reason").rows()
    return {source: (state, reason) for source, state, reason in rows}


def extracted(world: World, *users: str, full: bool = False) -> BuildRun:
    """A build that has done everything but publish."""
    run = world.run(*users, full=full)
    run.embedding()
    return run


def test_a_first_build_remembers_every_pair(world: World) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.", "And jam.", "> Jam too.")
    published = world.build()
    assert world.contents() == {"s:0": "I like tea.\n\nNoted.", "s:1": "And jam.\n\nJam too."}
    assert (published.added, published.removed, published.embedded) == (2, 0, 2)
    assert world.changes() == [("s:0", "added", "new_pair"), ("s:1", "added", "new_pair")]


def test_nothing_changed_writes_one_build_row_and_nothing_else(world: World) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.")
    world.build()
    before = world.sql("select * from memory.watermark"), world.chunks()
    assert world.build().added == 0
    assert (world.sql("select * from memory.watermark"), world.chunks()) == before
    assert world.sql("select status from memory.build order by build_id") == [("published",), ("unchanged",)]


def test_a_pairs_state_tells_what_the_next_build_will_do(world: World) -> None:
    me = world.account("me")
    first, _ = world.say(me, "s", "I like tea.", "> Noted.")
    assert states(world, me) == {"s:0": ("pending", "new_pair")}
    world.build()
    assert states(world, me) == {"s:0": ("remembered", None)}
    world.remember(me, "s", first, remembered=False)
    assert states(world, me) == {"s:0": ("pending_removal", "not_remembered")}
    world.build()
    assert states(world, me) == {"s:0": ("not_remembered", "not_remembered")}
    world.remember(me, "s", first, remembered=True)
    assert states(world, me) == {"s:0": ("pending_return", "remembered_again")}
    world.build()
    assert states(world, me) == {"s:0": ("remembered", None)}
    assert world.embedder.texts_embedded == 1


def test_excluded_and_taken_back_between_builds_changes_nothing_at_all(world: World) -> None:
    me = world.account("me")
    first, _ = world.say(me, "s", "I like tea.", "> Noted.")
    world.build()
    before = world.sql("select ctid, xmin, * from memory.chunk")
    world.remember(me, "s", first, remembered=False)
    world.remember(me, "s", first, remembered=True)
    published = world.build()
    assert (published.added, published.removed, published.updated, published.embedded) == (0, 0, 0, 0)
    assert world.sql("select ctid, xmin, * from memory.chunk") == before
    assert len(world.sql("select 1 from memory.change")) == 1


def test_the_reply_to_a_run_with_an_excluded_message_is_not_remembered_by_another_road(world: World) -> None:
    me = world.account("me")
    first, _, _ = world.say(me, "s", "My code is 4417.", "Find me a café.", "> Near code 4417: Le Zinc.")
    world.build()
    world.remember(me, "s", first, remembered=False)
    world.build()
    assert world.contents() == {"s:1": "Find me a café."}
    assert world.skips() == {"s:0": "not_remembered", "s:1": "reply_not_remembered"}
    world.sql("delete from orbitpilot.message where message_id = %s", first)
    world.build()
    assert world.contents() == {"s:1": "Find me a café."}, "a deleted message stands in its run with its last flag"


def test_a_reply_whose_user_message_is_gone_is_stored_under_no_other(world: World) -> None:
    me = world.account("me")
    _, _, second, _ = world.say(me, "s", "One.", "> Reply one.", "Two.", "> Reply two.")
    world.sql("delete from orbitpilot.message where message_id = %s", second)
    world.build()
    assert world.contents() == {"s:0": "One.\n\nReply one."}


def test_a_limit_that_crowds_a_source_out_says_so(world: World) -> None:
    world.sql("insert into orbitpilot.plan (plan_key, title) values ('small', 'Small')")
    me = world.account("me", "small")
    world.say(me, "s", "I like tea.", "> Noted.")
    world.record(me, "profile.facts", "birthday", "In May.")
    world.build()
    assert world.contents() == {"birthday": "In May."}
    assert world.skips() == {"s:0": "source_over_cap"}
    assert world.sql("select source_key, status, reason from memory.source_status order by 1") == [
        ("blink.blinks", "included", None),
        ("files.documents", "included", None),
        ("orbitpilot.chat_history", "not_included", "source_over_cap"),
        ("profile.facts", "included", None),
    ]


def test_two_people_with_the_same_texts_have_nothing_in_common(world: World) -> None:
    ann, bob = world.account("ann"), world.account("bob")
    for store in (ann, bob):
        world.say(store, "s", "I like tea.", "> Noted.")
    world.build()
    bobs = [row for row in world.chunks() if row[0] == "bob"]
    world.sql("delete from orbitpilot.account where user_id = 'ann'")
    world.build()
    assert world.chunks() == bobs
    assert world.sql("select distinct user_id from memory.embedding_cache") == [("bob",)]
    assert world.sql("select distinct reason from memory.change where action = 'removed'") == [("account_deleted",)]


def test_a_flag_set_during_a_build_is_honoured_at_its_publish_for_the_whole_run(world: World) -> None:
    me = world.account("me")
    first, _, _, _, _ = world.say(me, "s", "My code is 4417.", "Find me a café.", "> Le Zinc.", "Thanks.", "> Sure.")
    run = extracted(world)
    world.remember(me, "s", first, remembered=False)
    build(run)
    assert world.contents() == {"s:2": "Thanks.\n\nSure."}
    assert world.skips() == {"s:0": "not_remembered", "s:1": "reply_not_remembered"}
    world.build()
    assert world.contents() == {"s:1": "Find me a café.", "s:2": "Thanks.\n\nSure."}
    assert world.changes() == [("s:1", "added", "reply_not_remembered")]


def test_a_flag_set_during_a_build_that_did_not_look_at_its_pair_is_honoured_too(world: World) -> None:
    me = world.account("me")
    first, _ = world.say(me, "s", "I like tea.", "> Noted.")
    world.build()
    world.say(me, "t", "Something new.")
    run = extracted(world)
    world.remember(me, "s", first, remembered=False)
    build(run)
    assert world.contents() == {"t:0": "Something new."}
    assert world.changes() == [("s:0", "removed", "not_remembered"), ("t:0", "added", "new_pair")]


def test_a_flag_lifted_during_a_build_waits_for_the_next(world: World) -> None:
    me = world.account("me")
    first, _ = world.say(me, "s", "I like tea.", "> Noted.")
    world.remember(me, "s", first, remembered=False)
    run = extracted(world)
    world.remember(me, "s", first, remembered=True)
    build(run)
    assert world.contents() == {}
    world.build()
    assert world.contents() == {"s:0": "I like tea.\n\nNoted."}


def test_a_record_excluded_during_a_build_is_dropped_at_its_publish(world: World) -> None:
    me = world.account("me")
    world.record(me, "profile.facts", "birthday", "In May.")
    run = extracted(world)
    world.exclude(me, "profile.facts", "birthday", excluded=True)
    build(run)
    assert (world.contents(), world.skips()) == ({}, {"birthday": "record_excluded"})


@pytest.mark.parametrize("full", [False, True])
def test_a_session_forgotten_during_a_build_is_dropped_at_its_publish(world: World, full: bool) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.")
    world.build()
    world.say(me, "s", "And jam.", "> Yes.")
    world.say(me, "s:1", "Another session.", "> Fine.")
    run = extracted(world, full=full)
    world.sql("insert into memory.tombstone (user_id, agent_id, session_id) values ('me', 'orbitpilot', 's')")
    build(run)
    assert world.contents() == {"s:1:0": "Another session.\n\nFine."}
    assert set(world.changes()) == {("s:0", "removed", "session_forgotten"), ("s:1:0", "added", "new_pair")}
    world.build(full=True)
    assert world.contents() == {"s:1:0": "Another session.\n\nFine."}


def test_a_build_that_another_overtook_starts_over_and_publishes_nothing_stale(world: World) -> None:
    me = world.account("me")
    (first,) = world.say(me, "s", "Old text.")
    slow = extracted(world)
    world.sql("update orbitpilot.message set content = 'New text.' where message_id = %s", first)
    world.build()
    build(slow)
    assert world.contents() == {"s:0": "New text."}
    assert world.sql("select status from memory.build order by build_id") == [("unchanged",), ("published",)]


def test_people_published_meanwhile_are_left_out_and_the_others_go_on(world: World) -> None:
    ann, bob = world.account("ann"), world.account("bob")
    world.build()
    (text,) = world.say(ann, "s", "Ann's old text.")
    world.say(bob, "s", "Bob's text.")
    slow = extracted(world)
    world.sql("update orbitpilot.message set content = 'Ann''s new text.' where message_id = %s", text)
    world.build("ann")
    published = build(slow)
    assert published.left_out == ("ann",)
    assert sorted(row[9] for row in world.chunks()) == ["Ann's new text.", "Bob's text."]
    assert world.sql("select scope from memory.watermark order by 1") == [("bucket_000",), ("user:ann",)]


def test_a_forget_during_a_build_leaves_its_store_to_the_next_build(world: World) -> None:
    ann, bob = world.account("ann"), world.account("bob")
    for store in (ann, bob):
        world.say(store, "s", "I like tea.")
    run = extracted(world)
    world.sql("update memory.store set forget_revision = forget_revision + 1 where user_id = 'ann'")
    assert build(run).left_out == ("ann",)
    assert [row[0] for row in world.chunks()] == ["bob"]
    world.build()
    assert [row[0] for row in world.chunks()] == ["ann", "bob"]


def test_a_cache_insert_that_comes_after_a_forget_is_nothing(world: World) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.")
    world.sql("insert into memory.store (user_id, agent_id) values ('me', 'orbitpilot')")
    run = world.run()
    run.chunking()
    world.sql("update memory.store set forget_revision = 1")
    run.embedding()
    assert world.sql("select 1 from memory.embedding_cache") == []
    run.close()


def test_a_build_that_fails_leaves_no_workspace_and_what_was_published_before(world: World) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.")
    world.build()
    world.say(me, "s", "And jam.")
    run = extracted(world)
    world.sql("delete from memory.embedding_cache")
    for path in (run.workspace.root / "vectors").glob("*.parquet"):
        run.workspace.write("vectors", path.stem, run.workspace.read("vectors", path.stem).clear())
    with pytest.raises(BuildFailed, match="Run the build again"):
        build(run)
    assert world.contents() == {"s:0": "I like tea."}
    assert list(world.settings.workspaces.iterdir()) == []
    assert world.sql("select status from memory.build order by build_id desc limit 1") == [("failed",)]
    world.build()
    assert world.contents() == {"s:0": "I like tea.", "s:1": "And jam."}


def test_a_build_whose_process_died_is_buried_by_the_next(world: World) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.")
    run = extracted(world)
    run.connection.close()
    assert any(world.settings.workspaces.iterdir())
    world.build()
    assert world.sql("select status from memory.build order by build_id") == [("died",), ("published",)]
    assert list(world.settings.workspaces.iterdir()) == []


def test_another_hash_key_is_refused(world: World) -> None:
    world.account("me")
    world.build()
    other = world.settings.model_copy(update={"hash_key": SecretStr("00" * 32)})
    with pytest.raises(InstallationMismatch, match="ORBIT_HASH_KEY"):
        world.build(settings=other)


def test_a_session_whose_numbers_do_not_add_up_is_quarantined_but_exclusions_still_apply(world: World) -> None:
    me = world.account("me")
    first, _ = world.say(me, "s", "I like tea.", "> Noted.")
    world.say(me, "t", "Elsewhere.")
    world.build()
    world.say(me, "s", "And jam.", "> Yes.")
    world.sql("update orbitpilot.session set next_pair_index = 9 where session_id = 's'")
    world.build()
    assert world.contents() == {"s:0": "I like tea.\n\nNoted.", "t:0": "Elsewhere."}
    assert world.skips() == {"s:1": "contract_broken"}
    world.remember(me, "s", first, remembered=False)
    world.build(full=True)
    assert world.contents() == {"t:0": "Elsewhere."}
    world.sql("update orbitpilot.session set next_pair_index = 2, title = 'mended' where session_id = 's'")
    world.build(full=True)
    assert world.contents() == {"s:1": "And jam.\n\nYes.", "t:0": "Elsewhere."}
    assert world.changes() == [("s:1", "added", "repaired")]


def test_an_open_transaction_elsewhere_makes_no_build_read_everything_again(world: World) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.")
    with world.run().connection as other, other.transaction():
        other.execute("select pg_current_xact_id()")
        world.build()
        assert world.build().added == 0
        assert world.sql("select status from memory.build order by build_id desc limit 1") == [("unchanged",)]


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (pl.lit(None, dtype=pl.String).alias("verdict"), "1 excluded"),
        (pl.format("{}9", "source_id").alias("source_id"), "under another pair's number"),
    ],
    ids=["excluded", "renumbered"],
)
def test_the_publish_itself_refuses_what_no_step_may_have_staged(world: World, tamper: pl.Expr, said: str) -> None:
    me = world.account("me")
    first, _ = world.say(me, "s", "I like tea.", "> Noted.")
    world.remember(me, "s", first, remembered="excluded" not in said)
    run = world.run()
    run.pairing()
    for part in run.workspace.parts("pairs"):
        run.workspace.write("pairs", part, run.workspace.read("pairs", part).with_columns(tamper))
    with pytest.raises(NothingStagedMayPass, match=said):
        build(run)
    assert world.contents() == {}
    assert world.sql("select status from memory.build") == [("failed",)]


def test_a_message_flagged_and_left_behind_during_a_build_is_not_published(world: World) -> None:
    me = world.account("me")
    first, _, _, _, _ = world.say(me, "s", "My code is 4417.", "Find me a café.", "> Le Zinc.", "Thanks.", "> Sure.")
    run = extracted(world)
    world.remember(me, "s", first, remembered=False)
    world.sql("update orbitpilot.message set is_active = false where message_id = %s", first)
    build(run)
    assert world.contents() == {"s:2": "Thanks.\n\nSure."}


def test_a_build_does_not_take_the_workspace_of_one_that_is_still_checking_what_it_published(world: World) -> None:
    me = world.account("me")
    world.say(me, "s", "I like tea.")
    run = world.run()
    run.diff_apply()
    world.build()
    assert run.workspace.parts("chunks") != []
    run.close()
    assert list(world.settings.workspaces.iterdir()) == []


def test_a_flagged_message_without_words_is_pending_while_the_reply_to_its_run_is_in_memory(world: World) -> None:
    me = world.account("me")
    wordless, *_ = world.say(me, "s1", "", "Plums?", "> Ripe.")
    world.build()
    world.remember(me, "s1", wordless, remembered=False)

    before = pair_states(world.connection, me).filter(pl.col("message_id") == wordless)["state"].to_list()
    world.build()
    after = pair_states(world.connection, me).filter(pl.col("message_id") == wordless)["state"].to_list()

    assert (before, after) == (["pending_removal"], ["not_remembered"])
