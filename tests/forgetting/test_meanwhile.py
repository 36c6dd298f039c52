"""Builds that run while something is forgotten: they publish and cache nothing of it, and say that they don't."""

import threading

import pytest

from orbit_pipelines.building.locks import lock_bucket
from orbit_pipelines.building.run import BuildRun
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.index import index_equals_extraction
from orbit_pipelines.database.connection import connect
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.report import Report
from orbit_pipelines.forgetting.selection import ForgetRequest, Selectors
from orbit_pipelines.forgetting.service import PlanChanged, Progress, forget
from orbit_pipelines.model import Store
from tests.building.scratch_rebuild import rebuild_from_scratch, stored_chunks
from tests.forgetting.forgetful import ME, Entries, forget_in, talk
from tests.worlds import World

YOU = Store("you")
STEPS = ("extraction", "pairing", "chunking", "embedding")


def people(world: World) -> None:
    """Two people with things to say that no build has seen yet."""
    talk(world)
    talk(world, store=YOU)
    for store in (ME, YOU):
        for session in ("s1", "s2"):
            world.say(store, session, f"Something new in {session}.", "> Indeed.")


def up_to(run: BuildRun, step: str) -> None:
    """Have a build do its steps up to and with one."""
    for each in STEPS[: STEPS.index(step) + 1]:
        getattr(run, each)()


def texts_in(workspace: Workspace) -> str:
    return " ".join(
        str(workspace.read(folder.name, part).rows())
        for folder in workspace.root.iterdir()
        if folder.is_dir()
        for part in workspace.parts(folder.name)
    )


def published_by(run: BuildRun) -> BuildOfRun:
    return BuildOfRun(run.build_id, "published", run.extraction(), run.workspace)


def assert_exact(world: World) -> None:
    stored, expected = stored_chunks(world), rebuild_from_scratch(world)
    assert stored.rows() == expected.select(stored.columns).rows()


@pytest.mark.parametrize("is_changed", [True, False])
def test_a_plan_is_compared_in_the_turn_in_which_its_fence_is_raised(world: World, is_changed: bool) -> None:
    people(world)
    plan = forget_in(world, sessions=("s1",), dry_run=True).digest
    outcomes: list[object] = []
    is_waiting = threading.Event()

    def forget_as_planned() -> None:
        request = ForgetRequest(Selectors("me", sessions=("s1",)), if_plan=plan)
        with connect(world.url, autocommit=True) as connection:
            try:
                outcomes.append(forget(connection, world.settings, request, progress=Progress(on_wait=is_waiting.set)))
            except PlanChanged as refused:
                outcomes.append(refused)

    with connect(world.url, autocommit=True) as publisher, publisher.transaction():
        lock_bucket(publisher)
        thread = threading.Thread(target=forget_as_planned)
        thread.start()
        assert is_waiting.wait(60)
        # What another writer of the person's memory does in its turn.
        if is_changed:
            publisher.execute("delete from memory.chunk where (user_id, source_id) = ('me', 's1:1')")
    thread.join(60)
    [outcome] = outcomes
    stand = world.sql("select count(*) from memory.tombstone")
    revisions = world.sql("select count(*) from memory.store where user_id = 'me' and forget_revision > 0")
    if is_changed:
        assert isinstance(outcome, PlanChanged)
        assert outcome.report.digest == forget_in(world, sessions=("s1",), dry_run=True).digest != plan
        assert (stand, revisions) == ([(0,)], [(0,)])
    else:
        assert isinstance(outcome, Report)
        assert (outcome.digest, stand, revisions) == (plan, [(1,)], [(1,)])


