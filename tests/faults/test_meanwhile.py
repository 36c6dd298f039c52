"""Whatever happens at whatever moment of a build: it ends well, publishes nothing stale, and the next one is exact."""

from collections.abc import Callable
from random import Random

import psycopg
import pytest

from orbit_pipelines.building.run import BuildRun, build
from orbit_pipelines.database.connection import connect
from orbit_pipelines.history.importing import import_sessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession
from tests.faults.faulty import (
    ANN,
    BOB,
    Exchanges,
    assert_nothing_stale,
    assert_put_right,
    change_cap,
    count_moments,
    entomb,
    exclude_record,
)
from tests.tally import Tally
from tests.worlds import World


def flag(world: World, session: str) -> None:
    """Exclude the first message of a session."""
    world.sql("update orbitpilot.message set not_remembered = true where session_id = %s and pair_index = 0", session)


def flag_in_run(world: World, session: str) -> None:
    """Exclude a message whose run another one ends."""
    world.sql("update orbitpilot.message set not_remembered = true where session_id = %s and pair_index = 3", session)


def lift(world: World, session: str) -> None:
    """Lift the flag of its second message."""
    world.sql("update orbitpilot.message set not_remembered = false where session_id = %s and pair_index = 1", session)


def switch_branch(world: World, session: str) -> None:
    """Take its excluded message off its branch, or back onto it."""
    world.sql(
        "update orbitpilot.message set is_active = not is_active where session_id = %s and pair_index = 1", session
    )


def edit(world: World, session: str) -> None:
    """Edit a message and a reply."""
    world.sql("update orbitpilot.message set content = content || '!' where session_id = %s and position < 2", session)


def delete_messages(world: World, session: str) -> None:
    """Delete a question and another's reply."""
    world.sql("delete from orbitpilot.message where session_id = %s and position in (0, 5)", session)


def delete_session(world: World, session: str) -> None:
    """Delete the session."""
    world.sql("delete from orbitpilot.session where session_id = %s", session)


def entomb_session(world: World, session: str) -> None:
    """Write its tombstone."""
    entomb(world, ANN, session)


def forget_session(world: World, session: str) -> None:
    """Forget it, as a forget will: raise the revision, write the tombstone, take its chunks and its vectors."""
    with world.connection.transaction():
        world.sql(
            "insert into memory.store (user_id, agent_id, forget_revision) values ('ann', 'orbitpilot', 1)"
            " on conflict (user_id, agent_id) do update set forget_revision = store.forget_revision + 1"
        )
        entomb(world, ANN, session)
    world.sql("delete from memory.embedding_cache where user_id = 'ann'")


def move_session(world: World, session: str) -> None:
    """Give it to somebody else."""
    world.sql("update orbitpilot.session set user_id = 'bob' where session_id = %s", session)


def rename_message(world: World, session: str) -> None:
    """Give a message another id."""
    world.sql(
        "update orbitpilot.message set message_id = message_id || 'x' where session_id = %s and position = 0", session
    )


def flag_and_delete(world: World, session: str) -> None:
    """Exclude messages, and delete them."""
    flag(world, session)
    flag_in_run(world, session)
    world.sql("delete from orbitpilot.message where session_id = %s and pair_index in (0, 3)", session)


def flag_and_move(world: World, session: str) -> None:
    """Exclude messages, and give their session to somebody else."""
    flag(world, session)
    flag_in_run(world, session)
    move_session(world, session)


def move_and_entomb(world: World, session: str) -> None:
    """Give the session to somebody else, whose it is when its tombstone is written."""
    move_session(world, session)
    entomb(world, BOB, session)


def exclude_and_delete_record(world: World, session: str) -> None:
    """Exclude a record, delete it, and write another in its place."""
    world.record(ANN, "profile.facts", "fact", f"A fact of {session}.")
    world.exclude(ANN, "profile.facts", "fact", excluded=True)
    world.sql("delete from orbitpilot.record where user_id = 'ann' and source_id = 'fact'")
    world.record(ANN, "profile.facts", "fact", f"Another fact of {session}.")


def append(world: World, session: str) -> None:
    """Go on with it."""
    world.say(ANN, session, "> By the way, another answer.", "Meanwhile.", "> Indeed.")


def import_file(world: World, session: str) -> None:
    """Import a file that shows another branch of it, and a session of its own."""
    rows = world.sql(
        "select message_id, role, content from orbitpilot.message where session_id = %s order by position", session
    )
    befores = [None, *(row[0] for row in rows[:-1])] if rows else []
    known = [ParsedMessage(key, before, role, text) for (key, role, text), before in zip(rows, befores, strict=True)]
    fresh = ParsedMessage(f"{session}-new", rows[1][0] if rows else None, "user", "Another branch.")
    left_behind = frozenset(row[0] for row in rows[2:])
    with connect(world.url) as connection:
        connection.execute("set lock_timeout = '100ms'")
        import_sessions(
            connection,
            ANN,
            [
                ParsedSession(session, (*known[:2], fresh), left_behind=left_behind),
                ParsedSession(f"{session}-file", (ParsedMessage("q", None, "user", "A new session."),)),
            ],
            hash_key=b"k" * 32,
        )


