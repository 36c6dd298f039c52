"""What is excluded or forgotten while a build runs is left out of it, also when it moves or goes, before or after."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from orbit_pipelines.building.run import BuildRun, build
from orbit_pipelines.model import Store
from tests.faults.faulty import assert_put_right
from tests.worlds import World

Act = Callable[[World, str], None]


def message_of(user: str, text: str) -> str:
    """Return the condition that a message says something; it finds it wherever it is by now."""
    return f"content = '{text} of {user}.'"


def flag(world: World, user: str) -> None:
    """Exclude the first message of a run."""
    world.sql(f"update orbitpilot.message set not_remembered = true where {message_of(user, 'Private')}")


def flag_by_session(world: World, user: str) -> None:
    """Exclude it together with the one that ends its run."""
    world.sql(
        f"update orbitpilot.message set not_remembered = true where {message_of(user, 'Private')}"
        f" or {message_of(user, 'Also')}"
    )


def entomb(world: World, user: str) -> None:
    """Write the tombstone of its session, under the name that has now."""
    world.sql(
        "insert into memory.tombstone (user_id, agent_id, session_id) select user_id, agent_id, session_id"
        f" from orbitpilot.message where {message_of(user, 'Private')}"
    )


def exclude(world: World, user: str) -> None:
    """Exclude the record."""
    world.sql("update orbitpilot.record set is_excluded = true where content = %s", f"Fact of {user}.")


def delete_message(world: World, user: str) -> None:
    """Delete it."""
    world.sql(f"delete from orbitpilot.message where {message_of(user, 'Private')}")


def delete_answered(world: World, user: str) -> None:
    """Delete the one that ends its run, whose reply is of the run."""
    world.sql(f"delete from orbitpilot.message where {message_of(user, 'Also')}")


def delete_run(world: World, user: str) -> None:
    """Delete both messages of its run, and leave the reply."""
    delete_message(world, user)
    delete_answered(world, user)


def rename_message(world: World, user: str) -> None:
    """Give it another id."""
    world.sql(f"update orbitpilot.message set message_id = message_id || 'x' where {message_of(user, 'Private')}")


def rename_session(world: World, user: str) -> None:
    """Give its session another id."""
    world.sql(
        "update orbitpilot.session set session_id = session_id || 'x' where user_id in (%s, %s) and session_id like %s",
        user,
        f"{user}-bob",
        "s%",
    )


def rename_back(world: World, user: str) -> None:
    """Give its session the id it had."""
    world.sql("update orbitpilot.session set session_id = 's' where user_id = %s and session_id like %s", user, "s%")


def delete_session(world: World, user: str) -> None:
    """Delete its session."""
    world.sql(
        "delete from orbitpilot.session where user_id in (%s, %s) and session_id like %s", user, f"{user}-bob", "s%"
    )


def move(world: World, user: str) -> None:
    """Give its session to somebody else."""
    world.account(f"{user}-bob")
    world.sql(
        "update orbitpilot.session set user_id = %s where user_id = %s and session_id like %s",
        f"{user}-bob",
        user,
        "s%",
    )


def rename_account(world: World, user: str) -> None:
    """Give the account of whoever has it another id."""
    world.sql("update orbitpilot.account set user_id = user_id || 'e' where user_id = %s", user)


def rename_other(world: World, user: str) -> None:
    """Give the account of whoever got it another id."""
    world.sql("update orbitpilot.account set user_id = user_id || 'e' where user_id = %s", f"{user}-bob")


def delete_account(world: World, user: str) -> None:
    """Delete the account."""
    world.sql("delete from orbitpilot.account where user_id = %s", user)


def delete_other(world: World, user: str) -> None:
    """Delete the account of whoever got it."""
    world.sql("delete from orbitpilot.account where user_id = %s", f"{user}-bob")


def begin_anew(world: World, user: str) -> None:
    """Begin another session by the name its session had."""
    world.say(Store(user), "s", "Anew.", "> Yes.")


def delete_record(world: World, user: str) -> None:
    """Delete the record."""
    world.sql("delete from orbitpilot.record where content = %s", f"Fact of {user}.")


def rename_record(world: World, user: str) -> None:
    """Give the record another id."""
    world.sql("update orbitpilot.record set source_id = source_id || 'x' where content = %s", f"Fact of {user}.")


def put_again(world: World, user: str) -> None:
    """Write another record by the record's first name."""
    world.record(Store(user), "profile.facts", "fact", f"News of {user}.")


EXCLUDED, FORGOTTEN, GONE = (
    {"not_remembered"},
    {"session_forgotten"},
    {"message_deleted", "session_deleted", "account_deleted"},
)