@pytest.mark.parametrize("full", [False, True], ids=["incremental", "full"])
@pytest.mark.parametrize("step", STEPS)
def test_a_build_at_work_goes_on_without_the_store(world: World, step: str, full: bool) -> None:
    people(world)
    run = world.run(full=full)
    up_to(run, step)
    report = forget_in(world, sessions=("s1",))
    assert report.artifacts["workspaces"].count > 0
    assert run.workspace.parts_with(frozenset({ME})) == []
    published = run.diff_apply()
    assert published.left_out == ("me",)
    assert world.sql("select count(*) from memory.chunk where user_id = 'me' and session_id = 's1'") == [(0,)]
    assert world.sql("select count(*) from memory.embedding_cache where user_id = 'me'") == [(0,)]
    [(note,)] = world.sql("select note from memory.build where build_id = %s", run.build_id)
    assert "their source changed" in note
    assert index_equals_extraction(world.connection, world.settings, published_by(run)).passed
    run.close()
    world.build()
    assert_exact(world)
    assert {row[0] for row in world.sql("select source_id from memory.chunk where user_id = 'you'")} >= {"s1:2", "s2:2"}
    assert {row[0] for row in world.sql("select source_id from memory.chunk where user_id = 'me'")} == {
        "s2:0", "s2:1", "s2:2", "s3:0", "s3:1",
    }  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_a_build_of_the_person_alone_begins_again_and_says_so(world: World, step: str) -> None:
    people(world)
    run = world.run("me")
    up_to(run, step)
    forget_in(world, sessions=("s1",))
    published = run.diff_apply()
    assert not published.is_superseded
    [(status, note)] = world.sql("select status, note from memory.build where build_id = %s", run.build_id)
    assert status == "published"
    assert "its source changed" in note
    run.close()
    assert "s1:2" not in {row[0] for row in world.sql("select source_id from memory.chunk where user_id = 'me'")}
    world.build()
    assert_exact(world)


def test_what_a_build_writes_after_the_forget_leaves_the_store_out(world: World) -> None:
    people(world)
    run = world.run(full=True)
    run.pairing()
    forget_in(world, sessions=("s1",))
    run.embedding()
    assert run.workspace.parts_with(frozenset({ME})) == []
    assert "Something new" in texts_in(run.workspace)
    run.close()


def test_a_forget_after_the_publish_doesnt_fail_the_builds_checks(world: World) -> None:
    people(world)
    run = world.run(full=True)
    run.diff_apply()
    forget_in(world, sessions=("s1",))
    assert index_equals_extraction(world.connection, world.settings, published_by(run)).passed
    run.close()


def test_a_build_that_began_behind_the_fence_is_left_alone(world: World) -> None:
    people(world)
    run = world.run()
    # Its extraction comes after the tombstones and before the workspaces' turn.
    kinds = (Entries({}, on_purge=lambda: up_to(run, "embedding")), *KINDS)
    forget_in(world, sessions=("s1",), kinds=kinds)
    assert run.diff_apply().left_out == ()
    run.close()
    assert_exact(world)


def test_what_a_dead_build_left_is_emptied_too(world: World) -> None:
    people(world)
    run = world.run()
    run.embedding()
    run.connection.close()
    assert run.workspace.root.exists()
    assert forget_in(world, sessions=("s1",)).artifacts["workspaces"].count > 0
    assert run.workspace.parts_with(frozenset({ME})) == []
    world.build()
    assert_exact(world)


def test_the_fence_waits_for_no_publish_and_the_purge_says_that_it_waits(world: World) -> None:
    people(world)
    waits: list[list[tuple[object, ...]]] = []
    done = threading.Event()
    publishing = connect(world.url, autocommit=True)

    def tell() -> None:
        waits.append(world.sql("select session_id from memory.tombstone"))
        done.set()

    def run() -> None:
        request = ForgetRequest(Selectors("me", sessions=("s1",)))
        with connect(world.url, autocommit=True) as connection:
            forget(connection, world.settings, request, progress=Progress(on_wait=tell))

    with publishing.transaction():
        lock_bucket(publishing)
        forgetting = threading.Thread(target=run)
        forgetting.start()
        assert done.wait(60)
    forgetting.join(60)
    publishing.close()
    assert waits[0] == [("s1",)]
    assert world.sql("select count(*) from memory.chunk where user_id = 'me' and session_id = 's1'") == [(0,)]


def test_a_forget_during_a_publish_is_not_undone_by_it(world: World) -> None:
    people(world)
    run = world.run(full=True)
    run.embedding()
    with connect(world.url, autocommit=True) as connection, connection.transaction():
        # As a publish would: it has its lock and its re-check behind it when the tombstone is written.
        lock_bucket(connection)
        forgetting = threading.Thread(target=lambda: forget_in(world, sessions=("s1",)))
        forgetting.start()
        with connect(world.url, autocommit=True) as looking:
            while looking.execute("select from memory.tombstone").rowcount == 0:
                pass
        connection.execute(
            "insert into memory.chunk select user_id, agent_id, source_key, 's1:9', chunk_index, content_hash,"
            " session_id, message_id, reply_message_ids, content, spans, embedding, language, origin_class,"
            " session_kind, sent_at, recipe, build_id from memory.chunk where user_id = 'me' and source_id = 's1:0'"
        )
    forgetting.join(60)
    run.close()
    assert world.sql("select count(*) from memory.chunk where user_id = 'me' and session_id = 's1'") == [(0,)]