def delete_account(world: World, session: str) -> None:
    """Delete the account, which comes back later."""
    world.sql("delete from orbitpilot.account where user_id = 'ann'")


def exclude_a_record(world: World, session: str) -> None:
    """Set or lift a record's flag."""
    exclude_record(world, Random(session))


def crowd_out(world: World, session: str) -> None:
    """Change what the plan includes."""
    change_cap(world, Random(session))


def build_her(world: World, session: str) -> None:
    """Another build, of the same person."""
    world.build("ann")


def build_everyone(world: World, session: str) -> None:
    """Another build, of everyone."""
    world.build()


def rebuild_some(world: World, session: str) -> None:
    """A full build of two people."""
    world.build("ann", "bob", full=True)


HAPPENINGS: list[Callable[[World, str], None]] = [
    flag,
    flag_in_run,
    lift,
    switch_branch,
    edit,
    delete_messages,
    delete_session,
    entomb_session,
    forget_session,
    move_session,
    rename_message,
    flag_and_delete,
    flag_and_move,
    move_and_entomb,
    exclude_and_delete_record,
    append,
    import_file,
    delete_account,
    exclude_a_record,
    crowd_out,
    build_her,
    build_everyone,
    rebuild_some,
]


def plant(world: World, number: int) -> str:
    """Say something for things to happen to, in place of the last, and build it or not; return the session."""
    session = f"m{number}"
    world.account("ann")
    world.sql("delete from orbitpilot.session where session_id like 'm%%' and session_id <> %s", session)
    turns = ["First.", "> Yes.", "Second.", "Third.", "> Both.", "Fourth.", "Fifth.", "> Fine.", "Sixth.", "> Well."]
    ids = world.say(ANN, session, *turns[:8])
    world.remember(ANN, session, ids[2], remembered=False)
    if number % 2:
        switch_branch(world, session)
    if number % 3:
        world.build()
    world.say(ANN, session, *turns[8:])
    return session


def holds_up_others(world: World, run: BuildRun) -> bool:
    """Whether another build would wait now: for its turn to publish, or for vectors that are being cached."""
    return bool(
        world.sql(
            "select 1 from pg_locks where pid = %s and (locktype = 'advisory' and objsubid = 2 and classid = %s"
            " or relation = 'memory.embedding_cache'::regclass and mode = 'RowExclusiveLock')",
            run.connection.info.backend_pid,
            0x6F726201,
        )
    )


def let_happen(world: World, happening: Callable[[World, str], None], moments: list[int], seed: int) -> int:
    random = Random(seed)
    tried = 0
    for number, moment in enumerate(moments, start=2):
        session = plant(world, number)
        users = random.choice([(), (), ("ann",), ("ann", "bob")])
        run = world.run(*users, full=random.random() < 0.3)
        tried += build_while(world, run, moment, lambda session=session: happening(world, session), happening in BUILDS)  # type: ignore[misc]
        assert_nothing_stale(world, run.build_id)
        assert_put_right(world)
    return tried


def build_while(world: World, run: BuildRun, moment: int, happen: Callable[[], None], is_a_build: bool) -> bool:
    """Build, and have something happen at a moment, or as soon afterwards as nothing stands in its way."""

    def happen_or_wait() -> None:
        if is_a_build and holds_up_others(world, run):
            exchanges.postpone()
            return
        try:
            happen()
        except psycopg.errors.LockNotAvailable:
            exchanges.postpone()

    exchanges = Exchanges(run.connection, moment, happen_or_wait)
    build(run)
    run.connection.close()
    return exchanges.has_happened


BUILDS = (build_her, build_everyone, rebuild_some)


@pytest.fixture
def busy(history: World) -> World:
    """A built history, on which nobody waits for a build; deleted sessions pile up in it, so its parts are larger."""
    history.settings = history.settings.model_copy(update={"batch_messages": 500})
    history.build()
    history.sql("set lock_timeout = '100ms'")
    return history


def name_of(happening: Callable[[World, str], None]) -> str:
    """Return what happens."""
    return happening.__name__


@pytest.mark.parametrize("happening", HAPPENINGS, ids=name_of)
def test_something_happens_in_the_middle_of_a_build(
    busy: World, happening: Callable[[World, str], None], tally: Tally
) -> None:
    plant(busy, 1)
    moments = count_moments(busy.run())
    random = Random(name_of(happening))
    tried = let_happen(busy, happening, [random.randint(1, moments) for _ in range(2)], seed=41)
    assert tried > 0
    tally("things that happened in the middle of a build, seeded", tried)


@pytest.mark.soak
@pytest.mark.parametrize("happening", HAPPENINGS, ids=name_of)
def test_something_happens_at_every_moment_of_a_build(
    busy: World, happening: Callable[[World, str], None], tally: Tally
) -> None:
    plant(busy, 1)
    moments = count_moments(busy.run())
    tried = let_happen(busy, happening, list(range(1, moments + 1)), seed=42)
    tally("things that happened in the middle of a build, at every moment", tried)