CASES: list[tuple[set[str], tuple[Act, ...]]] = [
    (EXCLUDED, (flag,)),
    (EXCLUDED, (flag_by_session,)),
    (GONE, (flag, delete_message)),
    (GONE, (flag_by_session, delete_message)),
    (GONE, (flag, delete_run)),
    (GONE, (flag_by_session, delete_run)),
    (EXCLUDED, (flag, delete_answered)),
    (EXCLUDED, (delete_answered, flag)),
    (EXCLUDED, (flag, rename_message)),
    (EXCLUDED, (rename_message, flag)),
    (GONE, (rename_message, flag, delete_message)),
    (EXCLUDED, (flag, rename_session)),
    (EXCLUDED, (rename_session, flag)),
    (EXCLUDED, (rename_session, flag_by_session, rename_session)),
    (EXCLUDED, (rename_session, rename_session, flag)),
    (EXCLUDED, (flag, rename_session, rename_back)),
    (EXCLUDED, (rename_session, flag, rename_back)),
    (EXCLUDED, (flag, rename_session, begin_anew)),
    (EXCLUDED, (rename_session, begin_anew, flag)),
    (GONE, (flag, rename_session, delete_message)),
    (GONE, (flag, delete_message, rename_session)),
    (GONE, (rename_session, flag, delete_session)),
    (EXCLUDED, (flag, delete_answered, rename_session)),
    (GONE, (flag, delete_session)),
    (GONE, (flag, delete_session, begin_anew)),
    (GONE, (flag, delete_account)),
    (EXCLUDED, (flag, move)),
    (EXCLUDED, (move, flag)),
    (EXCLUDED, (move, flag, rename_session)),
    (EXCLUDED, (rename_session, move, flag)),
    (EXCLUDED, (move, flag, rename_other)),
    (EXCLUDED, (move, rename_other, flag)),
    (GONE, (move, flag, delete_session)),
    (GONE, (flag, move, delete_message)),
    (GONE, (move, flag, delete_session, rename_other)),
    (GONE, (move, flag, delete_other)),
    (EXCLUDED, (flag, move, delete_account)),
    (EXCLUDED, (flag, rename_account)),
    (EXCLUDED, (rename_account, flag)),
    (GONE, (flag, delete_message, rename_account)),
    (GONE, (flag, delete_session, rename_account)),
    (FORGOTTEN, (entomb,)),
    (FORGOTTEN, (entomb, delete_message)),
    (FORGOTTEN, (entomb, delete_session)),
    (FORGOTTEN, (entomb, rename_session)),
    (FORGOTTEN, (rename_session, entomb)),
    (FORGOTTEN, (rename_session, entomb, rename_session)),
    (FORGOTTEN, (rename_session, entomb, delete_session)),
    (FORGOTTEN, (entomb, move)),
    (FORGOTTEN, (move, entomb)),
    (FORGOTTEN, (move, rename_other, entomb)),
    (FORGOTTEN, (entomb, rename_account)),
    (FORGOTTEN, (rename_account, entomb)),
    (FORGOTTEN, (entomb, delete_account)),
    ({"record_excluded"}, (exclude,)),
    (GONE, (exclude, delete_record)),
    (GONE, (exclude, delete_record, put_again)),
    ({"record_excluded"}, (exclude, rename_record)),
    ({"record_excluded"}, (rename_record, exclude)),
    ({"record_excluded"}, (rename_record, exclude, rename_record)),
    (GONE, (rename_record, exclude, delete_record)),
    ({"record_excluded"}, (exclude, rename_record, put_again)),
    ({"record_excluded"}, (exclude, rename_account)),
    ({"record_excluded"}, (rename_account, exclude)),
    (GONE, (exclude, delete_account)),
]


@dataclass(frozen=True, slots=True)
class Scene:
    """A person something happens to, and why of what they asked to be left out must leave memory."""

    user: str
    reasons: set[str]
    acts: tuple[Act, ...]

    @property
    def name(self) -> str:
        """Return what happens."""
        return ", ".join(act.__name__ for act in self.acts)

    @property
    def is_of_record(self) -> bool:
        """Whether it is about the record."""
        return exclude in self.acts

    @property
    def unwanted(self) -> tuple[str, ...]:
        """Return what must not be in memory."""
        if self.is_of_record:
            return (f"Fact of {self.user}.",)
        others = ("Zero", "Also", "Three") if entomb in self.acts else ("Also",) if flag_by_session in self.acts else ()
        return tuple(f"{text} of {self.user}." for text in ("Private", "Answer", *others))

    @property
    def kept(self) -> tuple[str, ...]:
        """Return what must still be there: deletions and moves wait."""
        texts = ("Zero", "Three") if self.is_of_record else () if entomb in self.acts else ("Zero", "Three", "Fact")
        # What isn't known to be excluded is left out with the record that may be.
        may_be_excluded = delete_account in self.acts or self.is_of_record
        return tuple(f"{text} of {self.user}." for text in texts if text != "Fact" or not may_be_excluded)


def plant(world: World) -> list[Scene]:
    """Give every case a person with a session and a record; a run of two messages is in the middle."""
    scenes = []
    for number, (reasons, acts) in enumerate(CASES):
        scene = Scene(f"u{number:02}", reasons, acts)
        store = world.account(scene.user)
        texts = ("Zero", "> Reply", "Private", "Also", "> Answer", "Three", "> Last")
        world.say(store, "s", *(f"{text} of {scene.user}." for text in texts))
        world.record(store, "profile.facts", "fact", f"Fact of {scene.user}.")
        scenes.append(scene)
    return scenes


def is_new(world: World) -> None:
    """Memory has nothing of it."""


def is_stored(world: World) -> None:
    """Memory has it, and the build reads it again."""
    world.build()
    world.sql("update orbitpilot.session set session_kind = 'other'")
    world.sql("update orbitpilot.record set title = 'Another'")


def is_only_stored(world: World) -> None:
    """Memory has it, and a build of what changed doesn't read it again."""
    world.build()
    for (user,) in world.sql("select user_id from orbitpilot.account"):
        world.say(Store(user), "t", "Something else.")


def publish(run: BuildRun) -> None:
    """Do what is left to do of a build."""
    build(run)
    run.connection.close()


@pytest.mark.parametrize("state", [is_new, is_stored, is_only_stored], ids=lambda state: state.__name__)
@pytest.mark.parametrize("scope", ["everyone", "some", "full"])
def test_what_is_excluded_meanwhile_is_left_out_wherever_it_went(
    world: World, scope: str, state: Callable[[World], None]
) -> None:
    scenes = plant(world)
    state(world)
    run = world.run(*(scene.user for scene in scenes if scope == "some"), full=scope == "full")
    run.embedding()
    for scene in scenes:
        for act in scene.acts:
            act(world, scene.user)
    publish(run)
    memory = "\n".join(text for (text,) in world.sql("select content from memory.chunk"))
    assert {scene.name: texts for scene in scenes if (texts := [t for t in scene.unwanted if t in memory])} == {}
    assert {scene.name: texts for scene in scenes if (texts := [t for t in scene.kept if t not in memory])} == {}
    removed = world.sql(
        "select user_id, source_id, reason from memory.change where build_id = %s and action = 'removed'", run.build_id
    )
    if state is not is_new:
        why = {(user, source): reason for user, source, reason in removed}
        left = {scene.name: why.get((scene.user, "fact" if scene.is_of_record else "s:1")) for scene in scenes}
        assert {scene.name: left[scene.name] for scene in scenes if left[scene.name] not in scene.reasons} == {}
    assert_put_right(world)


@pytest.mark.parametrize(
    "acts", [(flag, move), (move, flag), (flag, delete_message)], ids=lambda acts: acts[0].__name__
)
def test_one_person_is_built_as_everyone_is(world: World, acts: tuple[Act, ...]) -> None:
    store = world.account("ann")
    world.say(store, "s", *(f"{text} of ann." for text in ("Zero", "> Reply", "Private", "Also", "> Answer")))
    run = world.run("ann")
    run.embedding()
    for act in acts:
        act(world, "ann")
    publish(run)
    assert world.contents() == {"s:0": "Zero of ann.\n\nReply of ann."}
    assert_put_right(world)


def test_a_flag_that_was_there_before_takes_nothing_else_along(world: World) -> None:
    store = world.account("ann")
    ids = world.say(store, "s", *(f"{text} of ann." for text in ("Zero", "> Reply", "Private", "Also", "> Answer")))
    world.remember(store, "s", ids[2], remembered=False)
    world.build()
    before = world.contents()
    world.sql("update orbitpilot.session set session_kind = 'other'")
    run = world.run()
    run.embedding()
    delete_message(world, "ann")
    publish(run)
    assert world.contents() == before
    assert_put_right(world)


def test_a_flag_lifted_where_it_went_waits_for_the_next_build(world: World) -> None:
    store = world.account("ann")
    ids = world.say(store, "s", *(f"{text} of ann." for text in ("Zero", "> Reply", "Private", "Also", "> Answer")))
    world.remember(store, "s", ids[2], remembered=False)
    run = world.run()
    run.embedding()
    move(world, "ann")
    world.sql("update orbitpilot.message set not_remembered = false")
    publish(run)
    assert set(world.contents()) == {"s:0", "s:2"}
    assert_put_right(world)
    assert set(world.contents()) == {"s:0", "s:1", "s:2"}
